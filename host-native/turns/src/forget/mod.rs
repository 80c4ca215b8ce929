//! Deletes conversations by id or person.

mod person;

use std::sync::Arc;
use std::time::{Duration, Instant};

pub use person::{SearchError, list_conversations, parse_member, parse_person};

use convengine_content::Content;
use convengine_storage::{self as storage, Connection, forget};

use crate::TurnCluster;
use crate::Turns;
use crate::recovery;
use crate::refusal::Refusal;
use crate::session_changes::SessionChange;

/// Attempts to truncate the SQLite log while readers are active.
const TRUNCATE_ATTEMPTS: u32 = 50;
/// The pause between two attempts.
const TRUNCATE_INTERVAL: Duration = Duration::from_millis(100);

/// What a search without a result answers, so that nobody takes it for an erasure.
pub const NOTHING_FOUND: &str = "nothing was deleted: no conversation holds these values; check names, paths and spelling";

/// The result of a deletion.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ForgetResult {
    /// The number of deleted conversations.
    pub forgotten: usize,
    /// The number of conversations kept because of a running turn.
    pub busy: usize,
}

/// Deletes conversations of a running server. Waits for their turns and ends their streams.
///
/// # Errors
/// Returns any database error, and an I/O error when the cluster that runs the turns cannot be reached; some conversations may be deleted then.
pub async fn forget_conversations(turns: &Arc<Turns>, ids: &[String]) -> sqlx::Result<ForgetResult> {
    let mut connection = storage::open(turns.content.config_manager.database(), false).await?;
    let mut done = ForgetResult::default();
    for id in ids {
        match forget_conversation(turns, &mut connection, id).await {
            Ok(deleted) => done.forgotten += usize::from(deleted > 0),
            Err(Refusal::Load(error)) => return Err(error),
            Err(Refusal::Unreachable(reason)) => return Err(sqlx::Error::Io(std::io::Error::other(reason))),
            Err(_) => done.busy += 1,
        }
    }
    if done.forgotten > 0 {
        purge_files(&mut connection).await?;
        log_deletion(done.forgotten);
    }
    connection.close().await.map(|()| done)
}

async fn forget_conversation(turns: &Arc<Turns>, connection: &mut Connection, id: &str) -> Result<u64, Refusal> {
    let _pass = turns.queue.acquire(id).await?;
    recovery::settle_conversation(turns, id, Instant::now() + turns.queue.wait()).await?;
    let (cluster, ids) = (turns.cluster.as_deref(), [id.to_owned()]);
    let with_state = clear_state(cluster, &ids).await?;
    let deleted = delete_in_transaction(connection, id).await?;
    // A message in between has made its turn from the rows.
    clear_state(cluster, &ids).await?;
    end_streams(turns, id, true);
    // A conversation may have state only, or rows only.
    Ok(deleted.max(with_state))
}

/// Ends the streams of a deleted conversation, and wakes those who wait for a change of it as a session or run. `is_on_desk` is whether a person
/// may have had it.
pub fn end_streams(turns: &Turns, conversation: &str, is_on_desk: bool) {
    turns.streams.close_conversation(conversation);
    // Fails while no client waits.
    let _ = turns.session_changes.send(SessionChange { session: Arc::from(conversation), is_handoff: is_on_desk });
}

/// Whether every conversation leaves rows, in which a person can be searched for.
pub fn has_all_rows(cluster: Option<&dyn TurnCluster>) -> bool {
    cluster.is_none_or(|it| it.leaves_rows())
}

/// Deletes the state of conversations in the cluster that runs the turns, if one does; returns how many had any.
pub async fn clear_state(cluster: Option<&dyn TurnCluster>, ids: &[String]) -> Result<u64, Refusal> {
    match cluster {
        Some(cluster) => cluster.forget(ids).await,
        None => Ok(0),
    }
}

/// Deletes the rows of a conversation.
pub async fn delete_rows(content: &Content, id: &str) -> sqlx::Result<u64> {
    let mut connection = storage::open(content.config_manager.database(), false).await?;
    let deleted = delete_in_transaction(&mut connection, id).await;
    connection.close().await?;
    deleted
}

async fn delete_in_transaction(connection: &mut Connection, id: &str) -> sqlx::Result<u64> {
    connection.begin().await?;
    match forget::delete_conversations(connection, &[id.to_owned()]).await {
        Ok(deleted) => connection.commit().await.map(|()| deleted),
        Err(error) => connection.rollback().await.and(Err(error)),
    }
}

/// Removes deleted data from the SQLite files.
pub async fn purge_files(connection: &mut Connection) -> sqlx::Result<()> {
    if !forget::vacuum(connection).await? {
        tracing::warn!("the database is too large to vacuum while the server runs; run VACUUM to remove deleted data from free pages");
    }
    truncate_wal(connection).await
}

/// Truncates the SQLite write-ahead log, which still contains deleted data.
pub async fn truncate_wal(connection: &mut Connection) -> sqlx::Result<()> {
    for _ in 0..TRUNCATE_ATTEMPTS {
        if forget::truncate_wal(connection).await? {
            return Ok(());
        }
        tokio::time::sleep(TRUNCATE_INTERVAL).await;
    }
    tracing::warn!("cannot truncate the write-ahead log because of active readers; it contains deleted data until the next truncation");
    Ok(())
}

/// Logs a deletion without identifying the conversations.
pub fn log_deletion(count: usize) {
    tracing::info!(count, "deleted conversations");
}
