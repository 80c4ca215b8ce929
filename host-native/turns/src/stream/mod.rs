//! Live events: subscribers of conversations and the events that turns publish to them.
//!
//! Publishing never blocks a turn. Each subscriber has its own queue; one whose queue is full is disconnected once the queue is sent.
//! Clients that reconnect with the id of the last event receive the rest: ended turns are replayed from their journals, a running turn
//! from its notices (`replay`).
//!
//! Processes that share a database exchange subscriptions and events (`cluster`). A turn that another process runs than its caller's
//! sends its events to that one (`relay`).

mod assembly;
mod chunk;
mod cluster;
mod coalescing;
mod cursor;
mod event;
pub mod live;
mod public_view;
mod publication;
mod relay;
mod replay;
mod subscription;
mod tokens;

pub use chunk::{Chunk, StreamEvent, parse_events};
pub use cluster::{ClusterTasks, request_stop, start_cluster};
pub use event::render_connected;
pub use publication::{TurnPublisher, is_blocked};
pub use relay::RelayedEvents;
pub use subscription::Subscription;
pub use tokens::{TokenPublisher, TokenTarget};

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use convengine_access::caller::ConversationAccess;
use convengine_core::turn::{Millis, Notice};
use convengine_host_base::meter::Meter;
use serde_json::Value;
use tokio::sync::{Notify, Semaphore, broadcast, mpsc, watch};

use crate::Turns;
use cluster::ClusterBus;
use publication::TurnNotices;
use subscription::SubscriberQueue;

/// Maximum number of concurrent database reads for subscribers, so that connections remain for turns.
const MAX_CONCURRENT_READS: usize = 2;

/// Maximum number of answers that are remembered for those who have requested the events of a turn.
const MAX_REMEMBERED_ANSWERS: usize = 64;

/// All subscribers of a tenant.
#[derive(Debug)]
pub struct Streams {
    rooms: Mutex<Rooms>,
    closed: watch::Sender<bool>,
    /// Number of connections that the HTTP server does not wait for itself.
    connections: watch::Sender<usize>,
    read_permits: Semaphore,
    /// Notified when another process requests the subscriptions of this one.
    announcement_requested: Notify,
    /// The conversations and turns whose events so far another process has published again on request.
    replayed_turns: broadcast::Sender<(String, Arc<str>)>,
    turns: OnceLock<Weak<Turns>>,
    meter: Meter,
}

#[derive(Debug, Default)]
struct Rooms {
    by_conversation: BTreeMap<String, Room>,
    running: HashMap<String, Running>,
    /// The connection to other processes, if the database is shared.
    cluster: Option<ClusterBus>,
    next_number: u64,
}

/// The subscribers of a conversation.
#[derive(Debug, Default)]
struct Room {
    subscribers: Vec<SubscriberQueue>,
    /// The latest turn that was published to its end.
    ended_turn: Option<Arc<str>>,
    /// Whether the database was checked for a newer turn since the first subscriber joined.
    is_checked: bool,
}

/// A turn that runs in this process, until its last events are published.
#[derive(Debug)]
struct Running {
    turn: Arc<str>,
    notices: TurnNotices,
    published: usize,
    owner: Option<Arc<str>>,
}

