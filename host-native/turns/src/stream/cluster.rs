//! Distributes events between processes that share a PostgreSQL database.
//!
//! Each process periodically announces the conversations that it has subscribers for; the others send it the events of only those, so
//! that turns without subscribers send nothing. Delivery is best effort: subscribers detect gaps by event numbers, and the database is
//! checked for newer turns periodically and after a lost connection. Missed events are replayed from the journals.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use convengine_host_base::work_class::spawn_in_background;
use convengine_storage::connectivity::Connectivity;
use convengine_storage::repeated_task::RepeatedTask;
use convengine_storage::{DatabaseConfig, Pool, stream};
use sqlx::postgres::PgNotification;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout, timeout_at};
use tracing::Instrument;

use super::assembly::{Publication, PublicationAssembler};
use super::chunk::Chunk;
use super::coalescing::TokenBuffer;
use super::{Room, Streams};
use crate::Turns;

/// Notification channels for requests and for events.
const REQUEST_CHANNEL: &str = "convengine_requests";
const EVENT_CHANNEL: &str = "convengine_events";

/// Their names up to version 0.1, which processes of that version still send to while a cluster is updated.
const OLD_REQUEST_CHANNEL: &str = "convengine_asked";
const OLD_EVENT_CHANNEL: &str = "convengine_told";

/// Kinds of requests: new events of conversations, also the events so far of running turns, (without conversations) the subscriptions of all
/// other processes, and the end of the running turns of runs that are cancelled.
const REQUEST_LIVE: &str = "-";
const REQUEST_REPLAY: &str = "again";
const REQUEST_SUBSCRIPTIONS: &str = "who";
const REQUEST_STOP: &str = "stop";

/// How often to check whether new subscribers have missed anything, and after how many checks to check all of them and announce all
/// subscriptions again.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
const CHECKS_PER_ROUND: u32 = 10;

/// How long an announced subscription is valid.
const SUBSCRIPTION_TTL: Duration = Duration::from_secs(60);

/// How long a starting server waits for its connection to the others.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a stopping server waits for events to be sent.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Delay before the database is retried.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// Maximum bytes queued for the database; events beyond it are dropped, and the other processes are notified.
const MAX_PENDING_BYTES: usize = 16 * 1024 * 1024;

/// Maximum conversations per notification and per database query.
const MAX_CONVERSATIONS_PER_REQUEST: usize = 200;

/// The subscriptions of the other processes and the queue of events for them.
#[derive(Debug)]
pub(super) struct ClusterBus {
    remote_subscriptions: BTreeMap<String, Instant>,
    queue: mpsc::UnboundedSender<Publication>,
    pending_bytes: Arc<AtomicUsize>,
    has_dropped_events: bool,
}

impl ClusterBus {
    /// Whether another process has subscribers for a conversation.
    pub fn has_subscribers(&self, conversation: &str) -> bool {
        self.remote_subscriptions.get(conversation).is_some_and(|expiry| *expiry > Instant::now())
    }

    /// Queues events for the other processes if they have subscribers.
    pub fn send(&mut self, conversation: &str, chunk: &Arc<Chunk>) {
        if !self.has_subscribers(conversation) {
            return;
        }
        if self.pending_bytes.load(Ordering::Relaxed) > MAX_PENDING_BYTES {
            self.has_dropped_events = true;
            return;
        }
        if std::mem::take(&mut self.has_dropped_events) {
            self.enqueue(Publication::EventsLost);
        }
        self.enqueue(Publication::Events(conversation.to_owned(), Arc::clone(chunk)));
    }

    fn enqueue(&self, publication: Publication) {
        self.pending_bytes.fetch_add(publication.len(), Ordering::Relaxed);
        // Fails only while the server stops.
        let _ = self.queue.send(publication);
    }
}

/// The running tasks of the cluster; see [`start_cluster`].
#[derive(Debug)]
pub struct ClusterTasks {
    streams: Arc<Streams>,
    receiver: JoinHandle<()>,
    announcer: JoinHandle<()>,
    sender: JoinHandle<()>,
}

impl ClusterTasks {
    /// Stops the tasks once all queued events are sent, or a database that is out of reach was waited for.
    pub async fn shut_down(mut self) {
        self.receiver.abort();
        self.announcer.abort();
        self.streams.rooms().cluster = None;
        // The sender task ends with its queue.
        if timeout(SHUTDOWN_TIMEOUT, &mut self.sender).await.is_err() {
            self.sender.abort();
        }
    }
}

