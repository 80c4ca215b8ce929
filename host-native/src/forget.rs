//! Lets go of conversations: one, all of a person, or those that are old. (`README.md`, "Operations on configuration and data")

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

/// How often the log of SQLite is tried to be emptied while somebody reads.
const ATTEMPTS: u32 = 50;
/// How long it waits between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// Who is to be forgotten.
#[derive(Debug, Clone, Default)]
pub struct Whom {
    /// A conversation.
    pub conversation: Option<String>,
    /// Members of the stored parameters with their values; each must be there.
    pub person: Vec<(String, String)>,
}

/// Runs the command `convengine forget`.
///
/// # Errors
/// Exit code 1 when nothing is meant, or a turn runs; 3 when the database cannot be used.
pub async fn command(settings: &Settings, whom: Whom) -> Result<(), Failure> {
    let unusable = |it: sqlx::Error| store::unusable(&settings.database, &it);
    let mut connection = store::connect_existing(&settings.database).await?;
    let ids = match &whom.conversation {
        Some(text) => {
            vec![uuid(text).ok_or_else(|| Failure::usage(format!("'{text}' is not a UUID: give the 36 characters of a conversation")))?]
        }
        None => of_person(&mut connection, &whom.person).await.map_err(unusable)?,
    };
    connection.begin().await.map_err(unusable)?;
    let running = forget::running(&mut connection, &ids).await.map_err(unusable)?;
    if let Some(first) = running.first() {
        return Err(Failure::not_right(vec![format!("a turn of the conversation {first} runs: nothing is forgotten, try again later")]));
    }
    let deleted = forget::delete(&mut connection, &ids).await.map_err(unusable)?;
    connection.commit().await.map_err(unusable)?;
    if whom.conversation.is_some() && deleted == 0 {
        return Err(Failure::not_right(vec![format!("there is no such conversation in {}: check its id", settings.database.shown())]));
    }
    clean(&mut connection).await.map_err(unusable)?;
    told(ids.len());
    println!("forgot {} conversations", ids.len());
    Ok(())
}

/// The conversations of a person: those whose stored parameters have all these members.
///
/// # Errors
/// What the database says.
pub async fn of_person(connection: &mut Connection, person: &[(String, String)]) -> sqlx::Result<Vec<String>> {
    let mut all: Option<BTreeSet<String>> = None;
    for (member, value) in person {
        let found = forget::of_person(connection, member, value).await?.into_iter().collect();
        all = Some(all.map_or_else(|| BTreeSet::clone(&found), |it| it.intersection(&found).cloned().collect()));
    }
    Ok(all.unwrap_or_default().into_iter().collect())
}

/// What has become of conversations.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// How many are forgotten.
    pub forgotten: usize,
    /// How many have a turn that goes on.
    pub busy: usize,
}

/// Forgets conversations while a server runs. Their turns are waited for, and their streams end.
///
/// # Errors
/// What the database says; some conversations may be forgotten then.
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

/// Leaves no byte of what was deleted in the files of SQLite.
///
/// # Errors
/// What the database says.
async fn clean(connection: &mut Connection) -> sqlx::Result<()> {
    if !forget::rewrite(connection).await? {
        tracing::warn!("the database is too large to be written anew while it is served: run VACUUM on it, for bytes that are in no row");
    }
    empty_log(connection).await
}

/// Empties the log of SQLite, which keeps what was there.
///
/// # Errors
/// What the database says.
pub async fn empty_log(connection: &mut Connection) -> sqlx::Result<()> {
    for _ in 0..ATTEMPTS {
        if forget::empty_log(connection).await? {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
    tracing::warn!("somebody reads all the time: what is forgotten stays in the log of the database until nobody does");
    Ok(())
}

/// What the log keeps of it: how many and, by its time, when.
fn told(count: usize) {
    tracing::info!(count, "conversations are forgotten");
}

/// Reads `NAME=VALUE`.
///
/// # Errors
/// What to write instead.
pub fn member(text: &str) -> Result<(String, String), String> {
    let found = text.split_once('=').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    found.filter(|it| !it.0.is_empty() && !it.1.is_empty()).ok_or_else(|| "write NAME=VALUE, such as customerId=C-17".to_owned())
}

/// What a client sends as a person: members with texts, numbers or truths.
///
/// # Errors
/// What to send instead.
pub fn person(members: BTreeMap<String, serde_json::Value>) -> Result<Vec<(String, String)>, String> {
    let wrong =
        || "person is not known: send {\"person\": {\"customerId\": \"C-17\"}}, with the members that input parameters have".to_owned();
    let plain = |(name, value): (String, serde_json::Value)| match value {
        serde_json::Value::String(text) if !text.is_empty() => Ok((name, text)),
        serde_json::Value::Number(_) | serde_json::Value::Bool(_) => Ok((name, value.to_string())),
        _ => Err(wrong()),
    };
    let person: Vec<(String, String)> = members.into_iter().map(plain).collect::<Result<_, _>>()?;
    if person.is_empty() { Err(wrong()) } else { Ok(person) }
}
