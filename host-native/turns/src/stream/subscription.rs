//! A subscription: the queue of live events and the replay that precedes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use axum::body::Bytes;
use convengine_access::caller::ConversationAccess;
use convengine_host_base::meter::GaugeGuard;
use convengine_host_base::metric_names as names;
use tokio::sync::mpsc;

use super::Streams;
use super::chunk::Chunk;
use super::cursor::{Delivery, JoinPoint, StreamCursor};
use super::public_view;
use super::replay::ReplayItem;

/// Maximum backlog of a subscriber in bytes. The events of a slice are queued together and may exceed it.
pub(super) const MAX_BACKLOG_BYTES: usize = 1024 * 1024;

/// A queued chunk; `None` signals that the subscriber may have missed events.
type QueueItem = Option<Arc<Chunk>>;

/// The sending side of a subscriber's queue.
#[derive(Debug)]
pub(super) struct SubscriberQueue {
    pub number: u64,
    access: ConversationAccess,
    queue: mpsc::UnboundedSender<QueueItem>,
    backlog_bytes: Arc<AtomicUsize>,
}

/// The receiving side of a subscriber's queue. Dropping it unsubscribes.
#[derive(Debug)]
pub struct Subscription {
    streams: Arc<Streams>,
    conversation: String,
    number: u64,
    access: ConversationAccess,
    queue: mpsc::UnboundedReceiver<QueueItem>,
    backlog_bytes: Arc<AtomicUsize>,
    _open: GaugeGuard,
    pub(super) cursor: StreamCursor,
    /// The replay to send before the queue.
    pub(super) replay: Option<mpsc::Receiver<ReplayItem>>,
}

impl SubscriberQueue {
    pub(super) fn new(subscription: &Subscription, queue: mpsc::UnboundedSender<QueueItem>) -> SubscriberQueue {
        SubscriberQueue {
            number: subscription.number,
            access: subscription.access.clone(),
            queue,
            backlog_bytes: Arc::clone(&subscription.backlog_bytes),
        }
    }

    /// Whether the subscriber may receive events. One who subscribed before the conversation began may turn out not to be its owner.
    pub(super) fn may_receive(&self, chunk: &Chunk) -> bool {
        self.access.may_read(chunk.owner.as_deref())
    }

    pub(super) fn enqueue(&self, chunk: &Arc<Chunk>) -> bool {
        if self.backlog_bytes.load(Ordering::Relaxed) > MAX_BACKLOG_BYTES {
            return false;
        }
        self.backlog_bytes.fetch_add(chunk.wire.len(), Ordering::Relaxed);
        self.queue.send(Some(Arc::clone(chunk))).is_ok()
    }

    /// Signals the subscriber to check what it has missed.
    pub(super) fn notify_missed(&self) {
        // Fails if the subscriber has disconnected.
        let _ = self.queue.send(None);
    }
}

impl Subscription {
    pub(super) fn new(
        streams: &Arc<Streams>,
        conversation: &str,
        number: u64,
        access: ConversationAccess,
        queue: mpsc::UnboundedReceiver<QueueItem>,
    ) -> Subscription {
        let open = streams.meter.track(names::STREAMS_OPEN);
        let (streams, conversation, cursor) =
            (Arc::clone(streams), conversation.to_owned(), StreamCursor::after_turn(None, JoinPoint::AnyTurn));
        Subscription { streams, conversation, number, access, queue, backlog_bytes: Arc::default(), _open: open, cursor, replay: None }
    }

    /// Polls for the next events; `None` means that the stream has ended.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if let Some(replay) = &mut self.replay {
                match ready!(replay.poll_recv(context)) {
                    Some(ReplayItem::Chunk(chunk)) if !self.access.may_read(chunk.owner.as_deref()) => return Poll::Ready(None),
                    Some(ReplayItem::Chunk(chunk)) => {
                        let take = chunk.range.as_ref().map_or(Delivery::SkipAll, |it| self.cursor.accept_replayed(it));
                        if let Delivery::SkipFirst(count) = take {
                            let events = chunk.skip_events(count);
                            if !events.is_empty() {
                                return Poll::Ready(Some(self.as_shown(events)));
                            }
                        }
                    }
                    Some(ReplayItem::UnknownPosition) => self.cursor = StreamCursor::after_turn(None, JoinPoint::AnyTurn),
                    Some(ReplayItem::Failed) => return Poll::Ready(None),
                    None => self.replay = None,
                }
                continue;
            }
            match ready!(self.queue.poll_recv(context)) {
                None => return Poll::Ready(None),
                Some(None) => self.catch_up(),
                Some(Some(chunk)) => {
                    self.backlog_bytes.fetch_sub(chunk.wire.len(), Ordering::Relaxed);
                    match chunk.range.as_ref().map_or(Delivery::SkipFirst(0), |it| self.cursor.accept_live(it, chunk.is_replay)) {
                        Delivery::SkipFirst(count) => return Poll::Ready(Some(self.as_shown(chunk.skip_events(count)))),
                        Delivery::Gap => self.catch_up(),
                        Delivery::SkipAll => {}
                    }
                }
            }
        }
    }

    /// Events as the subscriber may see them.
    fn as_shown(&self, events: Bytes) -> Bytes {
        if self.access.sees_internals() { events } else { public_view::hide_internals(events) }
    }

    fn catch_up(&mut self) {
        self.replay = Some(self.streams.catch_up(&self.conversation, self.cursor.turn().cloned(), self.access.clone()));
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.streams.unsubscribe(&self.conversation, self.number);
    }
}