/// Connects the streams of a host with those of other processes, if the database is shared and streams are enabled, or turns run in other
/// processes than those of their callers, as steps of chains do where timers are fired. Waits for the connection, but not longer than the
/// startup timeout.
pub async fn start_cluster(turns: &Arc<Turns>, database: &DatabaseConfig, turns_run_elsewhere: bool) -> Option<ClusterTasks> {
    if !turns.readers.is_shared() || !(turns_run_elsewhere || turns.fires_timers || turns.stream_settings.is_any_enabled()) {
        return None;
    }
    let ((sender, queue), waiting) = (mpsc::unbounded_channel(), Arc::new(AtomicUsize::new(0)));
    let bus =
        ClusterBus { remote_subscriptions: BTreeMap::new(), queue: sender, pending_bytes: Arc::clone(&waiting), has_dropped_events: false };
    turns.streams.rooms().cluster = Some(bus);
    let (ready, connected) = oneshot::channel();
    let sharing = ClusterTasks {
        streams: Arc::clone(&turns.streams),
        receiver: tokio::spawn(
            receive_publications(Arc::downgrade(turns), Arc::clone(&turns.connectivity), database.clone(), ready).in_current_span(),
        ),
        announcer: spawn_in_background(announce_subscriptions(Arc::downgrade(turns))),
        sender: tokio::spawn(
            send_publications(turns.readers.clone(), Arc::clone(&turns.connectivity), turns.owner.clone(), queue, waiting)
                .in_current_span(),
        ),
    };
    // Without a connection the server serves its own events.
    let _ = timeout(STARTUP_TIMEOUT, connected).await;
    Some(sharing)
}

/// Requests the events of conversations from the other processes; with `replay` also the events so far of running turns.
pub(super) async fn request_events(turns: &Turns, conversations: &[&str], replay: bool) {
    send_request(turns, if replay { REQUEST_REPLAY } else { REQUEST_LIVE }, conversations).await;
}

/// Asks the other processes to stop the running turn of a run.
pub async fn request_stop(turns: &Turns, run: &str) {
    send_request(turns, REQUEST_STOP, &[run]).await;
}

async fn send_request(turns: &Turns, kind: &str, conversations: &[&str]) {
    let payload = format!("{} {kind} {}", turns.owner, conversations.join(" "));
    if let Err(error) = stream::notify(&turns.readers, REQUEST_CHANNEL, &payload).await {
        tracing::warn!(%error, "cannot request events from other processes");
    }
}

async fn send_publications(
    pool: Pool,
    connectivity: Arc<Connectivity>,
    process: String,
    mut queue: mpsc::UnboundedReceiver<Publication>,
    pending_bytes: Arc<AtomicUsize>,
) {
    let mut task = RepeatedTask::new("send events to other processes", &connectivity);
    let mut tokens = TokenBuffer::default();
    let mut is_open = true;
    while is_open {
        let next = match tokens.next_flush() {
            Some(at) => timeout_at(at, queue.recv()).await,
            None => Ok(queue.recv().await),
        };
        let ready = match next {
            // Those of other conversations that have waited long enough are sent as well, however full the queue is.
            Ok(Some(publication)) => [tokens.push(publication), tokens.take_due()].concat(),
            Ok(None) => {
                is_open = false;
                tokens.take_all()
            }
            Err(_) => tokens.take_due(),
        };
        for publication in ready {
            send_publication(&mut task, &pool, &process, &publication).await;
            pending_bytes.fetch_sub(publication.len(), Ordering::Relaxed);
        }
    }
}

async fn send_publication(task: &mut RepeatedTask, pool: &Pool, process: &str, publication: &Publication) {
    for part in publication.to_parts(process) {
        while task.attempt(stream::notify(pool, EVENT_CHANNEL, &part)).await.is_none() {
            sleep(RETRY_DELAY).await;
        }
    }
}

