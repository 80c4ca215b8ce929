//! Serializes the turns of each conversation in order of arrival, and limits concurrent turns.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

use crate::observe::meter::Counted;
use crate::observe::{Meter, names};

/// How long a turn waits for its predecessors.
pub const PATIENCE: Duration = Duration::from_secs(30);
const WAITING_PER_CONVERSATION: usize = 8;
const TURNS: u32 = 1024;

/// Too many turns are waiting, or this one waited too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("conversation is busy; retry later")]
pub struct Busy;

/// Admits turns, one at a time per conversation.
#[derive(Debug)]
pub struct Gate {
    conversations: Mutex<HashMap<String, Entry>>,
    turns: Arc<Semaphore>,
    meter: Meter,
}

#[derive(Debug, Default)]
struct Entry {
    turn: Arc<tokio::sync::Mutex<()>>,
    /// The number of running and waiting turns; the entry is removed at zero.
    users: usize,
}

/// The permit to run a turn of a conversation, released on drop.
#[derive(Debug)]
pub struct Pass {
    // Fields are dropped in this order: the next turn may start before the entry is cleaned up.
    _turn: OwnedMutexGuard<()>,
    _ticket: Ticket,
    _permit: OwnedSemaphorePermit,
    _running: Counted,
}

#[derive(Debug)]
struct Ticket {
    gate: Arc<Gate>,
    conversation: String,
}

impl Default for Gate {
    fn default() -> Self {
        Gate::new(Meter::default())
    }
}

impl Gate {
    /// Creates a gate that meters running and waiting turns.
    pub fn new(meter: Meter) -> Gate {
        Gate { conversations: Mutex::default(), turns: Arc::new(Semaphore::new(TURNS as usize)), meter }
    }

    /// Waits until the conversation is free.
    ///
    /// # Errors
    /// Returns [`Busy`] after 30 seconds, or immediately when too many turns wait.
    pub async fn enter(self: &Arc<Self>, conversation: &str) -> Result<Pass, Busy> {
        let permit = Arc::clone(&self.turns).try_acquire_owned().map_err(|_| Busy)?;
        let (ticket, turn) = self.queue(conversation)?;
        let waiting = self.meter.counted(names::TURNS_WAITING);
        let turn = tokio::time::timeout(PATIENCE, turn.lock_owned()).await.map_err(|_| Busy)?;
        drop(waiting);
        Ok(Pass { _turn: turn, _ticket: ticket, _permit: permit, _running: self.meter.counted(names::TURNS_RUNNING) })
    }

    /// Waits until no turn runs, rejecting new ones.
    pub async fn drain(&self) {
        // The semaphore is never closed, so this cannot fail.
        let _ = self.turns.acquire_many(TURNS).await;
    }

    fn queue(self: &Arc<Self>, conversation: &str) -> Result<(Ticket, Arc<tokio::sync::Mutex<()>>), Busy> {
        let mut conversations = self.conversations();
        let entry = conversations.entry(conversation.to_owned()).or_default();
        if entry.users > WAITING_PER_CONVERSATION {
            return Err(Busy);
        }
        entry.users += 1;
        Ok((Ticket { gate: Arc::clone(self), conversation: conversation.to_owned() }, Arc::clone(&entry.turn)))
    }

    fn conversations(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut conversations = self.gate.conversations();
        let Some(entry) = conversations.get_mut(&self.conversation) else { return };
        entry.users -= 1;
        if entry.users == 0 {
            conversations.remove(&self.conversation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn idle_conversations_leave_nothing_behind() {
        let gate = Arc::new(Gate::default());
        let first = gate.enter("a").await.expect("free");
        let other = gate.enter("b").await.expect("another conversation does not wait");
        assert_eq!(gate.conversations().len(), 2);
        drop((first, other));
        assert!(gate.conversations().is_empty());
        gate.drain().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_waits_in_line_and_not_for_ever() {
        let gate = Arc::new(Gate::default());
        let first = gate.enter("a").await.expect("free");
        assert_eq!(gate.enter("a").await.err(), Some(Busy));
        let waiting: Vec<_> = (0..9)
            .map(|_| {
                let gate = Arc::clone(&gate);
                tokio::spawn(async move { gate.enter("a").await.map(|_| ()) })
            })
            .collect();
        tokio::task::yield_now().await;
        drop(first);
        let mut answers = Vec::new();
        for turn in waiting {
            answers.push(turn.await.expect("no panic"));
        }
        assert_eq!(answers.iter().filter(|it| it.is_ok()).count(), 8);
        assert!(gate.conversations().is_empty());
    }
}
