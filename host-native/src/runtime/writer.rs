//! The single writer: commits queued turns in batches, one transaction per batch.

use std::future::Future;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::ops::observe::Meter;
use crate::storage::call_log::CallLogColumns;
use crate::storage::commit::{is_stored, needs_no_transaction, write};
use crate::storage::turn_rows::TurnRows;
use crate::storage::{self, Connection, DatabaseConfig};

/// Most turns in one transaction.
const MAX_BATCH: usize = 32;
const QUEUE_CAPACITY: usize = 256;

/// The timeout for writing a batch or connecting, so that an unreachable server or a held lock does not block all turns.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long turns wait for the database to come back.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// The pause between two attempts to reach it.
const RECONNECT_DELAY: Duration = Duration::from_millis(200);

/// Why the rows of a turn were not committed. None of them are stored then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// Another turn of the conversation was committed first.
    #[error("another turn of the conversation was committed first")]
    Conflict,
    /// Another process has taken over the turn; its effects and its outcome are authoritative.
    #[error("another process has taken over the turn")]
    TakenOver,
    /// Another turn has the same idempotency key.
    #[error("another turn has the same idempotency key")]
    SameMessage,
    /// The database rejects the rows permanently.
    #[error("the database rejected the turn: {0}")]
    Rejected(String),
    /// The database is unavailable.
    #[error("cannot store the turn: {0}")]
    Unavailable(String),
}

impl CommitError {
    /// Returns the metric label of the error.
    pub fn label(&self) -> &'static str {
        match self {
            CommitError::Conflict => "conflict",
            CommitError::TakenOver => "taken_over",
            CommitError::SameMessage => "same_message",
            CommitError::Rejected(_) => "rejected",
            CommitError::Unavailable(_) => "unavailable",
        }
    }
}

type CommitResult = Result<(), CommitError>;
type QueuedRows = (TurnRows, oneshot::Sender<CommitResult>);

/// A handle to the writer task.
#[derive(Debug, Clone)]
pub struct Writer {
    queue: mpsc::Sender<QueuedRows>,
}

impl Writer {
    /// Starts the task that owns the connection. It closes the connection and ends when the last handle is dropped.
    pub fn start(connection: Connection, place: DatabaseConfig, meter: Meter) -> (Self, JoinHandle<()>) {
        let (queue, waiting) = mpsc::channel(QUEUE_CAPACITY);
        (Writer { queue }, tokio::spawn(run_writer(connection, place, meter, waiting)))
    }

    /// Writes rows and waits until they are committed.
    ///
    /// # Errors
    /// Returns [`CommitError`].
    pub async fn commit(&self, rows: TurnRows) -> CommitResult {
        self.enqueue(rows).await?.await.map_err(|_| writer_stopped())?
    }

    /// Enqueues rows, to be written before later ones. The receiver completes when they are committed.
    ///
    /// # Errors
    /// Returns [`CommitError::Unavailable`] when the writer has stopped.
    pub async fn enqueue(&self, rows: TurnRows) -> Result<oneshot::Receiver<CommitResult>, CommitError> {
        let (answer, answered) = oneshot::channel();
        self.queue.send((rows, answer)).await.map_err(|_| writer_stopped())?;
        Ok(answered)
    }

    /// Returns whether the writer task is running.
    pub fn is_running(&self) -> bool {
        !self.queue.is_closed()
    }
}

/// Returns the error for a stopped writer.
pub fn writer_stopped() -> CommitError {
    CommitError::Unavailable("the writer has stopped".to_owned())
}

async fn run_writer(connection: Connection, place: DatabaseConfig, meter: Meter, mut waiting: mpsc::Receiver<QueuedRows>) {
    let mut writer = BatchWriter::new(connection, place, meter).await;
    let mut batch = Vec::with_capacity(MAX_BATCH);
    while waiting.recv_many(&mut batch, MAX_BATCH).await > 0 {
        writer.write_batch(&mut batch).await;
    }
    let Some(connection) = writer.connection else { return };
    if let Err(error) = connection.close().await {
        tracing::warn!(%error, "cannot close the database connection cleanly");
    }
}

/// The state of the writer task.
struct BatchWriter {
    database: DatabaseConfig,
    connection: Option<Connection>,
    call_log: CallLogColumns,
    /// When the database became unreachable.
    lost_since: Option<Instant>,
    meter: Meter,
}

/// Why a batch was not written.
enum BatchError {
    /// The database returned an error.
    Commit(CommitError),
    /// The connection was lost; the outcome of the commit is unknown.
    ConnectionLost(String),
}