async fn receive_publications(turns: Weak<Turns>, connectivity: Arc<Connectivity>, database: DatabaseConfig, ready: oneshot::Sender<()>) {
    let mut ready = Some(ready);
    let mut task = RepeatedTask::new("receive events from other processes", &connectivity);
    loop {
        let Some(mut listener) =
            task.attempt(stream::listen(&database, &[REQUEST_CHANNEL, EVENT_CHANNEL, OLD_REQUEST_CHANNEL, OLD_EVENT_CHANNEL])).await
        else {
            sleep(RETRY_DELAY).await;
            continue;
        };
        let Some((streams, process)) = begin_receiving(&turns).await else { return };
        if let Some(ready) = ready.take() {
            // Fails if the starting server no longer waits.
            let _ = ready.send(());
        }
        let mut assembly = PublicationAssembler::default();
        // The announcements of this process arrive as well, so silence means a lost connection.
        while let Ok(Ok(Some(notification))) = timeout(SUBSCRIPTION_TTL, listener.try_recv()).await {
            streams.handle_notification(&process, &mut assembly, &notification);
        }
        tracing::warn!("lost the connection for events of other processes; reconnecting");
    }
}

/// Requests the subscriptions of the other processes and marks all subscribers as behind.
async fn begin_receiving(turns: &Weak<Turns>) -> Option<(Arc<Streams>, String)> {
    let turns = turns.upgrade()?;
    send_request(&turns, REQUEST_SUBSCRIPTIONS, &[]).await;
    turns.streams.mark_all_behind();
    Some((Arc::clone(&turns.streams), turns.owner.clone()))
}

