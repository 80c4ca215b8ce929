//! Rows of conversations whose database rows another transaction has locked. They wait aside, so that the others go on.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::QueuedRows;

/// How often the rows of a locked conversation are tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// How long they wait for the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// The locked conversations with their rows, in order.
#[derive(Debug, Default)]
pub(super) struct Parked(BTreeMap<String, LockedConversation>);

#[derive(Debug)]
struct LockedConversation {
    rows: VecDeque<QueuedRows>,
    since: Instant,
    next_attempt: Instant,
}

impl Parked {
    /// Whether rows of a conversation wait, so that later ones have to wait as well.
    pub fn contains(&self, conversation: &str) -> bool {
        self.0.contains_key(conversation)
    }

    /// Parks rows behind those of their conversation.
    pub fn push(&mut self, queued: QueuedRows) {
        let now = Instant::now();
        let new = || LockedConversation { rows: VecDeque::new(), since: now, next_attempt: now + RETRY_INTERVAL };
        self.0.entry(queued.conversation.clone()).or_insert_with(new).rows.push_back(queued);
    }

    /// When the next conversation is to be tried again; `None` when none is locked.
    pub fn next_attempt(&self) -> Option<Instant> {
        self.0.values().map(|it| it.next_attempt).min()
    }

    /// Takes the first rows of a conversation that is to be tried again now.
    pub fn take_due(&mut self) -> Option<QueuedRows> {
        let now = Instant::now();
        let locked = self.0.values_mut().filter(|it| it.next_attempt <= now).min_by_key(|it| it.next_attempt)?;
        locked.rows.pop_front()
    }

    /// Goes on with the next rows of a conversation whose first ones are answered.
    pub fn advance(&mut self, conversation: &str) {
        let Some(locked) = self.0.get_mut(conversation) else { return };
        locked.since = Instant::now();
        if locked.rows.is_empty() {
            self.0.remove(conversation);
        }
    }

    /// Puts back rows that are still locked. Returns them when they have waited too long.
    pub fn put_back(&mut self, queued: QueuedRows) -> Option<QueuedRows> {
        let Some(locked) = self.0.get_mut(&queued.conversation) else { return Some(queued) };
        let now = Instant::now();
        if now.duration_since(locked.since) > LOCK_TIMEOUT {
            return Some(queued);
        }
        locked.next_attempt = now + RETRY_INTERVAL;
        locked.rows.push_front(queued);
        None
    }
}
