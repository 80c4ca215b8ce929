//! Serializes the turns of each conversation in order of arrival, and limits concurrent turns: those of users, and fewer in the background.
//!
//! A turn holds a permit of its class only. One in the background waits for its permit before it queues for its conversation, so that a
//! message never waits behind a turn that waits for other background work.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use convengine_host_base::processor_share;
use convengine_host_base::work_class::WorkClass;
use tokio::sync::{Notify, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use convengine_host_base::meter::GaugeGuard;
use convengine_host_base::meter::Meter;
use convengine_host_base::metric_names as names;
use convengine_settings::DEFAULT_BACKGROUND_TURNS;

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
    /// Permits of users' turns.
    turns: Arc<Semaphore>,
    /// Permits of turns in the background.
    background_turns: Arc<Semaphore>,
    /// The number of all permits of turns in the background.
    max_background: usize,
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
    /// Those of users, which are limited.
    user_turn_count: usize,
    /// Notified when a user's turn arrives.
    user_arrived: Arc<Notify>,
}

/// The permit to run a turn of a conversation, released on drop.
#[derive(Debug)]
pub struct TurnPermit {
    // Fields are dropped in this order: the next turn may start before the entry is cleaned up.
    /// Absent for a turn that another process runs, in its own order.
    _turn: Option<OwnedMutexGuard<()>>,
    _ticket: QueueTicket,
    _permit: OwnedSemaphorePermit,
    _running: GaugeGuard,
}

#[derive(Debug)]
struct QueueTicket {
    queue: Arc<TurnQueue>,
    conversation: String,
    class: WorkClass,
}

/// The place of a turn in the queue of its conversation.
struct Place {
    ticket: QueueTicket,
    turn: Arc<tokio::sync::Mutex<()>>,
    /// How many turns have it before.
    turns_ahead: u32,
}

impl Default for TurnQueue {
    fn default() -> Self {
        TurnQueue::new(Duration::ZERO, DEFAULT_BACKGROUND_TURNS, Meter::default())
    }
}

impl TurnQueue {
    /// Creates a gate for turns that last at most `max_duration`, of which at most `max_background` run in the background. It meters running
    /// and waiting turns.
    pub fn new(max_duration: Duration, max_background: usize, meter: Meter) -> TurnQueue {
        TurnQueue {
            conversations: Mutex::default(),
            turns: Arc::new(Semaphore::new(MAX_TURNS)),
            background_turns: Arc::new(Semaphore::new(max_background)),
            max_background,
            is_draining: AtomicBool::new(false),
            idle: Notify::new(),
            wait: max_duration.saturating_add(EXTRA_WAIT),
            meter,
        }
    }

    /// How long a turn waits for the one before it: as long as that one may last, and 30 s more.
    pub fn wait(&self) -> Duration {
        self.wait
    }

    /// How many turns run in the background at most.
    pub fn max_background(&self) -> usize {
        self.max_background
    }

    /// How many turns in the background could begin at once.
    pub fn free_background(&self) -> usize {
        self.background_turns.available_permits()
    }

    /// Waits until the conversation is free for a turn of the current class.
    ///
    /// # Errors
    /// Returns [`Busy`] when the turns before it take longer than they may, or immediately when too many turns wait.
    pub async fn acquire(self: &Arc<Self>, conversation: &str) -> Result<TurnPermit, Busy> {
        let (class, since) = (WorkClass::current(), Instant::now());
        let waiting = self.meter.track(waiting_gauge(class));
        let acquired = match class {
            WorkClass::User => self.acquire_for_user(conversation).await,
            WorkClass::Background => self.acquire_in_background(conversation).await,
        };
        drop(waiting);
        self.meter.record_turn_wait(class, since.elapsed());
        acquired
    }

    async fn acquire_for_user(self: &Arc<Self>, conversation: &str) -> Result<TurnPermit, Busy> {
        let Place { ticket, turn, turns_ahead } = self.enqueue(conversation, WorkClass::User)?;
        let running = Arc::clone(&self.turns);
        if turns_ahead == 0 {
            let turn = turn.lock_owned().await;
            return Ok(ticket.into_permit(Some(turn), running.try_acquire_owned().map_err(|_| Busy)?));
        }
        // A message that waits holds no permit, which others can use.
        let turn_then_permit = async { (turn.lock_owned().await, running.acquire_owned().await) };
        let (turn, permit) = timeout(self.wait.saturating_mul(turns_ahead), turn_then_permit).await.map_err(|_| Busy)?;
        Ok(ticket.into_permit(Some(turn), permit.map_err(|_| Busy)?))
    }

