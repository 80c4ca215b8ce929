//! The single writer: commits queued turns in batches, one transaction per batch.

use std::future::Future;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::observe::Meter;
use crate::store::call_log::CallLog;
use crate::store::commit::{is_open, is_stored, write};
use crate::store::turn_rows::TurnRows;
use crate::store::{self, Connection, Place};

/// Most turns in one transaction.
const BATCH: usize = 32;
const QUEUE: usize = 256;

/// The timeout for writing a batch or connecting, so that an unreachable server or a held lock does not block all turns.
const LIMIT: Duration = Duration::from_secs(10);
/// How long turns wait for the database to come back.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause between two attempts to reach it.
const PAUSE: Duration = Duration::from_millis(200);

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
    pub fn word(&self) -> &'static str {
        match self {
            CommitError::Conflict => "conflict",
            CommitError::TakenOver => "taken_over",
            CommitError::SameMessage => "same_message",
            CommitError::Rejected(_) => "rejected",
            CommitError::Unavailable(_) => "unavailable",
        }
    }
}

type Answer = Result<(), CommitError>;
type Waiting = (TurnRows, oneshot::Sender<Answer>);

/// A handle to the writer task.
#[derive(Debug, Clone)]
pub struct Writer {
    queue: mpsc::Sender<Waiting>,
}

impl Writer {
    /// Starts the task that owns the connection. It closes the connection and ends when the last handle is dropped.
    pub fn start(connection: Connection, place: Place, meter: Meter) -> (Self, JoinHandle<()>) {
        let (queue, waiting) = mpsc::channel(QUEUE);
        (Writer { queue }, tokio::spawn(run(connection, place, meter, waiting)))
    }

    /// Writes rows and waits until they are committed.
    ///
    /// # Errors
    /// Returns [`CommitError`].
    pub async fn commit(&self, rows: TurnRows) -> Answer {
        self.hand_over(rows).await?.await.map_err(|_| gone())?
    }

    /// Enqueues rows, to be written before later ones. The receiver completes when they are committed.
    ///
    /// # Errors
    /// Returns [`CommitError::Unavailable`] when the writer has stopped.
    pub async fn hand_over(&self, rows: TurnRows) -> Result<oneshot::Receiver<Answer>, CommitError> {
        let (answer, answered) = oneshot::channel();
        self.queue.send((rows, answer)).await.map_err(|_| gone())?;
        Ok(answered)
    }

    /// Returns whether the writer task is running.
    pub fn is_running(&self) -> bool {
        !self.queue.is_closed()
    }
}

/// Returns the error for a stopped writer.
pub fn gone() -> CommitError {
    CommitError::Unavailable("the writer has stopped".to_owned())
}

async fn run(connection: Connection, place: Place, meter: Meter, mut waiting: mpsc::Receiver<Waiting>) {
    let mut writer = Desk::of(connection, place, meter).await;
    let mut batch = Vec::with_capacity(BATCH);
    while waiting.recv_many(&mut batch, BATCH).await > 0 {
        writer.write_batch(&mut batch).await;
    }
    let Some(connection) = writer.connection else { return };
    if let Err(error) = connection.close().await {
        tracing::warn!(%error, "cannot close the database connection cleanly");
    }
}

/// The state of the writer task.
struct Desk {
    place: Place,
    connection: Option<Connection>,
    log: CallLog,
    /// When the database became unreachable.
    lost: Option<Instant>,
    meter: Meter,
}

/// Why a batch was not written.
enum Failed {
    /// The database returned an error.
    Refused(CommitError),
    /// The connection was lost; the outcome of the commit is unknown.
    Lost(String),
}

impl Desk {
    async fn of(mut connection: Connection, place: Place, meter: Meter) -> Desk {
        let log = CallLog::of(&mut connection).await;
        if let Err(error) = store::limit(&mut connection).await {
            tracing::warn!(%error, "cannot set the writer's database timeouts");
        }
        Desk { place, connection: Some(connection), log, lost: None, meter }
    }

    async fn write_batch(&mut self, batch: &mut Vec<Waiting>) {
        let mut merged = TurnRows::default();
        batch.iter().for_each(|(rows, _)| merged.extend(rows));
        match self.transact(&merged, batch.len()).await {
            Ok(()) => batch.drain(..).for_each(|(_, waiting)| _ = waiting.send(Ok(()))),
            Err(Failed::Refused(error)) if batch.len() == 1 => {
                batch.drain(..).for_each(|(_, waiting)| _ = waiting.send(Err(error.clone())))
            }
            // Retry individually, so that one conflict does not fail the whole batch.
            Err(Failed::Refused(_) | Failed::Lost(_)) => {
                for (rows, waiting) in batch.drain(..) {
                    let answer = self.write_alone(&rows).await;
                    let _ = waiting.send(answer);
                }
            }
        }
    }

