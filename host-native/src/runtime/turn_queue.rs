//! Serializes the turns of each conversation in order of arrival, and limits concurrent turns.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::ops::observe::meter::GaugeGuard;
use crate::ops::observe::{Meter, names};

/// How much longer than a turn may last another one waits for it: the time to store its rows, or to recover it.
const EXTRA_WAIT: Duration = Duration::from_secs(30);
const MAX_WAITING_PER_CONVERSATION: usize = 8;
const MAX_TURNS: usize = 1024;

/// Too many turns are waiting, or this one waited too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("conversation is busy; retry later")]
pub struct Busy;

/// Admits turns, one at a time per conversation.
#[derive(Debug)]
pub struct TurnQueue {
    conversations: Mutex<HashMap<String, ConversationQueue>>,
    turns: Arc<Semaphore>,
    /// Whether the server stops, and new turns are refused.
    is_draining: AtomicBool,
    /// Notified when the last turn has ended.
    idle: Notify,
    /// How long a turn waits for the one before it.
    wait: Duration,
    meter: Meter,
}

#[derive(Debug, Default)]
struct ConversationQueue {
    lock: Arc<tokio::sync::Mutex<()>>,
    /// The number of running and waiting turns; the entry is removed at zero.
    turn_count: usize,
}

/// The permit to run a turn of a conversation, released on drop.
#[derive(Debug)]
pub struct TurnPermit {
    // Fields are dropped in this order: the next turn may start before the entry is cleaned up.
    _turn: OwnedMutexGuard<()>,
    _ticket: QueueTicket,
    _permit: OwnedSemaphorePermit,
    _running: GaugeGuard,
}

#[derive(Debug)]
struct QueueTicket {
    queue: Arc<TurnQueue>,
    conversation: String,
}

impl Default for TurnQueue {
    fn default() -> Self {
        TurnQueue::new(Duration::ZERO, Meter::default())
    }
}

impl TurnQueue {
    /// Creates a gate for turns that last at most `max_duration`. It meters running and waiting turns.
    pub fn new(max_duration: Duration, meter: Meter) -> TurnQueue {
        let wait = max_duration.saturating_add(EXTRA_WAIT);
        let turns = Arc::new(Semaphore::new(MAX_TURNS));
        TurnQueue { conversations: Mutex::default(), turns, is_draining: AtomicBool::new(false), idle: Notify::new(), wait, meter }
    }

    /// How long a turn waits for the one before it: as long as that one may last, and 30 s more.
    pub fn wait(&self) -> Duration {
        self.wait
    }

    /// Waits until the conversation is free.
    ///
    /// # Errors
    /// Returns [`Busy`] when the turns before it take longer than they may, or immediately when too many turns wait.
    pub async fn acquire(self: &Arc<Self>, conversation: &str) -> Result<TurnPermit, Busy> {
        let (ticket, turn, turns_ahead) = self.enqueue(conversation)?;
        let waiting = self.meter.track(names::TURNS_WAITING);
        let running = Arc::clone(&self.turns);
        let (turn, permit) = if turns_ahead == 0 {
            (turn.lock_owned().await, running.try_acquire_owned().map_err(|_| Busy)?)
        } else {
            // A message that waits holds no permit, which others can use.
            let turn_then_permit = async { (turn.lock_owned().await, running.acquire_owned().await) };
            let (turn, permit) = timeout(self.wait.saturating_mul(turns_ahead), turn_then_permit).await.map_err(|_| Busy)?;
            (turn, permit.map_err(|_| Busy)?)
        };
        drop(waiting);
        Ok(TurnPermit { _turn: turn, _ticket: ticket, _permit: permit, _running: self.meter.track(names::TURNS_RUNNING) })
    }

