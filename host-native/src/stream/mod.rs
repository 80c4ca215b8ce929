//! Live events: who listens to a conversation, and what its turns tell them.
//!
//! A turn hands its events over and goes on at once. Each listener has a queue of its own; one whose queue is full is dropped, and
//! its connection ends after what still waits. Whoever comes back with the id of the last event that it has heard is told the rest:
//! of turns that have ended from their journals, of one that runs from its notices. ([`resume`])
//!
//! Where several processes serve the database, they tell each other what somebody listens to. ([`afar`])

mod afar;
mod assembly;
mod chunk;
mod event;
mod heard;
pub mod live;
mod resume;
mod subscription;
mod tokens;
mod told;

pub use afar::{Sharing, share};
pub use chunk::{Chunk, Event, events};
pub use event::connected;
pub use subscription::Subscription;
pub use tokens::Tokens;
pub use told::{Told, is_blocked};

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use convengine_core::turn::Millis;
use serde_json::Value;
use tokio::sync::{Notify, Semaphore, mpsc, watch};

use crate::drive::Host;
use crate::observe::Meter;
use afar::Afar;
use subscription::Listener;
use told::Said;

/// How many listeners are served by the database at the same time: the other connections are there for turns.
const READING: usize = 2;

/// Everybody who listens.
#[derive(Debug)]
pub struct Streams {
    rooms: Mutex<Rooms>,
    closed: watch::Sender<bool>,
    /// How many connections the server does not wait for by itself.
    guests: watch::Sender<usize>,
    reading: Semaphore,
    /// That another process wants to know what is listened to.
    who: Notify,
    host: OnceLock<Weak<Host>>,
    meter: Meter,
}

#[derive(Debug, Default)]
struct Rooms {
    by_conversation: BTreeMap<String, Room>,
    running: HashMap<String, Running>,
    /// The other processes, where there may be some.
    afar: Option<Afar>,
    next: u64,
}

/// The listeners of a conversation.
#[derive(Debug, Default)]
struct Room {
    listeners: Vec<Listener>,
    /// The newest turn that they were told to its end.
    ended: Option<Arc<str>>,
    /// Whether the database was asked since they came whether there is a newer one.
    checked: bool,
}

/// A turn that has told something and goes on.
#[derive(Debug)]
struct Running {
    turn: Arc<str>,
    said: Said,
    told: usize,
}

/// A connection that the server waits for.
#[derive(Debug)]
pub struct Guest(Arc<Streams>);

impl Drop for Guest {
    fn drop(&mut self) {
        self.0.guests.send_modify(|it| *it -= 1);
    }
}

impl Default for Streams {
    fn default() -> Self {
        Streams::new(Meter::default())
    }
}

impl Streams {
    /// Listeners that are counted.
    pub fn new(meter: Meter) -> Self {
        Streams {
            meter,
            rooms: Mutex::default(),
            closed: watch::Sender::new(false),
            guests: watch::Sender::new(0),
            reading: Semaphore::new(READING),
            who: Notify::new(),
            host: OnceLock::new(),
        }
    }

    /// Lets listeners go on where they were: from what the host has stored.
    pub fn belong_to(&self, host: &Arc<Host>) {
        // A second host is none of theirs.
        let _ = self.host.set(Arc::downgrade(host));
    }

    fn host(&self) -> Option<Arc<Host>> {
        self.host.get()?.upgrade()
    }

    /// Listens to a conversation, which need not exist, from now on.
    pub fn subscribe(self: &Arc<Self>, conversation: &str) -> Subscription {
        let (sender, queue) = mpsc::unbounded_channel();
        let mut rooms = self.rooms();
        let number = rooms.next;
        rooms.next += 1;
        let subscription = Subscription::of(self, conversation, number, queue);
        if !*self.closed.borrow() {
            let room = rooms.by_conversation.entry(conversation.to_owned()).or_default();
            room.listeners.push(Listener::of(&subscription, sender));
        }
        subscription
    }

    fn leave(&self, conversation: &str, number: u64) {
        let mut rooms = self.rooms();
        let Some(room) = rooms.by_conversation.get_mut(conversation) else { return };
        room.listeners.retain(|it| it.number != number);
        if room.listeners.is_empty() {
            rooms.by_conversation.remove(conversation);
        }
    }

    /// Whether anybody listens to a conversation.
    pub fn is_heard(&self, conversation: &str) -> bool {
        self.rooms().is_heard(conversation)
    }

    /// Hands events to everybody who listens to a conversation, here or at other processes; never waits.
    pub fn send(&self, conversation: &str, chunk: Chunk) {
        let chunk = Arc::new(chunk);
        if let Some(afar) = &mut self.rooms().afar {
            afar.send(conversation, &chunk);
        }
        self.deliver(conversation, &chunk);
    }

    /// Hands events to those who listen here.
    fn deliver(&self, conversation: &str, chunk: &Arc<Chunk>) {
        let mut rooms = self.rooms();
        let Some(room) = rooms.by_conversation.get_mut(conversation) else { return };
        let before = room.listeners.len();
        room.listeners.retain(|it| it.takes(chunk));
        self.meter.told(chunk.count(), room.listeners.len());
        self.meter.dropped(before - room.listeners.len());
        if let Some(span) = chunk.span.as_ref().filter(|_| chunk.last) {
            room.ended = Some(Arc::clone(&span.turn));
        }
        if room.listeners.is_empty() {
            rooms.by_conversation.remove(conversation);
        }
    }