async fn announce_subscriptions(turns: Weak<Turns>) {
    let mut ticks = interval(CHECK_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut round = 0_u32;
    loop {
        let shared = turns.upgrade().map(|turns| (Arc::clone(&turns.streams), Arc::clone(&turns.connectivity)));
        let Some((streams, connectivity)) = shared else { return };
        let all = tokio::select! {
            _ = ticks.tick() => {
                round = round.wrapping_add(1);
                round.is_multiple_of(CHECKS_PER_ROUND)
            }
            () = streams.announcement_requested.notified() => true,
        };
        connectivity.wait().await;
        let Some(turns) = turns.upgrade() else { return };
        let (subscribed, unchecked) = streams.take_subscriptions();
        if all {
            request_events(&turns, &[], false).await;
            for chunk in subscribed.chunks(MAX_CONVERSATIONS_PER_REQUEST) {
                request_events(&turns, &chunk.iter().map(String::as_str).collect::<Vec<_>>(), false).await;
            }
        }
        for chunk in if all { subscribed } else { unchecked }.chunks(MAX_CONVERSATIONS_PER_REQUEST) {
            let _permit = streams.read_permits.acquire().await;
            let seen = streams.list_ended_turns(chunk);
            match stream::list_latest_ended(&turns.readers, &chunk.iter().map(String::as_str).collect::<Vec<_>>()).await {
                Ok(found) => found.iter().for_each(|(conversation, turn)| streams.note_ended_turn(conversation, turn, &seen)),
                Err(error) => tracing::warn!(%error, "cannot check whether subscribers have missed a turn"),
            }
        }
    }
}

impl Streams {
    /// Records that another process listens to a topic, before it could announce that itself.
    pub(super) fn expect_remote_subscriber(&self, topic: &str) {
        if let Some(bus) = &mut self.rooms().cluster {
            bus.remote_subscriptions.insert(topic.to_owned(), Instant::now() + SUBSCRIPTION_TTL);
        }
    }

    /// Returns all conversations with local subscribers and those not checked yet; drops expired subscriptions of other processes.
    fn take_subscriptions(&self) -> (Vec<String>, Vec<String>) {
        let mut rooms = self.rooms();
        let now = Instant::now();
        if let Some(bus) = &mut rooms.cluster {
            bus.remote_subscriptions.retain(|_, until| *until > now);
        }
        let take_unchecked =
            |(conversation, room): (&String, &mut Room)| (!std::mem::replace(&mut room.is_checked, true)).then(|| conversation.clone());
        let unchecked = rooms.by_conversation.iter_mut().filter_map(take_unchecked).collect();
        (rooms.by_conversation.keys().cloned().collect(), unchecked)
    }

    /// Returns the latest turn of each conversation that was published to its end.
    fn list_ended_turns(&self, conversations: &[String]) -> HashMap<String, Option<Arc<str>>> {
        let rooms = self.rooms();
        conversations
            .iter()
            .filter_map(|conversation| Some((conversation.clone(), rooms.by_conversation.get(conversation)?.ended_turn.clone())))
            .collect()
    }

    /// Records the latest ended turn of a conversation in the database; subscribers that did not see it end check what they have missed.
    /// `seen` is what they had seen before the database was read: they have missed nothing if a later turn has ended here since, or if
    /// this process is about to publish the end.
    fn note_ended_turn(&self, conversation: &str, turn: &str, seen: &HashMap<String, Option<Arc<str>>>) {
        let mut rooms = self.rooms();
        let is_running = rooms.running.get(conversation).is_some_and(|it| &*it.turn == turn);
        let Some(room) = rooms.by_conversation.get_mut(conversation) else { return };
        if is_running || room.ended_turn.as_deref() == Some(turn) {
            return;
        }
        if seen.get(conversation) != Some(&room.ended_turn) {
            room.is_checked = false;
            return;
        }
        room.ended_turn = Some(Arc::from(turn));
        room.subscribers.iter().for_each(|it| it.notify_missed());
    }

    fn mark_all_behind(&self) {
        let rooms = self.rooms();
        rooms.by_conversation.values().flat_map(|it| &it.subscribers).for_each(|it| it.notify_missed());
    }

    fn handle_notification(&self, process: &str, assembly: &mut PublicationAssembler, notification: &PgNotification) {
        if [REQUEST_CHANNEL, OLD_REQUEST_CHANNEL].contains(&notification.channel()) {
            self.handle_request(process, notification.payload());
            return;
        }
        match assembly.add_part(process, notification.payload(), |conversation| self.rooms().by_conversation.contains_key(conversation)) {
            Some(Publication::Events(conversation, chunk)) => self.deliver(&conversation, &chunk),
            Some(Publication::EventsLost) => self.mark_all_behind(),
            None => {}
        }
    }

    /// Handles a request of another process.
    fn handle_request(&self, this_process: &str, payload: &str) {
        let mut words = payload.split(' ').filter(|it| !it.is_empty());
        let (Some(process), Some(kind)) = (words.next(), words.next()) else { return };
        if process == this_process {
            return;
        }
        if kind == REQUEST_SUBSCRIPTIONS {
            self.announcement_requested.notify_one();
        }
        if kind == REQUEST_STOP {
            if let Some(turns) = self.turns() {
                words.for_each(|it| _ = turns.stop_signals.stop(it));
            }
            return;
        }
        for conversation in words {
            match &mut self.rooms().cluster {
                Some(cluster) => cluster.remote_subscriptions.insert(conversation.to_owned(), Instant::now() + SUBSCRIPTION_TTL),
                None => return,
            };
            let so_far = if kind == REQUEST_REPLAY { self.published_events(conversation) } else { None };
            if let (Some(chunk), Some(cluster)) = (so_far, &mut self.rooms().cluster) {
                cluster.send(conversation, &Arc::new(Chunk { is_replay: true, ..chunk }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use convengine_access::caller::ConversationAccess;

    use super::*;

    #[test]
    fn only_a_turn_that_ended_elsewhere_has_been_missed() {
        let streams = Arc::new(Streams::default());
        let _listener = streams.subscribe("c", &ConversationAccess::all());
        let room = || {
            let rooms = streams.rooms();
            (rooms.by_conversation["c"].ended_turn.clone(), rooms.by_conversation["c"].is_checked)
        };
        let ended = |turn: &str| streams.publish("c", Chunk::for_turn(&Arc::from(turn), 0, 0, String::new()).into_last());
        let here: Arc<str> = Arc::from("here");
        streams.record_running("c", &here, &Arc::default(), None);
        let seen = streams.list_ended_turns(&["c".to_owned()]);
        streams.take_subscriptions();
        streams.note_ended_turn("c", "here", &seen);
        assert_eq!(room(), (None, true), "it is stored, and its end is about to be published");
        streams.remove_running("c", &here);
        ended("here");
        ended("next");
        streams.note_ended_turn("c", "here", &seen);
        assert_eq!(room(), (Some(Arc::from("next")), false), "the database was read before the next one ended: to be checked again");
        streams.note_ended_turn("c", "elsewhere", &streams.list_ended_turns(&["c".to_owned()]));
        assert_eq!(room().0.as_deref(), Some("elsewhere"));
    }
}