    /// Waits until no turn runs or waits, rejecting new ones.
    pub async fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
        let idle = self.idle.notified();
        if !self.lock_conversations().is_empty() {
            idle.await;
        }
    }

    /// Returns the ticket, the lock, and how many turns have it before.
    fn enqueue(self: &Arc<Self>, conversation: &str) -> Result<(QueueTicket, Arc<tokio::sync::Mutex<()>>, u32), Busy> {
        let mut conversations = self.lock_conversations();
        if self.is_draining.load(Ordering::Relaxed) {
            return Err(Busy);
        }
        let entry = conversations.entry(conversation.to_owned()).or_default();
        if entry.turn_count > MAX_WAITING_PER_CONVERSATION {
            return Err(Busy);
        }
        let turns_ahead = u32::try_from(entry.turn_count).unwrap_or(u32::MAX);
        entry.turn_count += 1;
        Ok((QueueTicket { queue: Arc::clone(self), conversation: conversation.to_owned() }, Arc::clone(&entry.lock), turns_ahead))
    }

    fn lock_conversations(&self) -> MutexGuard<'_, HashMap<String, ConversationQueue>> {
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for QueueTicket {
    fn drop(&mut self) {
        let mut conversations = self.queue.lock_conversations();
        let Some(entry) = conversations.get_mut(&self.conversation) else { return };
        entry.turn_count -= 1;
        if entry.turn_count == 0 {
            conversations.remove(&self.conversation);
        }
        if conversations.is_empty() {
            self.queue.idle.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn idle_conversations_are_removed() {
        let gate = Arc::new(TurnQueue::default());
        let first = gate.acquire("a").await.expect("free");
        let other = gate.acquire("b").await.expect("another conversation does not wait");
        assert_eq!(gate.lock_conversations().len(), 2);
        drop((first, other));
        assert!(gate.lock_conversations().is_empty());
        gate.drain().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_waits_as_long_as_those_before_it_may_last() {
        let gate = Arc::new(TurnQueue::new(Duration::from_secs(120), Meter::default()));
        let first = gate.acquire("a").await.expect("free");
        let acquire = || {
            let gate = Arc::clone(&gate);
            async move { (gate.acquire("a").await.is_ok(), tokio::time::Instant::now()) }
        };
        let start = tokio::time::Instant::now();
        let (second, third) = (tokio::spawn(acquire()), tokio::spawn(acquire()));
        tokio::time::sleep(Duration::from_secs(140)).await;
        drop(first);
        assert!(second.await.expect("no panic").0, "a turn of 120 s is waited for");
        assert!(third.await.expect("no panic").0);
        let _first = gate.acquire("a").await.expect("free");
        let (is_admitted, at) = acquire().await;
        assert_eq!((is_admitted, (at - start).as_secs()), (false, 140 + 150));
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_that_waits_holds_no_permit() {
        let gate = Arc::new(TurnQueue::new(Duration::from_secs(120), Meter::default()));
        let mut running = Vec::new();
        for it in 0..MAX_TURNS - 1 {
            running.push(gate.acquire(&it.to_string()).await.expect("free"));
        }
        let waiting = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { gate.acquire("0").await.map(|_| ()) }
        });
        tokio::task::yield_now().await;
        running.push(gate.acquire("last").await.expect("one permit is free"));
        assert_eq!(gate.acquire("more").await.err(), Some(Busy));
        drop(running.swap_remove(0));
        assert_eq!(waiting.await.expect("no panic"), Ok(()));
    }

    #[tokio::test]
    async fn a_message_that_waits_is_served_before_the_server_stops_and_a_new_one_is_not() {
        let gate = Arc::new(TurnQueue::new(Duration::from_secs(120), Meter::default()));
        let running = gate.acquire("a").await.expect("free");
        let waiting = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { gate.acquire("a").await.map(|_| ()) }
        });
        tokio::task::yield_now().await;
        let drained = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { gate.drain().await }
        });
        tokio::task::yield_now().await;
        assert!(!drained.is_finished());
        assert_eq!(gate.acquire("b").await.err(), Some(Busy));
        drop(running);
        assert_eq!(waiting.await.expect("no panic"), Ok(()));
        drained.await.expect("no panic");
    }

    #[tokio::test(start_paused = true)]
    async fn turns_wait_in_order_up_to_a_limit() {
        let gate = Arc::new(TurnQueue::default());
        let first = gate.acquire("a").await.expect("free");
        assert_eq!(gate.acquire("a").await.err(), Some(Busy));
        let waiting: Vec<_> = (0..9)
            .map(|_| {
                let gate = Arc::clone(&gate);
                tokio::spawn(async move { gate.acquire("a").await.map(|_| ()) })
            })
            .collect();
        tokio::task::yield_now().await;
        drop(first);
        let mut answers = Vec::new();
        for turn in waiting {
            answers.push(turn.await.expect("no panic"));
        }
        assert_eq!(answers.iter().filter(|it| it.is_ok()).count(), 8);
        assert!(gate.lock_conversations().is_empty());
    }
}