    async fn acquire_in_background(self: &Arc<Self>, conversation: &str) -> Result<TurnPermit, Busy> {
        let permit = Arc::clone(&self.background_turns).acquire_owned().await.map_err(|_| Busy)?;
        let Place { ticket, turn, turns_ahead } = self.enqueue(conversation, WorkClass::Background)?;
        let turn = timeout(self.wait.saturating_mul(turns_ahead.max(1)), turn.lock_owned()).await.map_err(|_| Busy)?;
        Ok(ticket.into_permit(Some(turn), permit))
    }

    /// Admits a turn of the current class that another process runs, which has the order of the turns. The limits are the same.
    ///
    /// # Errors
    /// Returns [`Busy`] when too many turns run or wait.
    pub async fn admit(self: &Arc<Self>, conversation: &str) -> Result<TurnPermit, Busy> {
        let class = WorkClass::current();
        match class {
            WorkClass::User => {
                let ticket = self.enqueue(conversation, class)?.ticket;
                Ok(ticket.into_permit(None, Arc::clone(&self.turns).try_acquire_owned().map_err(|_| Busy)?))
            }
            WorkClass::Background => {
                let permit = Arc::clone(&self.background_turns).acquire_owned().await.map_err(|_| Busy)?;
                Ok(self.enqueue(conversation, class)?.ticket.into_permit(None, permit))
            }
        }
    }

    /// Waits until a user's turn waits in a conversation, whose queue the caller is in.
    pub async fn wait_for_user(&self, conversation: &str) {
        let arrived = {
            let conversations = self.lock_conversations();
            let Some(entry) = conversations.get(conversation) else { return };
            if entry.user_turn_count > 0 {
                return;
            }
            Arc::clone(&entry.user_arrived).notified_owned()
        };
        arrived.await;
    }

    /// Waits until no turn runs or waits, rejecting new ones.
    pub async fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
        let idle = self.idle.notified();
        if !self.lock_conversations().is_empty() {
            idle.await;
        }
    }

    /// Adds a turn to the queue of its conversation.
    fn enqueue(self: &Arc<Self>, conversation: &str, class: WorkClass) -> Result<Place, Busy> {
        let mut conversations = self.lock_conversations();
        if self.is_draining.load(Ordering::Relaxed) {
            return Err(Busy);
        }
        let entry = conversations.entry(conversation.to_owned()).or_default();
        if class == WorkClass::User && entry.user_turn_count > MAX_WAITING_PER_CONVERSATION {
            return Err(Busy);
        }
        let turns_ahead = u32::try_from(entry.turn_count).unwrap_or(u32::MAX);
        entry.turn_count += 1;
        if class == WorkClass::User {
            entry.user_turn_count += 1;
            entry.user_arrived.notify_waiters();
        }
        let ticket = QueueTicket { queue: Arc::clone(self), conversation: conversation.to_owned(), class };
        Ok(Place { ticket, turn: Arc::clone(&entry.lock), turns_ahead })
    }

    fn lock_conversations(&self) -> MutexGuard<'_, HashMap<String, ConversationQueue>> {
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn waiting_gauge(class: WorkClass) -> &'static str {
    match class {
        WorkClass::User => names::TURNS_WAITING,
        WorkClass::Background => names::BACKGROUND_TURNS_WAITING,
    }
}

fn running_gauge(class: WorkClass) -> &'static str {
    match class {
        WorkClass::User => names::TURNS_RUNNING,
        WorkClass::Background => names::BACKGROUND_TURNS_RUNNING,
    }
}

impl QueueTicket {
    fn into_permit(self, turn: Option<OwnedMutexGuard<()>>, permit: OwnedSemaphorePermit) -> TurnPermit {
        if self.class == WorkClass::User {
            processor_share::note_user();
        }
        let running = self.queue.meter.track(running_gauge(self.class));
        TurnPermit { _turn: turn, _ticket: self, _permit: permit, _running: running }
    }
}