/// A connection that a stopping server waits for.
#[derive(Debug)]
pub struct ConnectionGuard(Arc<Streams>);

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.0.connections.send_modify(|it| *it -= 1);
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
            connections: watch::Sender::new(0),
            read_permits: Semaphore::new(MAX_CONCURRENT_READS),
            announcement_requested: Notify::new(),
            replayed_turns: broadcast::Sender::new(MAX_REMEMBERED_ANSWERS),
            turns: OnceLock::new(),
        }
    }

    /// Attaches the turns that are replayed to resuming subscribers.
    pub fn attach(&self, turns: &Arc<Turns>) {
        // Others are ignored.
        let _ = self.turns.set(Arc::downgrade(turns));
    }

    fn turns(&self) -> Option<Arc<Turns>> {
        self.turns.get()?.upgrade()
    }

    /// Subscribes to new events of a conversation, which need not exist. The subscription ends when the conversation turns out to belong to
    /// another caller.
    pub fn subscribe(self: &Arc<Self>, conversation: &str, access: &ConversationAccess) -> Subscription {
        let (sender, queue) = mpsc::unbounded_channel();
        let mut rooms = self.rooms();
        let number = rooms.next_number;
        rooms.next_number += 1;
        let subscription = Subscription::new(self, conversation, number, access.clone(), queue);
        if !*self.closed.borrow() {
            let room = rooms.by_conversation.entry(conversation.to_owned()).or_default();
            room.subscribers.push(SubscriberQueue::new(&subscription, sender));
        }
        subscription
    }

    fn unsubscribe(&self, conversation: &str, number: u64) {
        let mut rooms = self.rooms();
        let Some(room) = rooms.by_conversation.get_mut(conversation) else { return };
        room.subscribers.retain(|it| it.number != number);
        if room.subscribers.is_empty() {
            rooms.by_conversation.remove(conversation);
        }
    }

    /// Whether a conversation has subscribers.
    pub fn has_subscribers(&self, conversation: &str) -> bool {
        self.rooms().has_subscribers(conversation)
    }

    /// Publishes events to all subscribers of a conversation, including those of other processes. Never blocks.
    pub fn publish(&self, conversation: &str, chunk: Chunk) {
        let chunk = Arc::new(chunk);
        if let Some(bus) = &mut self.rooms().cluster {
            bus.send(conversation, &chunk);
        }
        self.deliver(conversation, &chunk);
    }

    /// Delivers events to the subscribers of this process.
    fn deliver(&self, conversation: &str, chunk: &Arc<Chunk>) {
        let mut rooms = self.rooms();
        let Some(room) = rooms.by_conversation.get_mut(conversation) else { return };
        room.subscribers.retain(|it| it.may_receive(chunk));
        let before = room.subscribers.len();
        room.subscribers.retain(|it| it.enqueue(chunk));
        self.meter.record_stream_events(chunk.event_count(), room.subscribers.len());
        self.meter.record_dropped_subscribers(before - room.subscribers.len());
        if let Some(span) = chunk.range.as_ref() {
            if chunk.is_last {
                room.ended_turn = Some(Arc::clone(&span.turn));
            }
            if chunk.is_replay {
                // Fails if nobody waits for it.
                let _ = self.replayed_turns.send((conversation.to_owned(), Arc::clone(&span.turn)));
            }
        }
        if room.subscribers.is_empty() {
            rooms.by_conversation.remove(conversation);
        }
    }

    /// Publishes an audit event that belongs to no turn.
    pub fn publish_audit(&self, conversation: &str, stage: &str, at: Millis, payload: Value) {
        if self.has_subscribers(conversation) {
            self.publish(conversation, Chunk::new_unnumbered(event::render_turnless_audit(stage, at, payload)));
        }
    }

    /// Closes the streams of a conversation; new ones may be opened.
    pub fn close_conversation(&self, conversation: &str) {
        self.rooms().by_conversation.remove(conversation);
    }

    /// Closes all current and future streams.
    pub fn close(&self) {
        let mut rooms = self.rooms();
        self.closed.send_replace(true);
        rooms.by_conversation.clear();
    }

    /// Waits until streams are closed.
    pub async fn wait_closed(&self) {
        // Cannot fail: `self` owns the sender.
        let _ = self.closed.subscribe().wait_for(|it| *it).await;
    }

    /// Registers an upgraded connection that a stopping server must wait for.
    pub fn register_connection(self: &Arc<Self>) -> ConnectionGuard {
        self.connections.send_modify(|it| *it += 1);
        ConnectionGuard(Arc::clone(self))
    }

    /// Waits until all registered connections have ended.
    pub async fn wait_for_connections(&self) {
        // Cannot fail: `self` owns the sender.
        let _ = self.connections.subscribe().wait_for(|it| *it == 0).await;
    }

    /// Records a turn that runs in this process and has published nothing yet.
    fn record_running(&self, conversation: &str, turn: &Arc<str>, notices: &TurnNotices, owner: Option<&Arc<str>>) {
        let running = Running { turn: Arc::clone(turn), notices: Arc::clone(notices), published: 0, owner: owner.cloned() };
        self.rooms().running.insert(conversation.to_owned(), running);
    }

    /// Records how many notices a running turn has published. Returns whether the conversation has subscribers.
    fn record_progress(&self, conversation: &str, turn: &Arc<str>, published: usize) -> bool {
        let mut rooms = self.rooms();
        if let Some(running) = rooms.running.get_mut(conversation).filter(|it| it.turn == *turn) {
            running.published = published;
        }
        rooms.has_subscribers(conversation)
    }

    /// Removes a running turn.
    fn remove_running(&self, conversation: &str, turn: &Arc<str>) {
        let mut rooms = self.rooms();
        if rooms.running.get(conversation).is_some_and(|it| it.turn == *turn) {
            rooms.running.remove(conversation);
        }
    }

    /// The events published so far by the turn of a conversation that runs in this process.
    fn published_events(&self, conversation: &str) -> Option<Chunk> {
        let (turn, notices, published, owner) = {
            let rooms = self.rooms();
            let running = rooms.running.get(conversation).filter(|it| it.published > 0)?;
            (Arc::clone(&running.turn), Arc::clone(&running.notices), running.published, running.owner.clone())
        };
        let notices = notices.lock().unwrap_or_else(PoisonError::into_inner);
        // Absent if the turn has ended and taken its notices.
        let wire = event::render_notices(&turn, notices.get(..published)?, 0);
        Some(Chunk::for_turn(&turn, 0, published, wire).with_owner(owner.as_ref()))
    }

    /// The notices published so far by the turn of a conversation that runs in this process.
    pub fn published_notices(&self, conversation: &str) -> Vec<Notice> {
        let (notices, published) = match self.rooms().running.get(conversation) {
            Some(running) => (Arc::clone(&running.notices), running.published),
            None => return Vec::new(),
        };
        // Empty if the turn has ended and taken its notices.
        let notices = notices.lock().unwrap_or_else(PoisonError::into_inner);
        notices.get(..published).unwrap_or_default().to_vec()
    }

    fn rooms(&self) -> MutexGuard<'_, Rooms> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rooms {
    fn has_subscribers(&self, conversation: &str) -> bool {
        self.by_conversation.contains_key(conversation) || self.cluster.as_ref().is_some_and(|it| it.has_subscribers(conversation))
    }
}

