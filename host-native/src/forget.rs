//! Deletes conversations by id or person, from the command line or in a running server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::drive::{Host, Refusal};
use crate::exit::Failure;
use crate::gate::PATIENCE;
use crate::http::request::uuid;
use crate::recover;
use crate::settings::Settings;
use crate::store::{self, Connection, forget};

/// Attempts to truncate the SQLite log while readers are active.
const ATTEMPTS: u32 = 50;
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// Which conversations to delete.
#[derive(Debug, Clone, Default)]
pub struct Whom {
    /// A conversation id.
    pub conversation: Option<String>,
    /// Members of the stored input parameters with their values; all must match.
    pub person: Vec<(String, String)>,
}

/// Runs `convengine forget`.
///
/// # Errors
/// Returns exit code 1 when the conversation does not exist or has a running turn, 2 for an invalid id, 3 when the database cannot be
/// used.
pub async fn command(settings: &Settings, target: Whom) -> Result<(), Failure> {
    let unusable = |it: sqlx::Error| store::unusable(&settings.database, &it);
    let mut connection = store::connect_existing(&settings.database).await?;
    let ids = match &target.conversation {
        Some(text) => {
            vec![uuid(text).ok_or_else(|| Failure::usage(format!("'{text}' is not a conversation id; use a UUID")))?]
        }
        None => of_person(&mut connection, &target.person).await.map_err(unusable)?,
    };
    connection.begin().await.map_err(unusable)?;
    let running = forget::running(&mut connection, &ids).await.map_err(unusable)?;
    if let Some(first) = running.first() {
        return Err(Failure::not_right(vec![format!("conversation {first} has a running turn; nothing was deleted, try again later")]));
    }
    let deleted = forget::delete(&mut connection, &ids).await.map_err(unusable)?;
    connection.commit().await.map_err(unusable)?;
    if target.conversation.is_some() && deleted == 0 {
        return Err(Failure::not_right(vec![format!("conversation not found in '{}'; check the id", settings.database.shown())]));
    }
    clean(&mut connection).await.map_err(unusable)?;
    told(ids.len());
    println!("deleted conversations: {}", ids.len());
    Ok(())
}

/// Returns the conversations whose stored input parameters have all these members.
///
/// # Errors
/// Returns any database error.
pub async fn of_person(connection: &mut Connection, person: &[(String, String)]) -> sqlx::Result<Vec<String>> {
    let mut all: Option<BTreeSet<String>> = None;
    for (member, value) in person {
        let found = forget::of_person(connection, member, value).await?.into_iter().collect();
        all = Some(all.map_or_else(|| BTreeSet::clone(&found), |it| it.intersection(&found).cloned().collect()));
    }
    Ok(all.unwrap_or_default().into_iter().collect())
}

/// The result of a deletion.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The number of deleted conversations.
    pub forgotten: usize,
    /// The number of conversations kept because of a running turn.
    pub busy: usize,
}

/// Deletes conversations of a running server. Waits for their turns and ends their streams.
///
/// # Errors
/// Returns any database error; some conversations may be deleted then.
pub async fn conversations(host: &Arc<Host>, ids: &[String]) -> sqlx::Result<Done> {
    let mut connection = store::open(host.current.place(), false).await?;
    let mut done = Done::default();
    for id in ids {
        match one(host, &mut connection, id).await {
            Ok(deleted) => done.forgotten += usize::from(deleted > 0),
            Err(Refusal::Load(error)) => return Err(error),
            Err(_) => done.busy += 1,
        }
    }
    if done.forgotten > 0 {
        clean(&mut connection).await?;
        told(done.forgotten);
    }
    connection.close().await.map(|()| done)
}

async fn one(host: &Arc<Host>, connection: &mut Connection, id: &str) -> Result<u64, Refusal> {
    let _pass = host.gate.enter(id).await?;
    recover::settle(host, id, Instant::now() + PATIENCE).await?;
    let deleted = in_transaction(connection, id).await?;
    host.streams.end(id);
    Ok(deleted)
}

async fn in_transaction(connection: &mut Connection, id: &str) -> sqlx::Result<u64> {
    connection.begin().await?;
    match forget::delete(connection, &[id.to_owned()]).await {
        Ok(deleted) => connection.commit().await.map(|()| deleted),
        Err(error) => connection.rollback().await.and(Err(error)),
    }
}

/// Removes deleted data from the SQLite files.
///
/// # Errors
/// Returns any database error.
async fn clean(connection: &mut Connection) -> sqlx::Result<()> {
    if !forget::rewrite(connection).await? {
        tracing::warn!("the database is too large to vacuum while it is served; run VACUUM to remove deleted data from free pages");
    }
    empty_log(connection).await
}

/// Truncates the SQLite write-ahead log, which still contains deleted data.
///
/// # Errors
/// Returns any database error.
pub async fn empty_log(connection: &mut Connection) -> sqlx::Result<()> {
    for _ in 0..ATTEMPTS {
        if forget::empty_log(connection).await? {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
    tracing::warn!("cannot truncate the write-ahead log because of active readers; it contains deleted data until the next truncation");
    Ok(())
}

/// Logs a deletion without identifying the conversations.
fn told(count: usize) {
    tracing::info!(count, "deleted conversations");
}

/// Parses `NAME=VALUE`.
///
/// # Errors
/// Returns the expected form.
pub fn member(text: &str) -> Result<(String, String), String> {
    let found = text.split_once('=').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    found.filter(|it| !it.0.is_empty() && !it.1.is_empty()).ok_or_else(|| "use NAME=VALUE, such as customerId=C-17".to_owned())
}

/// Parses the `person` member of a request: an object of strings, numbers or Booleans.
///
/// # Errors
/// Returns the expected form.
pub fn person(members: BTreeMap<String, serde_json::Value>) -> Result<Vec<(String, String)>, String> {
    let wrong =
        || "invalid person; send {\"person\": {\"customerId\": \"C-17\"}} with members of the input parameters".to_owned();
    let plain = |(name, value): (String, serde_json::Value)| match value {
        serde_json::Value::String(text) if !text.is_empty() => Ok((name, text)),
        serde_json::Value::Number(_) | serde_json::Value::Bool(_) => Ok((name, value.to_string())),
        _ => Err(wrong()),
    };
    let person: Vec<(String, String)> = members.into_iter().map(plain).collect::<Result<_, _>>()?;
    if person.is_empty() { Err(wrong()) } else { Ok(person) }
}
