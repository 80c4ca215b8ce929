//! The writers: each commits queued turns in batches, one transaction per batch, those of users first. SQLite has one writer, a thread; on PostgreSQL the
//! conversations are spread over several, which are tasks.

mod batch;
mod error;
mod parked;
mod queue;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use futures_util::future::join_all;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tracing::{Instrument, Span};

use convengine_host_base::meter::Meter;
use convengine_storage::checkpoint::Checkpointer;
use convengine_storage::turn_rows::TurnRows;
use convengine_storage::{Connection, DatabaseConfig};

use batch::run_writer;
use queue::{QueuedRows, RowReceiver, RowSender, row_queue};

/// The number of writers on PostgreSQL. Those after the first connect with their first turn.
const POSTGRES_WRITERS: usize = 4;

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

/// A handle to the writer tasks.
#[derive(Debug, Clone)]
pub struct Writer {
    queues: Arc<[RowSender]>,
    meter: Meter,
}

impl Writer {
    /// Starts the writer tasks; the first one gets the connection. They close their connections and end when the last handle is dropped, which
    /// ends the returned task.
    pub fn start(connection: Connection, database: &DatabaseConfig, meter: &Meter) -> (Self, JoinHandle<()>) {
        if !database.is_postgres() {
            let (queue, waiting) = row_queue(meter);
            let ended = start_thread(database.clone(), meter.clone(), waiting);
            let task = tokio::spawn(async {
                // The thread opens its own.
                let _ = connection.close().await;
                let _ = ended.await;
            });
            return (Writer { queues: Arc::new([queue]), meter: meter.clone() }, task);
        }
        let mut connection = Some(connection);
        let mut tasks = Vec::with_capacity(POSTGRES_WRITERS);
        let queues = (0..POSTGRES_WRITERS).map(|_| {
            let (queue, waiting) = row_queue(meter);
            let run = run_writer(connection.take(), database.clone(), meter.clone(), waiting, None);
            tasks.push(tokio::spawn(run.in_current_span()));
            queue
        });
        let writer = Writer { queues: queues.collect(), meter: meter.clone() };
        (writer, tokio::spawn(async { drop(join_all(tasks).await) }))
    }

    /// Writes rows of a conversation and waits until they are committed.
    ///
    /// # Errors
    /// Returns [`CommitError`].
    pub async fn commit(&self, conversation: &str, rows: TurnRows) -> CommitResult {
        self.enqueue(conversation, rows).await?.await.map_err(|_| writer_stopped())?
    }

    /// Enqueues rows of a conversation, to be written before later ones of it. The receiver completes when they are committed.
    ///
    /// # Errors
    /// Returns [`CommitError::Unavailable`] when the writer has stopped.
    pub async fn enqueue(&self, conversation: &str, rows: TurnRows) -> Result<oneshot::Receiver<CommitResult>, CommitError> {
        let (queued, answered) = QueuedRows::new(conversation, rows, &self.meter);
        self.queue_of(conversation).send(queued).await?;
        Ok(answered)
    }

    /// Returns whether the writer tasks are running.
    pub fn is_running(&self) -> bool {
        self.queues.iter().all(|it| !it.is_closed())
    }

    fn queue_of(&self, conversation: &str) -> &RowSender {
        let mut hasher = DefaultHasher::new();
        conversation.hash(&mut hasher);
        let shard = hasher.finish() % self.queues.len().max(1) as u64;
        &self.queues[usize::try_from(shard).unwrap_or(0)]
    }
}

/// Starts the writer of SQLite on a thread of its own, so that a batch is written from begin to commit without a hand-off. The receiver
/// completes when it ends.
fn start_thread(database: DatabaseConfig, meter: Meter, waiting: RowReceiver) -> oneshot::Receiver<()> {
    let (end, ended) = oneshot::channel::<()>();
    let checkpointer = Checkpointer::new(Handle::current(), database.clone());
    let span = Span::current();
    let work = move || {
        let (_end, _span) = (end, span.entered());
        match tokio::runtime::Builder::new_current_thread().enable_time().build() {
            Ok(runtime) => runtime.block_on(run_writer(None, database, meter, waiting, Some(checkpointer))),
            Err(error) => tracing::error!(%error, "cannot start the writer"),
        }
    };
    if let Err(error) = std::thread::Builder::new().name("writer".to_owned()).spawn(work) {
        tracing::error!(%error, "cannot start the writer");
    }
    ended
}

/// Returns the error for a stopped writer.
pub fn writer_stopped() -> CommitError {
    CommitError::Unavailable("the writer has stopped".to_owned())
}
