//! The queue of a writer: rows of users go first, those of work in the background follow when no others wait or have waited for long enough.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use convengine_host_base::meter::GaugeGuard;
use convengine_host_base::meter::Meter;
use convengine_host_base::metric_names as names;
use convengine_host_base::work_class::WorkClass;
use convengine_storage::turn_rows::TurnRows;
use tokio::sync::{mpsc, oneshot};

use super::{CommitError, CommitResult, writer_stopped};

/// Rows of each class that may wait in the queue; adding more waits for a place.
const CAPACITY: usize = 256;

/// Most turns in one transaction.
const MAX_BATCH: usize = 32;

/// Most turns of work in the background in one transaction: users wait for it.
const MAX_BACKGROUND_BATCH: usize = 8;

/// How many batches of users are written while work in the background waits.
const MAX_USER_BATCHES_IN_A_ROW: u32 = 8;

/// The rows of a turn that wait to be written.
#[derive(Debug)]
pub(super) struct QueuedRows {
    /// The conversation of the turn. Its rows are written in the order in which they are queued.
    pub conversation: String,
    pub rows: TurnRows,
    pub answer: oneshot::Sender<CommitResult>,
    class: WorkClass,
    since: Instant,
    _queued: GaugeGuard,
    _waiting: Option<WaitingGuard>,
}

/// The conversations whose rows wait, with the class and the number of them. Later rows of one follow in the same queue, so that none of another
/// class overtake them.
#[derive(Debug, Clone, Default)]
struct WaitingConversations(Arc<Mutex<HashMap<String, (WorkClass, usize)>>>);

/// Rows of a conversation that wait, until it is dropped.
#[derive(Debug)]
struct WaitingGuard {
    all: WaitingConversations,
    conversation: String,
}

