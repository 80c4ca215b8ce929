//! Distributes events between processes that share a PostgreSQL database.
//!
//! Each process periodically announces the conversations that it has subscribers for; the others send it the events of only those, so
//! that turns without subscribers send nothing. Delivery is best effort: subscribers detect gaps by event numbers, and the database is
//! checked for newer turns periodically and after a lost connection. Missed events are replayed from the journals.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use sqlx::postgres::PgNotification;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::assembly::{Assembly, Telling};
use super::chunk::Chunk;
use super::{Room, Streams};
use crate::drive::Host;
use crate::store::{Place, Pool, stream};

/// Notification channels for requests and for events.
const ASKED: &str = "convengine_asked";
const TOLD: &str = "convengine_told";

/// Kinds of requests: new events of conversations, also the events so far of running turns, and (without conversations) the
/// subscriptions of all other processes.
const FROM_NOW_ON: &str = "-";
const AGAIN_TOO: &str = "again";
const WHO: &str = "who";

/// How often to check whether new subscribers have missed anything, and after how many checks to check all of them and announce all
/// subscriptions again.
const PAUSE: Duration = Duration::from_secs(2);
const ROUND: u32 = 10;

/// How long an announced subscription is valid.
const COUNTS: Duration = Duration::from_secs(60);

/// How long a starting server waits for its connection to the others.
const START: Duration = Duration::from_secs(5);

/// Delay before the database is retried.
const AGAIN: Duration = Duration::from_millis(200);

/// Maximum bytes queued for the database; events beyond it are dropped, and the other processes are notified.
const MOST: usize = 16 * 1024 * 1024;

/// Maximum conversations per notification and per database query.
const AT_ONCE: usize = 200;

/// The subscriptions of the other processes and the queue of events for them.
#[derive(Debug)]
pub(super) struct Afar {
    wanted: BTreeMap<String, Instant>,
    queue: mpsc::UnboundedSender<Telling>,
    waiting: Arc<AtomicUsize>,
    lost: bool,
}

impl Afar {
    /// Whether another process has subscribers for a conversation.
    pub fn wants(&self, conversation: &str) -> bool {
        self.wanted.get(conversation).is_some_and(|it| *it > Instant::now())
    }

    /// Queues events for the other processes if they have subscribers.
    pub fn send(&mut self, conversation: &str, chunk: &Arc<Chunk>) {
        if !self.wants(conversation) {
            return;
        }
        if self.waiting.load(Ordering::Relaxed) > MOST {
            self.lost = true;
            return;
        }
        if std::mem::take(&mut self.lost) {
            self.push(Telling::Lost);
        }
        self.push(Telling::Events(conversation.to_owned(), Arc::clone(chunk)));
    }

    fn push(&self, publication: Telling) {
        self.waiting.fetch_add(publication.len(), Ordering::Relaxed);
        // Fails only while the server stops.
        let _ = self.queue.send(publication);
    }
}

/// The running tasks of the cluster; see [`share`].
#[derive(Debug)]
pub struct Sharing {
    streams: Arc<Streams>,
    hearing: JoinHandle<()>,
    asking: JoinHandle<()>,
    telling: JoinHandle<()>,
}

impl Sharing {
    /// Stops the tasks once all queued events are sent.
    pub async fn end(self) {
        self.hearing.abort();
        self.asking.abort();
        self.streams.rooms().afar = None;
        // The sender task ends with its queue.
        let _ = self.telling.await;
    }
}

/// Connects the streams of a host with those of other processes, if the database is shared and streams are enabled. Waits for the
/// connection, but not longer than the startup timeout.
pub async fn share(host: &Arc<Host>, database: &Place) -> Option<Sharing> {
    if !host.readers.is_shared() || !host.offers.any() {
        return None;
    }
    let ((sender, queue), waiting) = (mpsc::unbounded_channel(), Arc::new(AtomicUsize::new(0)));
    let bus = Afar { wanted: BTreeMap::new(), queue: sender, waiting: Arc::clone(&waiting), lost: false };
    host.streams.rooms().afar = Some(bus);
    let (ready, connected) = oneshot::channel();
    let sharing = Sharing {
        streams: Arc::clone(&host.streams),
        hearing: tokio::spawn(hear(Arc::downgrade(host), database.clone(), ready)),
        asking: tokio::spawn(ask(Arc::downgrade(host))),
        telling: tokio::spawn(tell(host.readers.clone(), host.owner.clone(), queue, waiting)),
    };
    // Without a connection the server serves its own events.
    let _ = timeout(START, connected).await;
    Some(sharing)
}

/// Requests the events of conversations from the other processes; with `replay` also the events so far of running turns.
pub(super) async fn ask_for(host: &Host, conversations: &[&str], replay: bool) {
    say(host, if replay { AGAIN_TOO } else { FROM_NOW_ON }, conversations).await;
}

async fn say(host: &Host, kind: &str, conversations: &[&str]) {
    let payload = format!("{} {kind} {}", host.owner, conversations.join(" "));
    if let Err(error) = stream::notify(&host.readers, ASKED, &payload).await {
        tracing::warn!(%error, "cannot request events from other processes");
    }
}

async fn tell(pool: Pool, process: String, mut queue: mpsc::UnboundedReceiver<Telling>, pending_bytes: Arc<AtomicUsize>) {
    while let Some(publication) = queue.recv().await {
        for part in publication.parts(&process) {
            while let Err(error) = stream::notify(&pool, TOLD, &part).await {
                tracing::warn!(%error, "cannot send events to other processes; retrying");
                sleep(AGAIN).await;
            }
        }
        pending_bytes.fetch_sub(publication.len(), Ordering::Relaxed);
    }
}

