//! Listeners at one process, turns at another. (PostgreSQL)
//!
//! A process says what somebody listens to at it, again and again while that is so; the others tell it of those conversations, and of
//! no others, so that a turn that nobody hears sends nothing. Nothing of this is relied on: a listener sees a gap by the numbers of
//! the events, and whether there is a newer turn than it has heard is asked of the database from time to time, and whenever
//! the connection was lost. What is missing is then told from the journals.

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

/// Where processes say what is listened to, and where they tell it.
const ASKED: &str = "convengine_asked";
const TOLD: &str = "convengine_told";

/// What a process says of conversations: that it wants to be told of them from now on, or also what was told of turns that run; and, of
/// none, that it has not heard what the others have said.
const FROM_NOW_ON: &str = "-";
const AGAIN_TOO: &str = "again";
const WHO: &str = "who";

/// How often it is looked whether new listeners have missed anything, and after how many times the same is done for all, and all that
/// is listened to is said again.
const PAUSE: Duration = Duration::from_secs(2);
const ROUND: u32 = 10;

/// How long it counts.
const COUNTS: Duration = Duration::from_secs(60);

/// How long a server that starts waits until it hears the others.
const START: Duration = Duration::from_secs(5);

/// How long to wait before the database is tried again.
const AGAIN: Duration = Duration::from_millis(200);

/// Most bytes that wait for the database; what comes then is given up, and the others are told that.
const MOST: usize = 16 * 1024 * 1024;

/// Conversations in one notification, and in one question to the database.
const AT_ONCE: usize = 200;

/// What the other processes listen to, and the way to them.
#[derive(Debug)]
pub(super) struct Afar {
    wanted: BTreeMap<String, Instant>,
    queue: mpsc::UnboundedSender<Telling>,
    waiting: Arc<AtomicUsize>,
    lost: bool,
}

impl Afar {
    /// Whether somebody listens to a conversation elsewhere.
    pub fn wants(&self, conversation: &str) -> bool {
        self.wanted.get(conversation).is_some_and(|it| *it > Instant::now())
    }

    /// Tells it there, when somebody listens.
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

    fn push(&self, telling: Telling) {
        self.waiting.fetch_add(telling.len(), Ordering::Relaxed);
        // Nobody is told anything any more when the server stops.
        let _ = self.queue.send(telling);
    }
}

/// The work of telling and hearing; see [`share`].
#[derive(Debug)]
pub struct Sharing {
    streams: Arc<Streams>,
    hearing: JoinHandle<()>,
    asking: JoinHandle<()>,
    telling: JoinHandle<()>,
}

impl Sharing {
    /// Ends it once all is told.
    pub async fn end(self) {
        self.hearing.abort();
        self.asking.abort();
        self.streams.rooms().afar = None;
        // It ends with its queue.
        let _ = self.telling.await;
    }
}

/// Shares the streams of a host with those of other processes, where there may be some. What is listened to there is heard of from then
/// on, unless the database does not answer for a while.
pub async fn share(host: &Arc<Host>, place: &Place) -> Option<Sharing> {
    if !host.readers.is_shared() || !host.offers.any() {
        return None;
    }
    let ((to, queue), waiting) = (mpsc::unbounded_channel(), Arc::new(AtomicUsize::new(0)));
    let afar = Afar { wanted: BTreeMap::new(), queue: to, waiting: Arc::clone(&waiting), lost: false };
    host.streams.rooms().afar = Some(afar);
    let (ready, hears) = oneshot::channel();
    let sharing = Sharing {
        streams: Arc::clone(&host.streams),
        hearing: tokio::spawn(hear(Arc::downgrade(host), place.clone(), ready)),
        asking: tokio::spawn(ask(Arc::downgrade(host))),
        telling: tokio::spawn(tell(host.readers.clone(), host.owner.clone(), queue, waiting)),
    };
    // A server that cannot hear the others yet serves its own.
    let _ = timeout(START, hears).await;
    Some(sharing)
}

/// Says that conversations are listened to here; also that what was told so far of turns that run is wanted again.
pub(super) async fn ask_for(host: &Host, conversations: &[&str], again: bool) {
    say(host, if again { AGAIN_TOO } else { FROM_NOW_ON }, conversations).await;
}

async fn say(host: &Host, kind: &str, conversations: &[&str]) {
    let payload = format!("{} {kind} {}", host.owner, conversations.join(" "));
    if let Err(error) = stream::notify(&host.readers, ASKED, &payload).await {
        tracing::warn!(%error, "other processes cannot be asked for the events of their turns");
    }
}