impl BatchWriter {
    async fn new(mut connection: Connection, place: DatabaseConfig, meter: Meter) -> BatchWriter {
        let log = CallLogColumns::detect(&mut connection).await;
        if let Err(error) = storage::set_timeouts(&mut connection).await {
            tracing::warn!(%error, "cannot set the writer's database timeouts");
        }
        BatchWriter { database: place, connection: Some(connection), call_log: log, lost_since: None, meter }
    }

    async fn write_batch(&mut self, batch: &mut Vec<QueuedRows>) {
        let mut merged = TurnRows::default();
        batch.iter().for_each(|(rows, _)| merged.extend(rows));
        match self.write_and_record(&merged, batch.len()).await {
            Ok(()) => batch.drain(..).for_each(|(_, waiting)| _ = waiting.send(Ok(()))),
            Err(BatchError::Commit(error)) if batch.len() == 1 => {
                batch.drain(..).for_each(|(_, waiting)| _ = waiting.send(Err(error.clone())))
            }
            // Retry individually, so that one conflict does not fail the whole batch.
            Err(BatchError::Commit(_) | BatchError::ConnectionLost(_)) => {
                for (rows, waiting) in batch.drain(..) {
                    let answer = self.write_single(&rows).await;
                    let _ = waiting.send(answer);
                }
            }
        }
    }

    /// Writes the rows of one turn, reconnecting when the connection is lost.
    async fn write_single(&mut self, rows: &TurnRows) -> CommitResult {
        loop {
            match self.write_and_record(rows, 1).await {
                Ok(()) => return Ok(()),
                Err(BatchError::Commit(CommitError::Unavailable(reason))) => return Err(CommitError::Unavailable(reason)),
                // A conflict may be this turn's own row, written before the connection was lost.
                Err(BatchError::Commit(error)) => return if self.has_rows(rows).await { Ok(()) } else { Err(error) },
                Err(BatchError::ConnectionLost(reason)) => {
                    let since = *self.lost_since.get_or_insert_with(Instant::now);
                    if since.elapsed() > RECONNECT_TIMEOUT {
                        return Err(CommitError::Unavailable(reason));
                    }
                    sleep(RECONNECT_DELAY).await;
                }
            }
        }
    }

    async fn has_rows(&mut self, rows: &TurnRows) -> bool {
        match &mut self.connection {
            Some(connection) => is_stored(connection, rows).await.unwrap_or(false),
            None => false,
        }
    }

    async fn write_and_record(&mut self, rows: &TurnRows, parts: usize) -> Result<(), BatchError> {
        let started_at = Instant::now();
        let result = self.write_once(rows).await;
        let outcome = match &result {
            Ok(()) => "ok",
            Err(BatchError::ConnectionLost(_)) => "lost",
            Err(BatchError::Commit(error)) => error.label(),
        };
        self.meter.record_commit(outcome, parts, started_at);
        result
    }

    async fn write_once(&mut self, rows: &TurnRows) -> Result<(), BatchError> {
        if self.connection.is_none() {
            let connecting = with_timeout(async {
                let mut connection = storage::open(&self.database, false).await?;
                storage::set_timeouts(&mut connection).await.map(|()| connection)
            });
            self.connection = Some(connecting.await.map_err(|it| BatchError::ConnectionLost(it.to_string()))?);
        }
        let Some(connection) = &mut self.connection else { return Err(BatchError::ConnectionLost("no connection".to_owned())) };
        let written = with_timeout(write_in_transaction(connection, rows, self.call_log)).await;
        let written = if written.is_ok() && rows.durable { self.database.flush_wal().await.map_err(sqlx::Error::Io) } else { written };
        let Err(error) = written else {
            self.lost_since = None;
            return Ok(());
        };
        if is_connection_error(&error) {
            tracing::error!(%error, "lost the database connection");
            self.connection = None;
            return Err(BatchError::ConnectionLost(error.to_string()));
        }
        self.lost_since = None;
        Err(BatchError::Commit(to_commit_error(error)))
    }
}

/// Limits work to [`LIMIT`]. The connection must be discarded after a timeout.
async fn with_timeout<T>(work: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    let late = |_| sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "the database did not answer in time"));
    tokio::time::timeout(WRITE_TIMEOUT, work).await.unwrap_or_else(|it| Err(late(it)))
}