impl WaitingConversations {
    /// Adds rows of a conversation. Returns the class of those before them, or their own.
    fn add(&self, conversation: &str, class: WorkClass) -> (WorkClass, WaitingGuard) {
        let mut all = self.lock();
        let entry = all.entry(conversation.to_owned()).or_insert((class, 0));
        entry.1 += 1;
        (entry.0, WaitingGuard { all: self.clone(), conversation: conversation.to_owned() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (WorkClass, usize)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WaitingGuard {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        let Some(entry) = all.get_mut(&self.conversation) else { return };
        entry.1 -= 1;
        if entry.1 == 0 {
            all.remove(&self.conversation);
        }
    }
}

impl QueuedRows {
    /// Creates rows of the current class, and the receiver of the answer.
    pub fn new(conversation: &str, rows: TurnRows, meter: &Meter) -> (QueuedRows, oneshot::Receiver<CommitResult>) {
        let (answer, answered) = oneshot::channel();
        let (class, conversation) = (WorkClass::current(), conversation.to_owned());
        let queued = meter.track_class(names::WRITER_QUEUE, class);
        (QueuedRows { conversation, rows, answer, class, since: Instant::now(), _queued: queued, _waiting: None }, answered)
    }
}

/// The sending side.
#[derive(Debug, Clone)]
pub(super) struct RowSender {
    user: mpsc::Sender<QueuedRows>,
    background: mpsc::Sender<QueuedRows>,
    waiting: WaitingConversations,
}

impl RowSender {
    /// Adds rows.
    ///
    /// # Errors
    /// Returns [`CommitError::Unavailable`] when the writer has stopped.
    pub async fn send(&self, queued: QueuedRows) -> Result<(), CommitError> {
        let (class, waiting) = self.waiting.add(&queued.conversation, queued.class);
        let queued = QueuedRows { class, _waiting: Some(waiting), ..queued };
        let queue = match queued.class {
            WorkClass::User => &self.user,
            WorkClass::Background => &self.background,
        };
        queue.send(queued).await.map_err(|_| writer_stopped())
    }

    /// Returns whether the writer has stopped.
    pub fn is_closed(&self) -> bool {
        self.user.is_closed()
    }
}

/// The receiving side.
#[derive(Debug)]
pub(super) struct RowReceiver {
    user: mpsc::Receiver<QueuedRows>,
    background: mpsc::Receiver<QueuedRows>,
    /// The batches of users since the last one of work in the background.
    user_batches: u32,
    meter: Meter,
}

/// Creates a queue.
pub(super) fn row_queue(meter: &Meter) -> (RowSender, RowReceiver) {
    let ((user, of_users), (background, of_background)) = (mpsc::channel(CAPACITY), mpsc::channel(CAPACITY));
    let receiver = RowReceiver { user: of_users, background: of_background, user_batches: 0, meter: meter.clone() };
    (RowSender { user, background, waiting: WaitingConversations::default() }, receiver)
}

impl RowReceiver {
    /// Waits for the next rows and adds them to a batch, with others of their class that wait already. Returns `false` when the queue is closed
    /// and empty. Nothing is lost when the future is dropped.
    pub async fn receive(&mut self, batch: &mut Vec<QueuedRows>) -> bool {
        let first = if self.user_batches < MAX_USER_BATCHES_IN_A_ROW {
            tokio::select! {
                biased;
                Some(it) = self.user.recv() => it,
                Some(it) = self.background.recv() => it,
                else => return false,
            }
        } else {
            tokio::select! {
                biased;
                Some(it) = self.background.recv() => it,
                Some(it) = self.user.recv() => it,
                else => return false,
            }
        };
        let (queue, most) = match first.class {
            WorkClass::User => (&mut self.user, MAX_BATCH),
            WorkClass::Background => (&mut self.background, MAX_BACKGROUND_BATCH),
        };
        self.user_batches = if first.class == WorkClass::User { self.user_batches.saturating_add(1) } else { 0 };
        batch.push(first);
        while batch.len() < most
            && let Ok(next) = queue.try_recv()
        {
            batch.push(next);
        }
        batch.iter().for_each(|queued| self.meter.record_writer_wait(queued.class, queued.since.elapsed()));
        true
    }
}

#[cfg(test)]
mod tests {
    use convengine_host_base::work_class::in_background;

    use super::*;

    async fn send(sender: &RowSender, count: usize) {
        for _ in 0..count {
            let conversation = format!("{:?}", WorkClass::current());
            sender.send(QueuedRows::new(&conversation, TurnRows::default(), &Meter::default()).0).await.expect("the queue is open");
        }
    }

    #[tokio::test]
    async fn rows_of_users_go_first_and_others_are_not_forgotten() {
        let (sender, mut receiver) = row_queue(&Meter::default());
        in_background(send(&sender, 20)).await;
        send(&sender, 40).await;
        let mut batches = Vec::new();
        for _ in 0..2 {
            let mut batch = Vec::new();
            assert!(receiver.receive(&mut batch).await);
            batches.push((batch[0].class, batch.len()));
        }
        assert_eq!(batches, [(WorkClass::User, MAX_BATCH), (WorkClass::User, 8)]);
        // While users keep the writer busy, work in the background gets its turn, in small batches.
        let mut seen = Vec::new();
        for _ in 0..2 * MAX_USER_BATCHES_IN_A_ROW {
            send(&sender, 1).await;
            let mut batch = Vec::new();
            assert!(receiver.receive(&mut batch).await);
            seen.push((batch[0].class, batch.len()));
        }
        let of_background: Vec<_> = seen.iter().filter(|it| it.0 == WorkClass::Background).collect();
        assert!((1..=2).contains(&of_background.len()) && of_background.iter().all(|it| it.1 == MAX_BACKGROUND_BATCH), "{seen:?}");
        drop(sender);
        let mut rest = Vec::new();
        while receiver.receive(&mut rest).await {}
        assert!(rest.iter().any(|it| it.class == WorkClass::Background), "nothing is lost");
    }

    #[tokio::test]
    async fn rows_of_a_conversation_keep_their_order_whatever_their_class() {
        let (sender, mut receiver) = row_queue(&Meter::default());
        let rows = |conversation: &str| QueuedRows::new(conversation, TurnRows::default(), &Meter::default()).0;
        in_background(async { sender.send(rows("a")).await }).await.expect("the queue is open");
        for conversation in ["a", "b"] {
            sender.send(rows(conversation)).await.expect("the queue is open");
        }
        let mut batch = Vec::new();
        while batch.len() < 3 && receiver.receive(&mut batch).await {}
        let order: Vec<&str> = batch.iter().map(|it| it.conversation.as_str()).collect();
        assert_eq!(order, ["b", "a", "a"], "users go first, but not before rows of their own conversation");
        assert_eq!(batch[2].class, WorkClass::Background);
        batch.clear();
        assert!(sender.waiting.lock().is_empty());
        sender.send(rows("a")).await.expect("the queue is open");
        assert!(receiver.receive(&mut batch).await && batch[0].class == WorkClass::User);
    }
}