async fn tell(pool: Pool, own: String, mut queue: mpsc::UnboundedReceiver<Telling>, waiting: Arc<AtomicUsize>) {
    while let Some(telling) = queue.recv().await {
        for part in telling.parts(&own) {
            while let Err(error) = stream::notify(&pool, TOLD, &part).await {
                tracing::warn!(%error, "other processes cannot be told the events of turns yet");
                sleep(AGAIN).await;
            }
        }
        waiting.fetch_sub(telling.len(), Ordering::Relaxed);
    }
}

async fn hear(host: Weak<Host>, place: Place, ready: oneshot::Sender<()>) {
    let mut ready = Some(ready);
    loop {
        let mut listener = match stream::listen(&place, &[ASKED, TOLD]).await {
            Ok(listener) => listener,
            Err(error) => {
                tracing::warn!(%error, "the events of other processes cannot be heard yet");
                sleep(AGAIN).await;
                continue;
            }
        };
        let Some((streams, own)) = begin_to_hear(&host).await else { return };
        if let Some(ready) = ready.take() {
            // A server that starts has waited for it, or not any more.
            let _ = ready.send(());
        }
        let mut assembly = Assembly::default();
        // One hears at least oneself.
        while let Ok(Ok(Some(notification))) = timeout(COUNTS, listener.try_recv()).await {
            streams.notified(&own, &mut assembly, &notification);
        }
        tracing::warn!("the connection over which the events of other processes are heard is lost");
    }
}

/// What was said before is asked for; what was told before may be missing.
async fn begin_to_hear(host: &Weak<Host>) -> Option<(Arc<Streams>, String)> {
    let host = host.upgrade()?;
    say(&host, WHO, &[]).await;
    host.streams.all_may_have_missed();
    Some((Arc::clone(&host.streams), host.owner.clone()))
}

async fn ask(host: Weak<Host>) {
    let mut pauses = interval(PAUSE);
    pauses.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut round = 0_u32;
    loop {
        let Some(streams) = host.upgrade().map(|it| Arc::clone(&it.streams)) else { return };
        let all = tokio::select! {
            _ = pauses.tick() => {
                round = round.wrapping_add(1);
                round.is_multiple_of(ROUND)
            }
            () = streams.who.notified() => true,
        };
        let Some(host) = host.upgrade() else { return };
        let (listened, unchecked) = streams.to_ask();
        if all {
            ask_for(&host, &[], false).await;
            for some in listened.chunks(AT_ONCE) {
                ask_for(&host, &some.iter().map(String::as_str).collect::<Vec<_>>(), false).await;
            }
        }
        for some in if all { listened } else { unchecked }.chunks(AT_ONCE) {
            let _permit = streams.reading.acquire().await;
            match stream::newest(&host.readers, &some.iter().map(String::as_str).collect::<Vec<_>>()).await {
                Ok(found) => found.iter().for_each(|(conversation, turn)| streams.has_ended(conversation, turn)),
                Err(error) => tracing::warn!(%error, "whether listeners have missed a turn cannot be seen"),
            }
        }
    }
}

impl Streams {
    /// What is listened to here, and what of it for the first time; forgets what others do not listen to any more.
    fn to_ask(&self) -> (Vec<String>, Vec<String>) {
        let mut rooms = self.rooms();
        let now = Instant::now();
        if let Some(afar) = &mut rooms.afar {
            afar.wanted.retain(|_, until| *until > now);
        }
        let new = |(conversation, room): (&String, &mut Room)| (!std::mem::replace(&mut room.checked, true)).then(|| conversation.clone());
        let unchecked = rooms.by_conversation.iter_mut().filter_map(new).collect();
        (rooms.by_conversation.keys().cloned().collect(), unchecked)
    }

    /// Notes that a turn has ended: its listeners have heard it, or have missed something.
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

    fn notified(&self, own: &str, assembly: &mut Assembly, notification: &PgNotification) {
        if notification.channel() == ASKED {
            self.asked(own, notification.payload());
            return;
        }
        match assembly.take(own, notification.payload(), |it| self.rooms().by_conversation.contains_key(it)) {
            Some(Telling::Events(conversation, chunk)) => self.deliver(&conversation, &chunk),
            Some(Telling::Lost) => self.all_may_have_missed(),
            None => {}
        }
    }

    /// Another process has listeners.
    fn asked(&self, own: &str, payload: &str) {
        let mut words = payload.split(' ').filter(|it| !it.is_empty());
        let (Some(process), Some(kind)) = (words.next(), words.next()) else { return };
        if process == own {
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
            let again = if kind == AGAIN_TOO { self.told_so_far(conversation) } else { None };
            if let (Some(chunk), Some(afar)) = (again, &mut self.rooms().afar) {
                afar.send(conversation, &Arc::new(Chunk { again: true, ..chunk }));
            }
        }
    }
}