async fn write_in_transaction(connection: &mut Connection, rows: &TurnRows, log: CallLogColumns) -> sqlx::Result<()> {
    if needs_no_transaction(rows) {
        return write(connection, rows, log).await;
    }
    connection.begin().await?;
    let written = match write(connection, rows, log).await {
        Ok(()) => connection.commit().await,
        Err(error) => Err(error),
    };
    if written.as_ref().is_err_and(|it| !is_connection_error(it)) {
        // A failed commit leaves the transaction open; if it is already closed, the rollback fails harmlessly.
        if let Err(error) = connection.rollback().await {
            tracing::debug!(%error, "nothing to roll back");
        }
    }
    written
}

/// Returns whether an error concerns the connection instead of the rows.
fn is_connection_error(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed | sqlx::Error::PoolClosed => true,
        sqlx::Error::Database(it) => {
            !is_sqlite(&**it) && it.code().is_some_and(|it| RETRYABLE_CODES.iter().any(|lost| it.starts_with(lost)))
        }
        _ => false,
    }
}

/// Prefixes of PostgreSQL error codes after which the write is retried: shutdown or startup, connection failure, read-only replica after
/// a failover, idle transaction timeout, statement timeout, lock timeout, serialization failure or deadlock.
const RETRYABLE_CODES: [&str; 7] = ["57P0", "08", "25006", "25P03", "57014", "55P03", "40"];

/// Returns whether the rows themselves are invalid (an unsupported value or a violated constraint), so that a retry would fail too.
fn is_permanent(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else { return false };
    let code = error.code().unwrap_or_default();
    if is_sqlite(&**error) {
        // The lower eight bits are the primary code: SQLITE_TOOBIG, SQLITE_CONSTRAINT or SQLITE_MISMATCH.
        return code.parse::<u32>().is_ok_and(|it| [18, 19, 20].contains(&(it & 255)));
    }
    code.starts_with("22") || code.starts_with("23")
}

fn is_sqlite(error: &dyn sqlx::error::DatabaseError) -> bool {
    error.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some()
}

fn to_commit_error(error: sqlx::Error) -> CommitError {
    if matches!(error, sqlx::Error::RowNotFound) {
        return CommitError::TakenOver;
    }
    let violated = error.as_database_error().filter(|it| it.is_unique_violation());
    // SQLite reports the columns, PostgreSQL the constraint.
    let name = violated.map(|it| it.constraint().unwrap_or_else(|| it.message()).to_owned()).unwrap_or_default();
    match name.as_str() {
        it if it.contains("message_key") => CommitError::SameMessage,
        it if it.contains("ce_turn.") || it.contains("ce_turn_") => CommitError::Conflict,
        _ if is_permanent(&error) => {
            tracing::error!(%error, "the database rejected a turn");
            CommitError::Rejected(error.to_string())
        }
        _ => to_unavailable(error),
    }
}

fn to_unavailable(error: sqlx::Error) -> CommitError {
    tracing::error!(%error, "cannot store a turn");
    CommitError::Unavailable(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::in_memory;
    use crate::storage::turn_rows::TurnRow;

    fn turn_rows(conversation: &str, turn: &str) -> TurnRows {
        let mut rows = TurnRows::default();
        rows.add_turn(&TurnRow {
            turn_id: turn,
            conversation_id: conversation,
            number: 1,
            status: "closed",
            protocol: 1,
            engine: "test",
            config_hash: "c",
            journal: b"\x00\xff",
            state_hash: "s",
            created_at: 1,
            closed_at: 2,
            total_ms: 1,
            owner: "me",
            ..TurnRow::default()
        });
        rows
    }

    #[tokio::test]
    async fn only_the_loser_of_a_race_is_rejected() {
        let connection = in_memory().await.expect("a database");
        let mut writer = BatchWriter::new(connection, DatabaseConfig { url: String::new(), full_sync: false }, Meter::default()).await;
        let mut batch = Vec::new();
        let mut answers = Vec::new();
        for (conversation, turn) in [("a", "1"), ("b", "2"), ("a", "3")] {
            let (answer, answered) = oneshot::channel();
            batch.push((turn_rows(conversation, turn), answer));
            answers.push(answered);
        }
        writer.write_batch(&mut batch).await;
        let mut found = Vec::new();
        for answer in answers {
            found.push(answer.await.expect("an answer"));
        }
        assert_eq!(found, [Ok(()), Ok(()), Err(CommitError::Conflict)]);
        let mut connection = writer.connection.expect("it is in memory");
        let stored: Vec<u8> =
            sqlx::query_scalar("select journal from ce_turn where turn_id = '2'").fetch_one(connection.sqlite()).await.expect("a row");
        assert_eq!(stored, b"\x00\xff");
    }
}