    /// Writes the rows of one turn, reconnecting when the connection is lost.
    async fn write_alone(&mut self, rows: &TurnRows) -> Answer {
        loop {
            match self.transact(rows, 1).await {
                Ok(()) => return Ok(()),
                Err(Failed::Refused(CommitError::Unavailable(reason))) => return Err(CommitError::Unavailable(reason)),
                // A conflict may be this turn's own row, written before the connection was lost.
                Err(Failed::Refused(error)) => return if self.has(rows).await { Ok(()) } else { Err(error) },
                Err(Failed::Lost(reason)) => {
                    let since = *self.lost.get_or_insert_with(Instant::now);
                    if since.elapsed() > PATIENCE {
                        return Err(CommitError::Unavailable(reason));
                    }
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn has(&mut self, rows: &TurnRows) -> bool {
        match &mut self.connection {
            Some(connection) => is_stored(connection, rows).await.unwrap_or(false),
            None => false,
        }
    }

    async fn transact(&mut self, rows: &TurnRows, parts: usize) -> Result<(), Failed> {
        let started_at = Instant::now();
        let result = self.written(rows).await;
        let outcome = match &result {
            Ok(()) => "ok",
            Err(Failed::Lost(_)) => "lost",
            Err(Failed::Refused(error)) => error.word(),
        };
        self.meter.commit(outcome, parts, started_at);
        result
    }

    async fn written(&mut self, rows: &TurnRows) -> Result<(), Failed> {
        if self.connection.is_none() {
            let connecting = within(async {
                let mut connection = store::open(&self.place, false).await?;
                store::limit(&mut connection).await.map(|()| connection)
            });
            self.connection = Some(connecting.await.map_err(|it| Failed::Lost(it.to_string()))?);
        }
        let Some(connection) = &mut self.connection else { return Err(Failed::Lost("no connection".to_owned())) };
        let written = within(write_all(connection, rows, self.log)).await;
        let written = if written.is_ok() && rows.durable { self.place.sync().await.map_err(sqlx::Error::Io) } else { written };
        let Err(error) = written else {
            self.lost = None;
            return Ok(());
        };
        if is_lost(&error) {
            tracing::error!(%error, "lost the database connection");
            self.connection = None;
            return Err(Failed::Lost(error.to_string()));
        }
        self.lost = None;
        Err(Failed::Refused(refused(error)))
    }
}

/// Limits work to [`LIMIT`]. The connection must be discarded after a timeout.
async fn within<T>(work: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    let late = |_| sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "the database did not answer in time"));
    tokio::time::timeout(LIMIT, work).await.unwrap_or_else(|it| Err(late(it)))
}

async fn write_all(connection: &mut Connection, rows: &TurnRows, log: CallLog) -> sqlx::Result<()> {
    if is_open(rows) {
        return write(connection, rows, log).await;
    }
    connection.begin().await?;
    let written = match write(connection, rows, log).await {
        Ok(()) => connection.commit().await,
        Err(error) => Err(error),
    };
    if written.as_ref().is_err_and(|it| !is_lost(it)) {
        // A failed commit leaves the transaction open; if it is already closed, the rollback fails harmlessly.
        if let Err(error) = connection.rollback().await {
            tracing::debug!(%error, "nothing to roll back");
        }
    }
    written
}

/// Returns whether an error concerns the connection instead of the rows.
fn is_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed | sqlx::Error::PoolClosed => true,
        sqlx::Error::Database(it) => !is_sqlite(&**it) && it.code().is_some_and(|it| LOST.iter().any(|lost| it.starts_with(lost))),
        _ => false,
    }
}

/// Prefixes of PostgreSQL error codes after which the write is retried: shutdown or startup, connection failure, read-only replica after
/// a failover, idle transaction timeout, statement timeout, lock timeout, serialization failure or deadlock.
const LOST: [&str; 7] = ["57P0", "08", "25006", "25P03", "57014", "55P03", "40"];

/// Returns whether the rows themselves are invalid (an unsupported value or a violated constraint), so that a retry would fail too.
fn is_rejected(error: &sqlx::Error) -> bool {
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

fn refused(error: sqlx::Error) -> CommitError {
    if matches!(error, sqlx::Error::RowNotFound) {
        return CommitError::TakenOver;
    }
    let violated = error.as_database_error().filter(|it| it.is_unique_violation());
    // SQLite reports the columns, PostgreSQL the constraint.
    let name = violated.map(|it| it.constraint().unwrap_or_else(|| it.message()).to_owned()).unwrap_or_default();
    match name.as_str() {
        it if it.contains("message_key") => CommitError::SameMessage,
        it if it.contains("ce_turn.") || it.contains("ce_turn_") => CommitError::Conflict,
        _ if is_rejected(&error) => {
            tracing::error!(%error, "the database rejected a turn");
            CommitError::Rejected(error.to_string())
        }
        _ => unavailable(error),
    }
}

fn unavailable(error: sqlx::Error) -> CommitError {
    tracing::error!(%error, "cannot store a turn");
    CommitError::Unavailable(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::in_memory;
    use crate::store::turn_rows::TurnRow;

    fn rows(conversation: &str, turn: &str) -> TurnRows {
        let mut rows = TurnRows::default();
        rows.turn(&TurnRow {
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
    async fn only_the_loser_of_a_race_is_turned_away() {
        let connection = in_memory().await.expect("a database");
        let mut writer = Desk::of(connection, Place { url: String::new(), full_sync: false }, Meter::default()).await;
        let mut batch = Vec::new();
        let mut answers = Vec::new();
        for (conversation, turn) in [("a", "1"), ("b", "2"), ("a", "3")] {
            let (answer, answered) = oneshot::channel();
            batch.push((rows(conversation, turn), answer));
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