impl Drop for QueueTicket {
    fn drop(&mut self) {
        if self.class == WorkClass::User {
            processor_share::note_user();
        }
        let mut conversations = self.queue.lock_conversations();
        let Some(entry) = conversations.get_mut(&self.conversation) else { return };
        entry.turn_count -= 1;
        entry.user_turn_count -= usize::from(self.class == WorkClass::User);
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
    use convengine_host_base::work_class::in_background;
    use futures_util::FutureExt;

    use super::*;

    fn queue(max_background: usize) -> TurnQueue {
        TurnQueue::new(Duration::from_secs(120), max_background, Meter::default())
    }

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
        let gate = Arc::new(queue(DEFAULT_BACKGROUND_TURNS));
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
        let gate = Arc::new(queue(DEFAULT_BACKGROUND_TURNS));
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
        let gate = Arc::new(queue(DEFAULT_BACKGROUND_TURNS));
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
    #[tokio::test(start_paused = true)]
    async fn any_number_of_turns_in_the_background_leaves_those_of_users_alone() {
        let gate = Arc::new(queue(2));
        let held = [in_background(gate.acquire("timer")).await.expect("free"), in_background(gate.acquire("step")).await.expect("free")];
        let waiting: Vec<_> = (0..5_000)
            .map(|number| {
                let gate = Arc::clone(&gate);
                tokio::spawn(in_background(async move { gate.acquire(&format!("s{number}")).await.map(drop) }))
            })
            .collect();
        tokio::task::yield_now().await;
        assert_eq!(gate.lock_conversations().len(), 2, "what waits for a permit has no place in a conversation");
        // A message of a session whose timer waits does not wait for it, and neither does any other.
        let mut users = Vec::new();
        for it in 0..MAX_TURNS {
            users.push(gate.acquire(&format!("s{it}")).await.expect("all permits of users are free"));
        }
        let message = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { gate.acquire("timer").await.map(drop) }
        });
        tokio::task::yield_now().await;
        assert!(!message.is_finished(), "the timer of its own session runs");
        drop((users, held));
        assert_eq!(message.await.expect("no panic"), Ok(()));
        for turn in waiting {
            assert_eq!(turn.await.expect("no panic"), Ok(()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_timer_takes_no_place_of_a_message() {
        let gate = Arc::new(queue(1));
        let mut turns = vec![gate.acquire("a").await.expect("free")];
        let spawn = |class: WorkClass| {
            let gate = Arc::clone(&gate);
            let acquire = async move { gate.acquire("a").await.map(drop) };
            match class {
                WorkClass::User => tokio::spawn(acquire),
                WorkClass::Background => tokio::spawn(in_background(acquire)),
            }
        };
        let timer = spawn(WorkClass::Background);
        tokio::task::yield_now().await;
        let messages: Vec<_> = (0..MAX_WAITING_PER_CONVERSATION).map(|_| spawn(WorkClass::User)).collect();
        tokio::task::yield_now().await;
        assert_eq!(gate.acquire("a").await.err(), Some(Busy));
        turns.clear();
        assert_eq!(timer.await.expect("no panic"), Ok(()));
        for message in messages {
            assert_eq!(message.await.expect("no panic"), Ok(()));
        }
    }

    #[tokio::test]
    async fn a_turn_in_the_background_learns_that_a_user_waits_for_it() {
        let gate = Arc::new(queue(1));
        let _timer = in_background(gate.acquire("a")).await.expect("free");
        let mut waiting = Box::pin(gate.wait_for_user("a"));
        assert!(waiting.as_mut().now_or_never().is_none());
        let message = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { gate.acquire("a").await.map(drop) }
        });
        tokio::task::yield_now().await;
        waiting.now_or_never().expect("the message has arrived");
        gate.wait_for_user("a").now_or_never().expect("it still waits");
        message.abort();
    }

    #[tokio::test]
    async fn turns_of_another_process_have_the_same_limits() {
        let gate = Arc::new(queue(1));
        let mut admitted = Vec::new();
        for _ in 0..=MAX_WAITING_PER_CONVERSATION {
            admitted.push(gate.admit("a").await.expect("they have their order elsewhere"));
        }
        assert_eq!(gate.admit("a").await.err(), Some(Busy));
        let _other = gate.admit("b").await.expect("another conversation");
        let _timer = in_background(gate.admit("a")).await.expect("a permit");
        admitted.clear();
        gate.admit("a").await.expect("they have ended");
        for it in 0..MAX_TURNS - 1 {
            admitted.push(gate.admit(&it.to_string()).await.expect("free"));
        }
        assert_eq!(gate.admit("more").await.err(), Some(Busy));
    }
}
