//! `convengine key`: creates, lists and revokes API keys.

use convengine_host_base::clock;
use convengine_host_base::exit::Failure;
use convengine_host_base::{print_error_line, print_line};
use convengine_settings::{Settings, parse_duration};
use convengine_storage::api_key::{self, ApiKey};
use convengine_storage::{self as storage, Pool};

use crate::keys;
use crate::scope::Scopes;
use crate::security_log;
use clap::Subcommand;

/// API key commands.
#[derive(Debug, Clone, Subcommand)]
pub enum KeyCommand {
    /// Create a key and print it once
    Create {
        /// Display name of the key
        #[arg(long)]
        name: String,
        /// Scopes, separated by commas: `converse`, `read`, `admin`
        #[arg(long, value_name = "SCOPES")]
        scope: String,
        /// Lifetime, such as 90d [default: until revoked]
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
        /// Requests with the key name the user that they act for in the header X-Convengine-Owner, to whom what they begin belongs
        #[arg(long)]
        owner_claim: bool,
    },
    /// List keys without their secrets
    List,
    /// Revoke a key
    Revoke {
        /// Key id: the first part of the key, after the tenant
        id: String,
    },
}

/// Maximum length of a key name in characters.
const MAX_NAME_CHARS: usize = 100;

/// Runs the command.
///
/// # Errors
/// Exit code 1 if there is no such key, 2 for invalid arguments, 3 if the database is unavailable.
pub async fn run(settings: &Settings, command: &KeyCommand) -> Result<(), Failure> {
    let created = match command {
        KeyCommand::Create { name, scope, expires, owner_claim } => {
            Some(create_key(settings, name, scope, expires.as_deref(), *owner_claim)?)
        }
        KeyCommand::List | KeyCommand::Revoke { .. } => None,
    };
    let database = &settings.database;
    storage::connect_or_create(database).await?.close().await.map_err(|it| storage::database_failure(database, &it))?;
    let pool = storage::open_reader_pool(database).await?;
    let result = match (command, created) {
        (KeyCommand::Revoke { id }, _) => revoke(&pool, id).await,
        (_, Some((key, text))) => insert(&pool, &key, &text).await,
        (_, None) => list(&pool).await,
    };
    pool.close().await;
    result.map_err(|it| storage::database_failure(database, &it))?
}

fn create_key(settings: &Settings, name: &str, scope: &str, expires: Option<&str>, owner_claim: bool) -> Result<(ApiKey, String), Failure> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > MAX_NAME_CHARS || name.chars().any(char::is_control) {
        return Err(Failure::invalid_usage(format!("--name: invalid name; describe the key in at most {MAX_NAME_CHARS} characters")));
    }
    let scopes = Scopes::parse(scope).map_err(|reason| Failure::invalid_usage(format!("--scope {scope}: {reason}")))?;
    if owner_claim && scopes != Scopes::CONVERSE {
        let line = format!("--owner-claim: a key of the scope {scope} is not bound to owners; use --scope converse");
        return Err(Failure::invalid_usage(line));
    }
    let lifetime = expires.map(|lifetime| {
        parse_duration(lifetime)
            .ok_or_else(|| Failure::invalid_usage(format!("--expires {lifetime}: invalid duration; use a value such as 90d or 12h")))
    });
    let lifetime = lifetime.transpose()?.map(|duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX));
    let (key_id, text) = keys::generate(settings.tenant.as_deref());
    let hash = keys::hash(&text);
    let created_at = clock::now();
    let expires_at = lifetime.map(|it| created_at.saturating_add(it));
    let (name, scopes) = (name.to_owned(), scopes.to_text());
    Ok((ApiKey { key_id, name, hash, scopes, owner_claim, created_at, expires_at, revoked_at: None, last_used_at: None }, text))
}

async fn insert(pool: &Pool, key: &ApiKey, text: &str) -> sqlx::Result<Result<(), Failure>> {
    security_log::record_command(pool, "key.create", &format!("{} {}", key.key_id, key.name)).await?;
    api_key::insert(pool, key).await?;
    print_error_line!("key {} is shown only once, because only its hash is stored", key.key_id);
    print_line!("{text}");
    Ok(Ok(()))
}

async fn list(pool: &Pool) -> sqlx::Result<Result<(), Failure>> {
    let now = clock::now();
    for key in api_key::list(pool).await? {
        let time = |instant: Option<i64>| instant.map_or_else(|| "-".to_owned(), clock::format_iso);
        let state = match (key.is_valid_at(now), key.revoked_at) {
            (true, _) => "active",
            (false, Some(_)) => "revoked",
            (false, None) => "expired",
        };
        let times = [Some(key.created_at), key.expires_at, key.last_used_at].map(time);
        print_line!(
            "{} {state} scopes={}{} created={} expires={} used={} {}",
            key.key_id,
            key.scopes.replace(' ', ","),
            if key.owner_claim { " owner-claim" } else { "" },
            times[0],
            times[1],
            times[2],
            key.name
        );
    }
    Ok(Ok(()))
}

async fn revoke(pool: &Pool, id: &str) -> sqlx::Result<Result<(), Failure>> {
    // Accepts the whole key as well as its id.
    let id = keys::parse_key(id).map_or(id, |it| it.1);
    if !api_key::revoke(pool, id, clock::now()).await? {
        return Ok(Err(Failure::check_failed(vec!["key not found or already revoked; see `convengine key list`".to_owned()])));
    }
    security_log::record_command(pool, "key.revoke", id).await?;
    print_line!("key {id} is revoked; servers that cached it stop accepting it within convengine.security.keys.recheck");
    Ok(Ok(()))
}