    /// Tells everybody who listens to a conversation of an audit that belongs to no turn.
    pub fn tell(&self, conversation: &str, stage: &str, at: Millis, payload: Value) {
        if self.is_heard(conversation) {
            self.send(conversation, Chunk::loose(event::of_no_turn(stage, at, payload)));
        }
    }

    /// Ends the streams of a conversation; others may begin.
    pub fn end(&self, conversation: &str) {
        self.rooms().by_conversation.remove(conversation);
    }

    /// Ends all streams, and those that still come.
    pub fn close(&self) {
        let mut rooms = self.rooms();
        self.closed.send_replace(true);
        rooms.by_conversation.clear();
    }

    /// Waits until all streams end.
    pub async fn closed(&self) {
        // The sender is in there.
        let _ = self.closed.subscribe().wait_for(|it| *it).await;
    }

    /// Lets the server that stops wait for a connection, which is no answer to a request any more.
    pub fn enter(self: &Arc<Self>) -> Guest {
        self.guests.send_modify(|it| *it += 1);
        Guest(Arc::clone(self))
    }

    /// Waits for the connections that have entered.
    pub async fn left(&self) {
        // The sender is in there.
        let _ = self.guests.subscribe().wait_for(|it| *it == 0).await;
    }

    /// Notes how much a turn that goes on has told; answers whether anybody hears it.
    fn runs(&self, conversation: &str, turn: &Arc<str>, said: &Said, told: usize) -> bool {
        let mut rooms = self.rooms();
        match rooms.running.get_mut(conversation).filter(|it| it.turn == *turn) {
            Some(running) => running.told = told,
            None => {
                let running = Running { turn: Arc::clone(turn), said: Arc::clone(said), told };
                rooms.running.insert(conversation.to_owned(), running);
            }
        }
        rooms.is_heard(conversation)
    }

    /// Notes that a turn goes on no more; answers whether anybody hears it.
    fn ran(&self, conversation: &str, turn: &Arc<str>) -> bool {
        let mut rooms = self.rooms();
        if rooms.running.get(conversation).is_some_and(|it| it.turn == *turn) {
            rooms.running.remove(conversation);
        }
        rooms.is_heard(conversation)
    }

    /// What the turn of a conversation that runs here has told so far.
    fn told_so_far(&self, conversation: &str) -> Option<Chunk> {
        let (turn, said, told) = {
            let rooms = self.rooms();
            let running = rooms.running.get(conversation)?;
            (Arc::clone(&running.turn), Arc::clone(&running.said), running.told)
        };
        let said = said.lock().unwrap_or_else(PoisonError::into_inner);
        // One that has ended meanwhile has taken its notices along.
        let wire = event::rendered(&turn, said.get(..told)?, 0);
        Some(Chunk::of(&turn, 0, told, wire))
    }

    fn rooms(&self) -> MutexGuard<'_, Rooms> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rooms {
    fn is_heard(&self, conversation: &str) -> bool {
        self.by_conversation.contains_key(conversation) || self.afar.as_ref().is_some_and(|it| it.wants(conversation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Bytes;
    use std::task::{Context, Poll, Waker};
    use subscription::MOST_WAITING;

    fn next(subscription: &mut Subscription) -> Poll<Option<Bytes>> {
        subscription.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn one_who_falls_behind_is_dropped_and_the_others_are_not() {
        let streams = Arc::new(Streams::default());
        let (mut slow, mut quick) = (streams.subscribe("a"), streams.subscribe("a"));
        let chunk = Chunk::loose("x".repeat(MOST_WAITING));
        for _ in 0..3 {
            streams.send("a", chunk.clone());
            assert_eq!(next(&mut quick), Poll::Ready(Some(chunk.wire.clone())));
        }
        assert_eq!(next(&mut slow), Poll::Ready(Some(chunk.wire.clone())));
        assert_eq!(next(&mut slow), Poll::Ready(Some(chunk.wire.clone())));
        assert_eq!(next(&mut slow), Poll::Ready(None), "the third was too much");
        assert_eq!(next(&mut quick), Poll::Pending);
    }

    #[test]
    fn conversations_hear_their_own_and_leave_nothing_behind() {
        let streams = Arc::new(Streams::default());
        let (mut first, mut second) = (streams.subscribe("a"), streams.subscribe("b"));
        streams.send("a", Chunk::loose("1".to_owned()));
        streams.send("c", Chunk::loose("2".to_owned()));
        assert_eq!(next(&mut first), Poll::Ready(Some(Bytes::from_static(b"1"))));
        assert_eq!(next(&mut second), Poll::Pending);
        drop(first);
        assert!(!streams.is_heard("a") && streams.is_heard("b"));
        streams.close();
        assert_eq!(next(&mut second), Poll::Ready(None));
        assert_eq!(next(&mut streams.subscribe("b")), Poll::Ready(None), "the server stops");
        assert!(streams.rooms().by_conversation.is_empty());
    }

    #[test]
    fn what_was_heard_is_cut_off() {
        let streams = Arc::new(Streams::default());
        let mut listener = streams.subscribe("a");
        let turn: Arc<str> = Arc::from("t");
        let wire = |from: u32, until: u32| (from..until).map(|it| format!("id:t:{it}\n\n")).collect::<String>();
        for (from, until) in [(0, 2), (0, 2), (0, 5), (5, 6)] {
            streams.send("a", Chunk::of(&turn, from, until, wire(from as u32, until as u32)));
        }
        for (from, until) in [(0, 2), (2, 5), (5, 6)] {
            assert_eq!(next(&mut listener), Poll::Ready(Some(Bytes::from(wire(from, until)))));
        }
        assert_eq!(next(&mut listener), Poll::Pending);
    }
}