#[cfg(test)]
mod tests {
    use convengine_access::caller::Caller;

    use super::*;
    use axum::body::Bytes;
    use std::task::{Context, Poll, Waker};
    use subscription::MAX_BACKLOG_BYTES;

    fn next(subscription: &mut Subscription) -> Poll<Option<Bytes>> {
        subscription.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_slow_subscriber_is_disconnected_and_others_are_not() {
        let streams = Arc::new(Streams::default());
        let (mut slow, mut quick) =
            (streams.subscribe("a", &ConversationAccess::all()), streams.subscribe("a", &ConversationAccess::all()));
        let chunk = Chunk::new_unnumbered("x".repeat(MAX_BACKLOG_BYTES));
        for _ in 0..3 {
            streams.publish("a", chunk.clone());
            assert_eq!(next(&mut quick), Poll::Ready(Some(chunk.wire.clone())));
        }
        assert_eq!(next(&mut slow), Poll::Ready(Some(chunk.wire.clone())));
        assert_eq!(next(&mut slow), Poll::Ready(Some(chunk.wire.clone())));
        assert_eq!(next(&mut slow), Poll::Ready(None), "the third exceeds the backlog");
        assert_eq!(next(&mut quick), Poll::Pending);
    }

    #[test]
    fn subscribers_receive_only_their_conversation() {
        let streams = Arc::new(Streams::default());
        let (mut first, mut second) =
            (streams.subscribe("a", &ConversationAccess::all()), streams.subscribe("b", &ConversationAccess::all()));
        streams.publish("a", Chunk::new_unnumbered("1".to_owned()));
        streams.publish("c", Chunk::new_unnumbered("2".to_owned()));
        assert_eq!(next(&mut first), Poll::Ready(Some(Bytes::from_static(b"1"))));
        assert_eq!(next(&mut second), Poll::Pending);
        drop(first);
        assert!(!streams.has_subscribers("a") && streams.has_subscribers("b"));
        streams.close();
        assert_eq!(next(&mut second), Poll::Ready(None));
        assert_eq!(next(&mut streams.subscribe("b", &ConversationAccess::all())), Poll::Ready(None), "the server is stopping");
        assert!(streams.rooms().by_conversation.is_empty());
    }

    #[test]
    fn a_subscriber_who_turns_out_not_to_be_the_owner_receives_nothing() {
        let streams = Arc::new(Streams::default());
        let ada = Caller::new("a").with_owner("ada").access();
        let mut own = streams.subscribe("a", &ada);
        let mut foreign = streams.subscribe("a", &Caller::new("e").with_owner("eve").access());
        let mut key = streams.subscribe("a", &ConversationAccess::default());
        let chunk = Chunk::new_unnumbered("1".to_owned()).with_owner(ada.owner.as_ref());
        streams.publish("a", chunk);
        assert_eq!(next(&mut own), Poll::Ready(Some(Bytes::from_static(b"1"))));
        assert_eq!((next(&mut foreign), next(&mut key)), (Poll::Ready(None), Poll::Ready(None)), "their streams end");
        assert_eq!(next(&mut own), Poll::Pending);
    }

    #[test]
    fn delivered_events_are_skipped() {
        let streams = Arc::new(Streams::default());
        let mut listener = streams.subscribe("a", &ConversationAccess::all());
        let turn: Arc<str> = Arc::from("t");
        let wire = |from: u32, until: u32| (from..until).map(|it| format!("id:t:{it}\n\n")).collect::<String>();
        for (from, until) in [(0, 2), (0, 2), (0, 5), (5, 6)] {
            streams.publish("a", Chunk::for_turn(&turn, from, until, wire(from as u32, until as u32)));
        }
        for (from, until) in [(0, 2), (2, 5), (5, 6)] {
            assert_eq!(next(&mut listener), Poll::Ready(Some(Bytes::from(wire(from, until)))));
        }
        assert_eq!(next(&mut listener), Poll::Pending);
    }
}
