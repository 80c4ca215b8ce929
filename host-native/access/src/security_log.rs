//! The security log: who published, stored, created, approved, revoked or deleted what.
//!
//! A request is logged before it is carried out, and again with its outcome; a request that cannot be logged is refused. A command is
//! logged once it has succeeded. Values of secrets and bodies of requests are never logged.

use axum::http::{Method, StatusCode, Uri};
use axum::{Extension, Json};
use convengine_host_base::clock;
use convengine_host_base::exit::Failure;
use convengine_host_base::meter::Meter;
use convengine_settings::Settings;
use convengine_storage::schema::list_tables;
use convengine_storage::security_log::{SecurityLogRow, TABLE, insert};
use convengine_storage::{self as storage, Pool};
use serde_json::Value;

use super::caller::Caller;
use super::client_address::ClientAddress;

/// The actor of commands.
pub const COMMAND: &str = "command";

/// The actor of requests to a server that asks for no credentials.
const ANONYMOUS: &str = "anonymous";

/// What a request was about, where its path does not say so: an extension of its response.
#[derive(Debug, Clone)]
pub struct LoggedSubject(pub String);

/// A response that says what the request was about.
pub type Logged = (StatusCode, Extension<LoggedSubject>, Json<Value>);

/// A request that is logged.
#[derive(Debug, Clone)]
pub struct LoggedRequest {
    action: &'static str,
    actor: String,
    actor_name: Option<String>,
    subject: String,
    address: String,
}

impl LoggedRequest {
    /// Creates the entry of a request; `None` if it is not one that is logged.
    pub fn new(method: &Method, pattern: &str, uri: &Uri, caller: &Caller, client: ClientAddress) -> Option<LoggedRequest> {
        Some(LoggedRequest::with_action(action(method, pattern)?, &subject(pattern, uri.path()), caller, client))
    }

    /// Creates the entry of an action.
    pub fn with_action(action: &'static str, subject: &str, caller: &Caller, client: ClientAddress) -> LoggedRequest {
        LoggedRequest {
            action,
            actor: caller.id().unwrap_or(ANONYMOUS).to_owned(),
            actor_name: caller.name().map(str::to_owned),
            // PostgreSQL keeps no NUL.
            subject: subject.replace('\0', "\u{fffd}"),
            address: client.to_text(),
        }
    }

    /// Logs that the request is about to be carried out.
    pub async fn record_start(&self, pool: &Pool, meter: &Meter) -> sqlx::Result<()> {
        self.record(pool, meter, "started").await
    }

    /// Logs the outcome of the request.
    pub async fn record_end(mut self, pool: &Pool, meter: &Meter, status: StatusCode, subject: Option<&LoggedSubject>) {
        if let Some(LoggedSubject(name)) = subject {
            self.subject = format!("{} {name}", self.subject);
        }
        let outcome = match status.as_u16() {
            ..400 => "succeeded",
            400..500 => "refused",
            500.. => "failed",
        };
        if let Err(error) = self.record(pool, meter, outcome).await {
            let (action, actor) = (self.action, self.actor);
            tracing::error!(%error, action, actor, outcome, "cannot write the outcome into the security log");
        }
    }

    async fn record(&self, pool: &Pool, meter: &Meter, outcome: &'static str) -> sqlx::Result<()> {
        let row = SecurityLogRow {
            id: 0,
            at: clock::now(),
            action: self.action.to_owned(),
            actor: self.actor.clone(),
            actor_name: self.actor_name.clone(),
            subject: self.subject.clone(),
            address: self.address.clone(),
            outcome: outcome.to_owned(),
        };
        insert(pool, &row).await?;
        meter.record_security_event(self.action, outcome);
        Ok(())
    }
}