async fn hear(host: Weak<Host>, database: Place, ready: oneshot::Sender<()>) {
    let mut ready = Some(ready);
    loop {
        let mut listener = match stream::listen(&database, &[ASKED, TOLD]).await {
            Ok(listener) => listener,
            Err(error) => {
                tracing::warn!(%error, "cannot receive events from other processes; retrying");
                sleep(AGAIN).await;
                continue;
            }
        };
        let Some((streams, process)) = begin_to_hear(&host).await else { return };
        if let Some(ready) = ready.take() {
            // Fails if the starting server no longer waits.
            let _ = ready.send(());
        }
        let mut assembly = Assembly::default();
        // The announcements of this process arrive as well, so silence means a lost connection.
        while let Ok(Ok(Some(notification))) = timeout(COUNTS, listener.try_recv()).await {
            streams.notified(&process, &mut assembly, &notification);
        }
        tracing::warn!("lost the connection for events of other processes; reconnecting");
    }
}

/// Requests the subscriptions of the other processes and marks all subscribers as behind.
async fn begin_to_hear(host: &Weak<Host>) -> Option<(Arc<Streams>, String)> {
    let host = host.upgrade()?;
    say(&host, WHO, &[]).await;
    host.streams.all_may_have_missed();
    Some((Arc::clone(&host.streams), host.owner.clone()))
}

async fn ask(host: Weak<Host>) {
    let mut ticks = interval(PAUSE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut round = 0_u32;
    loop {
        let Some(streams) = host.upgrade().map(|it| Arc::clone(&it.streams)) else { return };
        let all = tokio::select! {
            _ = ticks.tick() => {
                round = round.wrapping_add(1);
                round.is_multiple_of(ROUND)
            }
            () = streams.who.notified() => true,
        };
        let Some(host) = host.upgrade() else { return };
        let (subscribed, unchecked) = streams.to_ask();
        if all {
            ask_for(&host, &[], false).await;
            for chunk in subscribed.chunks(AT_ONCE) {
                ask_for(&host, &chunk.iter().map(String::as_str).collect::<Vec<_>>(), false).await;
            }
        }
        for chunk in if all { subscribed } else { unchecked }.chunks(AT_ONCE) {
            let _permit = streams.reading.acquire().await;
            match stream::newest(&host.readers, &chunk.iter().map(String::as_str).collect::<Vec<_>>()).await {
                Ok(found) => found.iter().for_each(|(conversation, turn)| streams.has_ended(conversation, turn)),
                Err(error) => tracing::warn!(%error, "cannot check whether subscribers have missed a turn"),
            }
        }
    }
}

impl Streams {
    /// Returns all conversations with local subscribers and those not checked yet; drops expired subscriptions of other processes.
    fn to_ask(&self) -> (Vec<String>, Vec<String>) {
        let mut rooms = self.rooms();
        let now = Instant::now();
        if let Some(bus) = &mut rooms.afar {
            bus.wanted.retain(|_, until| *until > now);
        }
        let take_unchecked =
            |(conversation, room): (&String, &mut Room)| (!std::mem::replace(&mut room.checked, true)).then(|| conversation.clone());
        let unchecked = rooms.by_conversation.iter_mut().filter_map(take_unchecked).collect();
        (rooms.by_conversation.keys().cloned().collect(), unchecked)
    }

    /// Records the latest ended turn of a conversation; subscribers that did not see it end check what they have missed.
    fn has_ended(&self, conversation: &str, turn: &str) {
        let mut rooms = self.rooms();
        let Some(room) = rooms.by_conversation.get_mut(conversation) else { return };
        if room.ended.as_deref() != Some(turn) {
            room.ended = Some(Arc::from(turn));
            room.listeners.iter().for_each(|it| it.may_have_missed());
        }
    }

    fn all_may_have_missed(&self) {
        let rooms = self.rooms();
        rooms.by_conversation.values().flat_map(|it| &it.listeners).for_each(|it| it.may_have_missed());
    }

    fn notified(&self, process: &str, assembly: &mut Assembly, notification: &PgNotification) {
        if notification.channel() == ASKED {
            self.asked(process, notification.payload());
            return;
        }
        match assembly.take(process, notification.payload(), |it| self.rooms().by_conversation.contains_key(it)) {
            Some(Telling::Events(conversation, chunk)) => self.deliver(&conversation, &chunk),
            Some(Telling::Lost) => self.all_may_have_missed(),
            None => {}
        }
    }

    /// Handles a request of another process.
    fn asked(&self, this_process: &str, payload: &str) {
        let mut words = payload.split(' ').filter(|it| !it.is_empty());
        let (Some(process), Some(kind)) = (words.next(), words.next()) else { return };
        if process == this_process {
            return;
        }
        if kind == WHO {
            self.who.notify_one();
        }
        for conversation in words {
            match &mut self.rooms().afar {
                Some(afar) => afar.wanted.insert(conversation.to_owned(), Instant::now() + COUNTS),
                None => return,
            };
            let so_far = if kind == AGAIN_TOO { self.told_so_far(conversation) } else { None };
            if let (Some(chunk), Some(afar)) = (so_far, &mut self.rooms().afar) {
                afar.send(conversation, &Arc::new(Chunk { again: true, ..chunk }));
            }
        }
    }
}
