//! Rows of conversations whose database rows another transaction has locked, or whose writing takes long. They wait aside, so that the others
//! go on.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::queue::QueuedRows;

/// How often the rows of a parked conversation are tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// How long they wait.
pub(super) const PARK_TIMEOUT: Duration = Duration::from_secs(30);

/// The parked conversations with their rows, in order.
#[derive(Debug, Default)]
pub(super) struct Parked(BTreeMap<String, ParkedConversation>);

#[derive(Debug)]
struct ParkedConversation {
    rows: VecDeque<QueuedRows>,
    since: Instant,
    /// `None` while the rows before them are written by another task.
    next_attempt: Option<Instant>,
}

impl Parked {
    /// Whether rows of a conversation wait, so that later ones have to wait as well.
    pub fn contains(&self, conversation: &str) -> bool {
        self.0.contains_key(conversation)
    }

    /// Parks rows behind those of their conversation.
    pub fn push(&mut self, queued: QueuedRows) {
        self.entry(&queued.conversation).rows.push_back(queued);
    }

    /// Has the rows of a conversation wait until [`Parked::advance`] or [`Parked::put_back`], because another task writes the ones before them.
    pub fn hold(&mut self, conversation: &str) {
        self.entry(conversation).next_attempt = None;
    }

    fn entry(&mut self, conversation: &str) -> &mut ParkedConversation {
        let now = Instant::now();
        let new = || ParkedConversation { rows: VecDeque::new(), since: now, next_attempt: Some(now + RETRY_INTERVAL) };
        self.0.entry(conversation.to_owned()).or_insert_with(new)
    }

    /// When the next conversation is to be tried again; `None` when none is.
    pub fn next_attempt(&self) -> Option<Instant> {
        self.0.values().filter_map(|it| it.next_attempt).min()
    }

    /// Takes the first rows of a conversation that is to be tried again now.
    pub fn take_due(&mut self) -> Option<QueuedRows> {
        let now = Instant::now();
        let due = self.0.values_mut().filter(|parked| parked.next_attempt.is_some_and(|at| at <= now)).min_by_key(|it| it.next_attempt)?;
        due.rows.pop_front()
    }

    /// Goes on with the next rows of a conversation whose first ones are answered.
    pub fn advance(&mut self, conversation: &str) {
        let Some(parked) = self.0.get_mut(conversation) else { return };
        let now = Instant::now();
        parked.since = now;
        parked.next_attempt = parked.next_attempt.or(Some(now));
        if parked.rows.is_empty() {
            self.0.remove(conversation);
        }
    }

    /// Puts back rows that cannot be written yet. Returns them when they have waited too long.
    pub fn put_back(&mut self, queued: QueuedRows) -> Option<QueuedRows> {
        let Some(parked) = self.0.get_mut(&queued.conversation) else { return Some(queued) };
        let now = Instant::now();
        if now.duration_since(parked.since) > PARK_TIMEOUT {
            return Some(queued);
        }
        parked.next_attempt = Some(now + RETRY_INTERVAL);
        parked.rows.push_front(queued);
        None
    }
}