/// Runs a command and logs that it has succeeded, unless it has read a database without our tables.
///
/// # Errors
/// Those of the command, and exit code 3 if it cannot be logged.
pub async fn run_command(
    settings: &Settings,
    action: &'static str,
    subject: &str,
    command: impl AsyncFnOnce(&Settings) -> Result<(), Failure>,
) -> Result<(), Failure> {
    command(settings).await?;
    let unusable = |it: sqlx::Error| storage::database_failure(&settings.database, &it);
    let mut connection = storage::connect(&settings.database, false).await?;
    let tables = list_tables(&mut connection).await.map_err(unusable)?;
    connection.close().await.map_err(unusable)?;
    if !tables.contains(TABLE) {
        return Ok(());
    }
    let pool = storage::open_reader_pool(&settings.database).await?;
    let recorded = record_command(&pool, action, subject).await;
    pool.close().await;
    recorded.map_err(unusable)
}

/// Logs what a command has done.
pub async fn record_command(pool: &Pool, action: &'static str, subject: &str) -> sqlx::Result<()> {
    let entry = LoggedRequest::with_action(action, subject, &Caller::new(COMMAND), ClientAddress::default());
    entry.record(pool, &Meter::default(), "succeeded").await
}

/// The path of a request without ids of conversations and runs: nothing of one that is deleted stays, and rows of the log do.
fn subject(pattern: &str, path: &str) -> String {
    let is_conversation = |segment: &str| segment == "{run}" || segment == "{id}" && pattern.starts_with("/api/v1/conversation/");
    let parts = pattern.split('/').zip(path.split('/')).map(|(name, part)| if is_conversation(name) { name } else { part });
    parts.collect::<Vec<&str>>().join("/")
}

/// Whether calls of a route are logged, by its method and the pattern of its path.
pub fn is_logged(method: &Method, pattern: &str) -> bool {
    action(method, pattern).is_some()
}

/// The action of a route, by its method and the pattern of its path; `None` for those that are not logged.
fn action(method: &Method, pattern: &str) -> Option<&'static str> {
    let last = pattern.rsplit('/').next().unwrap_or_default();
    match (method.as_str(), pattern, last) {
        ("PUT", "/api/v1/mcp/servers/{server}/tools/{tool}/approval", _) => Some("mcp_tool.approve"),
        ("DELETE", "/api/v1/mcp/servers/{server}/tools/{tool}/approval", _) => Some("mcp_tool.withdraw"),
        ("POST", "/api/v1/config/snapshots/{hash}/activate", _) => Some("config.activate"),
        ("POST", "/api/v1/config/rollback", _) => Some("config.rollback"),
        ("POST", "/api/v1/cache/refresh", _) => Some("config.refresh"),
        ("GET", "/api/v1/conversation/journal/{id}", _) => Some("journal.export"),
        ("POST", "/api/v1/privacy/forget", _) => Some("person.forget"),
        ("DELETE", "/api/v1/conversation/{id}", _) => Some("conversation.delete"),
        ("PUT", "/v1/workflow-chains/{chain}/status", _) => Some("chain.status"),
        ("POST", "/v1/workflow-chains/{chain}/runs/{run}/token", _) => Some("resume_token.create"),
        ("POST", "/v1/deployments/{deployment}/tokens", _) => Some("deployment_token.create"),
        ("DELETE", "/v1/deployments/{deployment}/tokens/{id}", _) => Some("deployment_token.revoke"),
        ("PUT", "/v1/tools/{tool}", _) => Some("tool.store"),
        ("DELETE", "/v1/tools/{tool}", _) => Some("tool.delete"),
        ("POST", "/v1/secrets", _) => Some("secret.store"),
        ("DELETE", "/v1/secrets/{name}", _) => Some("secret.delete"),
        ("POST", _, "publish") => Some("document.publish"),
        ("POST", _, "restore") => Some("document.restore"),
        ("POST", _, "deployments") => Some("deployment.create"),
        ("POST", _, "knowledge") => Some("knowledge.store"),
        ("DELETE", _, "{source}") => Some("knowledge.delete"),
        _ => None,
    }
}
