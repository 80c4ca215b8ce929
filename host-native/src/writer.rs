//! The one writer: takes the turns that wait, writes them in one transaction, answers all of them.

use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::store::call_log::CallLog;
use crate::store::commit::{TurnRows, write};

/// Most turns in one transaction.
const BATCH: usize = 32;
const QUEUE: usize = 256;

/// Why the rows of a turn were not written. Nothing of the turn is in the database then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// Another turn on the same session was first.
    #[error("another turn of the conversation was stored first")]
    Conflict,
    /// The database did not take the rows.
    #[error("the database did not take the turn: {0}")]
    Unavailable(String),
}

type Answer = Result<(), CommitError>;
type Waiting = (TurnRows, oneshot::Sender<Answer>);

/// The entrance to the writer.
#[derive(Debug, Clone)]
pub struct Writer {
    queue: mpsc::Sender<Waiting>,
}

impl Writer {
    /// Starts the task that owns the connection; it closes the connection and ends when the last entrance is dropped.
    pub fn start(connection: SqliteConnection) -> (Self, JoinHandle<()>) {
        let (queue, waiting) = mpsc::channel(QUEUE);
        (Writer { queue }, tokio::spawn(run(connection, waiting)))
    }

    /// Writes the rows of a turn and returns when they are committed.
    ///
    /// # Errors
    /// [`CommitError::Conflict`] when the session was written meanwhile, [`CommitError::Unavailable`] for everything else.
    pub async fn commit(&self, rows: TurnRows) -> Answer {
        let (answer, answered) = oneshot::channel();
        let gone = || CommitError::Unavailable("the writer has ended".to_owned());
        self.queue.send((rows, answer)).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

async fn run(mut connection: SqliteConnection, mut waiting: mpsc::Receiver<Waiting>) {
    let log = CallLog::of(&mut connection).await;
    let mut batch = Vec::with_capacity(BATCH);
    while waiting.recv_many(&mut batch, BATCH).await > 0 {
        write_batch(&mut connection, &mut batch, log).await;
    }
    if let Err(error) = connection.close().await {
        tracing::warn!(%error, "the database was not closed well");
    }
}

async fn write_batch(connection: &mut SqliteConnection, batch: &mut Vec<Waiting>, log: CallLog) {
    let mut together = TurnRows::default();
    batch.iter().for_each(|(rows, _)| together.extend(rows));
    let answer = transact(connection, &together, log).await;
    // One loser must not cost the others their turn.
    if answer.is_err() && batch.len() > 1 {
        for (rows, waiting) in batch.drain(..) {
            let answer = transact(connection, &rows, log).await;
            let _ = waiting.send(answer);
        }
        return;
    }
    for (_, waiting) in batch.drain(..) {
        let _ = waiting.send(answer.clone());
    }
}

async fn transact(connection: &mut SqliteConnection, rows: &TurnRows, log: CallLog) -> Answer {
    sqlx::query("begin immediate").execute(&mut *connection).await.map_err(unavailable)?;
    let written = match write(connection, rows, log).await {
        Ok(()) => sqlx::query("commit").execute(&mut *connection).await.map(|_| ()),
        Err(error) => Err(error),
    };
    let Err(error) = written else { return Ok(()) };
    // A failed commit leaves the transaction open; one that SQLite has ended already makes this a no-op.
    if let Err(error) = sqlx::query("rollback").execute(connection).await {
        tracing::debug!(%error, "nothing to roll back");
    }
    Err(refused(error))
}

fn refused(error: sqlx::Error) -> CommitError {
    let is_race = error.as_database_error().is_some_and(|it| it.is_unique_violation() && it.message().contains("ce_turn."));
    if is_race { CommitError::Conflict } else { unavailable(error) }
}

fn unavailable(error: sqlx::Error) -> CommitError {
    tracing::error!(%error, "the database did not take a turn");
    CommitError::Unavailable(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::commit::TurnRow;
    use crate::store::in_memory;

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
            reset: false,
            created_at: 1,
            closed_at: 2,
        });
        rows
    }

    #[tokio::test]
    async fn only_the_loser_of_a_race_is_turned_away() {
        let mut connection = in_memory().await.expect("a database");
        let mut batch = Vec::new();
        let mut answers = Vec::new();
        for (conversation, turn) in [("a", "1"), ("b", "2"), ("a", "3")] {
            let (answer, answered) = oneshot::channel();
            batch.push((rows(conversation, turn), answer));
            answers.push(answered);
        }
        write_batch(&mut connection, &mut batch, CallLog::WithUsage).await;
        let mut found = Vec::new();
        for answer in answers {
            found.push(answer.await.expect("an answer"));
        }
        assert_eq!(found, [Ok(()), Ok(()), Err(CommitError::Conflict)]);
        let stored: Vec<u8> =
            sqlx::query_scalar("select journal from ce_turn where turn_id = '2'").fetch_one(&mut connection).await.expect("a row");
        assert_eq!(stored, b"\x00\xff");
    }
}
