//! Live events: who listens to a conversation, and what its turns tell them.
//!
//! A turn hands its events over and goes on at once. Each listener has a queue of its own; one whose queue is full is dropped, and
//! its connection ends after what still waits.

mod event;
mod tokens;
mod told;

pub use event::connected;
pub use tokens::Tokens;
pub use told::{Told, is_blocked};

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::Bytes;
use convengine_core::turn::Millis;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::observe::meter::Counted;
use crate::observe::{Meter, names};

/// Bytes that may wait for one listener before more come. The events of a slice come together, however many they are.
const MOST_WAITING: usize = 1024 * 1024;

/// Everybody who listens.
#[derive(Debug, Default)]
pub struct Streams {
    listeners: Mutex<Listeners>,
    meter: Meter,
}

#[derive(Debug, Default)]
struct Listeners {
    by_conversation: HashMap<String, Vec<Listener>>,
    next: u64,
    closed: bool,
}

#[derive(Debug)]
struct Listener {
    number: u64,
    queue: mpsc::UnboundedSender<Bytes>,
    waiting: Arc<AtomicUsize>,
}

/// One listener's end of its queue; dropping it ends the listening.
#[derive(Debug)]
pub struct Subscription {
    streams: Arc<Streams>,
    conversation: String,
    number: u64,
    queue: mpsc::UnboundedReceiver<Bytes>,
    waiting: Arc<AtomicUsize>,
    _open: Counted,
}

impl Streams {
    /// Listeners that are counted.
    pub fn new(meter: Meter) -> Streams {
        Streams { listeners: Mutex::default(), meter }
    }

    /// Listens to a conversation, which need not exist.
    pub fn subscribe(self: &Arc<Self>, conversation: &str) -> Subscription {
        let (sender, queue) = mpsc::unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let mut listeners = self.listeners();
        let number = listeners.next;
        listeners.next += 1;
        if !listeners.closed {
            let listener = Listener { number, queue: sender, waiting: Arc::clone(&waiting) };
            listeners.by_conversation.entry(conversation.to_owned()).or_default().push(listener);
        }
        drop(listeners);
        let open = self.meter.counted(names::STREAMS_OPEN);
        Subscription { streams: Arc::clone(self), conversation: conversation.to_owned(), number, queue, waiting, _open: open }
    }

    /// Whether anybody listens to a conversation.
    pub fn is_heard(&self, conversation: &str) -> bool {
        self.listeners().by_conversation.contains_key(conversation)
    }

    /// Hands rendered events to everybody who listens to a conversation; never waits.
    pub fn send(&self, conversation: &str, events: &Bytes) {
        let mut listeners = self.listeners();
        let Some(of_conversation) = listeners.by_conversation.get_mut(conversation) else { return };
        let before = of_conversation.len();
        of_conversation.retain(|it| it.takes(events));
        self.meter.told(count(events), of_conversation.len());
        self.meter.dropped(before - of_conversation.len());
        if of_conversation.is_empty() {
            listeners.by_conversation.remove(conversation);
        }
    }

    /// Tells everybody who listens to a conversation of an audit that belongs to no turn.
    pub fn tell(&self, conversation: &str, stage: &str, at: Millis, payload: Value) {
        if self.is_heard(conversation) {
            self.send(conversation, &Bytes::from(event::of_no_turn(stage, at, payload)));
        }
    }

    /// Ends all streams, and those that still come.
    pub fn close(&self) {
        let mut listeners = self.listeners();
        listeners.closed = true;
        listeners.by_conversation.clear();
    }

    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many events a text holds: each ends with an empty line and has no other.
fn count(events: &[u8]) -> usize {
    events.windows(2).filter(|it| it == b"\n\n").count()
}

impl Listener {
    fn takes(&self, events: &Bytes) -> bool {
        if self.waiting.load(Ordering::Relaxed) > MOST_WAITING {
            return false;
        }
        self.waiting.fetch_add(events.len(), Ordering::Relaxed);
        self.queue.send(events.clone()).is_ok()
    }
}

impl Subscription {
    /// The next events; `None` when there will be no more.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let polled = self.queue.poll_recv(context);
        if let Poll::Ready(Some(events)) = &polled {
            self.waiting.fetch_sub(events.len(), Ordering::Relaxed);
        }
        polled
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut listeners = self.streams.listeners();
        let Some(of_conversation) = listeners.by_conversation.get_mut(&self.conversation) else { return };
        of_conversation.retain(|it| it.number != self.number);
        if of_conversation.is_empty() {
            listeners.by_conversation.remove(&self.conversation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(subscription: &mut Subscription) -> Poll<Option<Bytes>> {
        subscription.poll(&mut Context::from_waker(std::task::Waker::noop()))
    }

    #[test]
    fn one_who_falls_behind_is_dropped_and_the_others_are_not() {
        let streams = Arc::new(Streams::default());
        let (mut slow, mut quick) = (streams.subscribe("a"), streams.subscribe("a"));
        let events = Bytes::from(vec![b'x'; MOST_WAITING]);
        for _ in 0..3 {
            streams.send("a", &events);
            assert_eq!(next(&mut quick), Poll::Ready(Some(events.clone())));
        }
        assert_eq!(next(&mut slow), Poll::Ready(Some(events.clone())));
        assert_eq!(next(&mut slow), Poll::Ready(Some(events.clone())));
        assert_eq!(next(&mut slow), Poll::Ready(None), "the third was too much");
        assert_eq!(next(&mut quick), Poll::Pending);
    }

    #[test]
    fn conversations_hear_their_own_and_leave_nothing_behind() {
        let streams = Arc::new(Streams::default());
        let (mut first, mut second) = (streams.subscribe("a"), streams.subscribe("b"));
        streams.send("a", &Bytes::from_static(b"1"));
        streams.send("c", &Bytes::from_static(b"2"));
        assert_eq!(next(&mut first), Poll::Ready(Some(Bytes::from_static(b"1"))));
        assert_eq!(next(&mut second), Poll::Pending);
        drop(first);
        assert!(!streams.is_heard("a") && streams.is_heard("b"));
        streams.close();
        assert_eq!(next(&mut second), Poll::Ready(None));
        assert_eq!(next(&mut streams.subscribe("b")), Poll::Ready(None), "the server stops");
        assert!(streams.listeners().by_conversation.is_empty());
    }
}
