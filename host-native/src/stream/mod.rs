//! Live events: subscribers of conversations and the events that turns publish to them.
//!
//! Publishing never blocks a turn. Each subscriber has its own queue; one whose queue is full is disconnected once the queue is sent.
//! Clients that reconnect with the id of the last event receive the rest: ended turns are replayed from their journals, a running turn
//! from its notices ([`resume`]).
//!
//! Processes that share a database exchange subscriptions and events ([`afar`]).

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

/// Maximum number of concurrent database reads for subscribers, so that connections remain for turns.
const READING: usize = 2;

/// All subscribers of a host.
#[derive(Debug)]
pub struct Streams {
    rooms: Mutex<Rooms>,
    closed: watch::Sender<bool>,
    /// Number of connections that the HTTP server does not wait for itself.
    guests: watch::Sender<usize>,
    reading: Semaphore,
    /// Notified when another process requests the subscriptions of this one.
    who: Notify,
    host: OnceLock<Weak<Host>>,
    meter: Meter,
}

#[derive(Debug, Default)]
struct Rooms {
    by_conversation: BTreeMap<String, Room>,
    running: HashMap<String, Running>,
    /// The connection to other processes, if the database is shared.
    afar: Option<Afar>,
    next: u64,
}

/// The subscribers of a conversation.
#[derive(Debug, Default)]
struct Room {
    listeners: Vec<Listener>,
    /// The latest turn that was published to its end.
    ended: Option<Arc<str>>,
    /// Whether the database was checked for a newer turn since the first subscriber joined.
    checked: bool,
}

/// A running turn that has published events.
#[derive(Debug)]
struct Running {
    turn: Arc<str>,
    said: Said,
    told: usize,
}

/// A connection that a stopping server waits for.
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
    /// Creates streams without subscribers.
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

    /// Attaches the host whose stored turns are replayed to resuming subscribers.
    pub fn belong_to(&self, host: &Arc<Host>) {
        // A second host is ignored.
        let _ = self.host.set(Arc::downgrade(host));
    }

    fn host(&self) -> Option<Arc<Host>> {
        self.host.get()?.upgrade()
    }

    /// Subscribes to new events of a conversation, which need not exist.
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

    /// Whether a conversation has subscribers.
    pub fn is_heard(&self, conversation: &str) -> bool {
        self.rooms().is_heard(conversation)
    }

    /// Publishes events to all subscribers of a conversation, including those of other processes. Never blocks.
    pub fn send(&self, conversation: &str, chunk: Chunk) {
        let chunk = Arc::new(chunk);
        if let Some(bus) = &mut self.rooms().afar {
            bus.send(conversation, &chunk);
        }
        self.deliver(conversation, &chunk);
    }

    /// Delivers events to the subscribers of this process.
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

    /// Publishes an audit event that belongs to no turn.
    pub fn tell(&self, conversation: &str, stage: &str, at: Millis, payload: Value) {
        if self.is_heard(conversation) {
            self.send(conversation, Chunk::loose(event::of_no_turn(stage, at, payload)));
        }
    }

    /// Closes the streams of a conversation; new ones may be opened.
    pub fn end(&self, conversation: &str) {
        self.rooms().by_conversation.remove(conversation);
    }

    /// Closes all current and future streams.
    pub fn close(&self) {
        let mut rooms = self.rooms();
        self.closed.send_replace(true);
        rooms.by_conversation.clear();
    }

    /// Waits until streams are closed.
    pub async fn closed(&self) {
        // Cannot fail: `self` owns the sender.
        let _ = self.closed.subscribe().wait_for(|it| *it).await;
    }

    /// Registers an upgraded connection that a stopping server must wait for.
    pub fn enter(self: &Arc<Self>) -> Guest {
        self.guests.send_modify(|it| *it += 1);
        Guest(Arc::clone(self))
    }

    /// Waits until all registered connections have ended.
    pub async fn left(&self) {
        // Cannot fail: `self` owns the sender.
        let _ = self.guests.subscribe().wait_for(|it| *it == 0).await;
    }

    /// Records how many notices a running turn has published. Returns whether the conversation has subscribers.
    fn runs(&self, conversation: &str, turn: &Arc<str>, notices: &Said, published: usize) -> bool {
        let mut rooms = self.rooms();
        match rooms.running.get_mut(conversation).filter(|it| it.turn == *turn) {
            Some(running) => running.told = published,
            None => {
                let running = Running { turn: Arc::clone(turn), said: Arc::clone(notices), told: published };
                rooms.running.insert(conversation.to_owned(), running);
            }
        }
        rooms.is_heard(conversation)
    }

    /// Removes a running turn. Returns whether the conversation has subscribers.
    fn ran(&self, conversation: &str, turn: &Arc<str>) -> bool {
        let mut rooms = self.rooms();
        if rooms.running.get(conversation).is_some_and(|it| it.turn == *turn) {
            rooms.running.remove(conversation);
        }
        rooms.is_heard(conversation)
    }

    /// The events published so far by the turn of a conversation that runs in this process.
    fn told_so_far(&self, conversation: &str) -> Option<Chunk> {
        let (turn, notices, published) = {
            let rooms = self.rooms();
            let running = rooms.running.get(conversation)?;
            (Arc::clone(&running.turn), Arc::clone(&running.said), running.told)
        };
        let notices = notices.lock().unwrap_or_else(PoisonError::into_inner);
        // Absent if the turn has ended and taken its notices.
        let wire = event::rendered(&turn, notices.get(..published)?, 0);
        Some(Chunk::of(&turn, 0, published, wire))
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
        assert_eq!(next(&mut slow), Poll::Ready(None), "the third exceeds the backlog");
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
        assert_eq!(next(&mut streams.subscribe("b")), Poll::Ready(None), "the server is stopping");
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
