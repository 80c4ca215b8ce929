//! A subscription: the queue of live events and the replay that precedes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use axum::body::Bytes;
use tokio::sync::mpsc;

use super::Streams;
use super::chunk::Chunk;
use super::heard::{Came, Heard, Take};
use super::resume::Replayed;
use crate::observe::meter::Counted;
use crate::observe::names;

/// Maximum backlog of a subscriber in bytes. The events of a slice are queued together and may exceed it.
pub(super) const MOST_WAITING: usize = 1024 * 1024;

/// A queued chunk; `None` signals that the subscriber may have missed events.
type Item = Option<Arc<Chunk>>;

/// The sending side of a subscriber's queue.
#[derive(Debug)]
pub(super) struct Listener {
    pub number: u64,
    queue: mpsc::UnboundedSender<Item>,
    waiting: Arc<AtomicUsize>,
}

/// The receiving side of a subscriber's queue. Dropping it unsubscribes.
#[derive(Debug)]
pub struct Subscription {
    streams: Arc<Streams>,
    conversation: String,
    number: u64,
    queue: mpsc::UnboundedReceiver<Item>,
    waiting: Arc<AtomicUsize>,
    _open: Counted,
    pub(super) heard: Heard,
    /// The replay to send before the queue.
    pub(super) replay: Option<mpsc::Receiver<Replayed>>,
}

impl Listener {
    pub(super) fn of(subscription: &Subscription, queue: mpsc::UnboundedSender<Item>) -> Listener {
        Listener { number: subscription.number, queue, waiting: Arc::clone(&subscription.waiting) }
    }

    pub(super) fn takes(&self, chunk: &Arc<Chunk>) -> bool {
        if self.waiting.load(Ordering::Relaxed) > MOST_WAITING {
            return false;
        }
        self.waiting.fetch_add(chunk.wire.len(), Ordering::Relaxed);
        self.queue.send(Some(Arc::clone(chunk))).is_ok()
    }

    /// Signals the subscriber to check what it has missed.
    pub(super) fn may_have_missed(&self) {
        // Fails if the subscriber has disconnected.
        let _ = self.queue.send(None);
    }
}

impl Subscription {
    pub(super) fn of(streams: &Arc<Streams>, conversation: &str, number: u64, queue: mpsc::UnboundedReceiver<Item>) -> Subscription {
        let open = streams.meter.counted(names::STREAMS_OPEN);
        let (streams, conversation, heard) = (Arc::clone(streams), conversation.to_owned(), Heard::nothing_since(None, Came::Anytime));
        Subscription { streams, conversation, number, queue, waiting: Arc::default(), _open: open, heard, replay: None }
    }

    /// Polls for the next events; `None` means that the stream has ended.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if let Some(replay) = &mut self.replay {
                match ready!(replay.poll_recv(context)) {
                    Some(Replayed::Chunk(chunk)) => {
                        let take = chunk.span.as_ref().map_or(Take::Nothing, |it| self.heard.replayed(it));
                        if let Take::Without(count) = take {
                            return Poll::Ready(Some(chunk.without(count)));
                        }
                    }
                    Some(Replayed::Unknown) => self.heard = Heard::nothing_since(None, Came::Anytime),
                    Some(Replayed::Failed) => return Poll::Ready(None),
                    None => self.replay = None,
                }
                continue;
            }
            match ready!(self.queue.poll_recv(context)) {
                None => return Poll::Ready(None),
                Some(None) => self.catch_up(),
                Some(Some(chunk)) => {
                    self.waiting.fetch_sub(chunk.wire.len(), Ordering::Relaxed);
                    match chunk.span.as_ref().map_or(Take::Without(0), |it| self.heard.live(it, chunk.again)) {
                        Take::Without(count) => return Poll::Ready(Some(chunk.without(count))),
                        Take::Gap => self.catch_up(),
                        Take::Nothing => {}
                    }
                }
            }
        }
    }

    fn catch_up(&mut self) {
        self.replay = Some(self.streams.catch_up(&self.conversation, self.heard.turn().cloned()));
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.streams.leave(&self.conversation, self.number);
    }
}
