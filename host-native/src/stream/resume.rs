//! How a listener goes on after the last event that it has heard.
//!
//! It listens first, so that nothing is missed from then on. Then the turns from the given one on are read: those that have ended are run
//! again from their journals, which gives the same events; what one that runs here has told so far is in its notices; one that runs
//! elsewhere is asked for by [`super::afar`]. What of them waits in the listener's queue by then is known and cut off.

use std::sync::Arc;

use convengine_core::turn::Slice;
use serde_json::json;
use tokio::sync::mpsc;

use super::chunk::Chunk;
use super::heard::{Came, Heard};
use super::told::closing;
use super::{Streams, Subscription, afar, event};
use crate::audit::NOT_DERIVABLE;
use crate::audit::derive::{self, Configs};
use crate::drive::Host;
use crate::http::request::uuid;
use crate::store::stream;
use crate::store::turn::{self, StoredTurn};

/// Most turns that are told from their journals, beside the one that was heard last.
pub const MOST_TURNS: usize = 32;

/// What comes of running turns again.
#[derive(Debug)]
pub(super) enum Replayed {
    /// Events.
    Chunk(Chunk),
    /// The place at which to go on is not known any more, or too long ago.
    Unknown,
    /// The database cannot be read: the listener had better come back.
    Failed,
}

/// What a listener is told before it hears what happens.
struct Plan {
    /// Turns that have ended.
    ended: Vec<String>,
    /// What a turn that runs here has told.
    running: Option<Chunk>,
    /// Whether a turn runs elsewhere.
    elsewhere: bool,
}

impl Streams {
    /// Listens to a conversation, which need not exist: from now on, or after the event with an id. Answers whether that could be done
    /// when there is an id.
    pub async fn listen(self: &Arc<Self>, conversation: &str, after: Option<&str>) -> (Subscription, Option<bool>) {
        let mut subscription = self.subscribe(conversation);
        let Some(host) = self.host() else { return (subscription, after.map(|_| false)) };
        if host.readers.is_shared() {
            let _permit = self.reading.acquire().await;
            afar::ask_for(&host, &[conversation], false).await;
        }
        if let Some((turn, seq)) = after.and_then(place) {
            match self.plan(&host, conversation, Some(&turn)).await {
                Ok(Some(plan)) => {
                    subscription.heard = Heard::up_to(turn, seq);
                    subscription.replay = Some(self.replay(conversation, plan));
                    return (subscription, Some(true));
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "the events that a listener has missed cannot be read"),
            }
        }
        if host.readers.is_shared() {
            subscription.heard = self.place_of_new(&host, conversation).await;
        }
        (subscription, after.map(|_| false))
    }

    /// Where a listener has come: what it misses later is counted from there.
    async fn place_of_new(&self, host: &Host, conversation: &str) -> Heard {
        let _permit = self.reading.acquire().await;
        let latest = match stream::latest(&host.readers, conversation).await {
            Ok(latest) => latest,
            Err(error) => {
                tracing::warn!(%error, "the turns before a stream cannot be read");
                return Heard::nothing_since(None, Came::Anytime);
            }
        };
        let turn = |open: bool| latest.iter().find(|it| it.open == open).map(|it| Arc::from(it.turn_id.as_str()));
        let (ended, open): (Option<Arc<str>>, _) = (turn(false), turn(true));
        if let (Some(room), Some(ended)) = (self.rooms().by_conversation.get_mut(conversation), &ended) {
            room.ended.get_or_insert_with(|| Arc::clone(ended));
        }
        Heard::nothing_since(ended, Came::During(open))
    }

    /// Looks for what a listener may have missed after a turn.
    pub(super) fn catch_up(self: &Arc<Self>, conversation: &str, turn: Option<Arc<str>>) -> mpsc::Receiver<Replayed> {
        let (out, replay) = mpsc::channel(1);
        let (streams, conversation) = (Arc::clone(self), conversation.to_owned());
        tokio::spawn(async move {
            let Some(host) = streams.host() else { return };
            let plan = streams.plan(&host, &conversation, turn.as_deref()).await;
            drop(host);
            let end = match plan {
                Ok(Some(plan)) => return streams.tell_all(&conversation, plan, &out).await,
                Ok(None) => Replayed::Unknown,
                Err(error) => {
                    tracing::warn!(%error, "the events that a listener has missed cannot be read: its stream ends");
                    Replayed::Failed
                }
            };
            // One who has gone is told nothing.
            let _ = out.send(end).await;
        });
        replay
    }

    fn replay(self: &Arc<Self>, conversation: &str, plan: Plan) -> mpsc::Receiver<Replayed> {
        let (out, replay) = mpsc::channel(1);
        let (streams, conversation) = (Arc::clone(self), conversation.to_owned());
        tokio::spawn(async move { streams.tell_all(&conversation, plan, &out).await });
        replay
    }

    /// What is to be told from a turn on; nothing when it is not one of the conversation, or too long ago.
    async fn plan(&self, host: &Host, conversation: &str, turn: Option<&str>) -> sqlx::Result<Option<Plan>> {
        let _permit = self.reading.acquire().await;
        // Before the database is read: a turn that ends in between is found there.
        let running = self.told_so_far(conversation);
        let most = i64::try_from(MOST_TURNS).unwrap_or(i64::MAX).saturating_add(3);
        let found = stream::since(&host.readers, conversation, turn, most).await?;
        let (open, ended): (Vec<_>, Vec<_>) = found.into_iter().partition(|it| it.open);
        let ended: Vec<String> = ended.into_iter().map(|it| it.turn_id).collect();
        let of = |chunk: &Chunk| chunk.span.as_ref().map(|it| Arc::clone(&it.turn));
        let running = running.filter(|it| of(it).is_some_and(|it| !ended.contains(&it.to_string())));
        let here = running.as_ref().and_then(of);
        let known = turn.is_none() || !open.is_empty() || !ended.is_empty() || here.as_deref() == turn;
        if !known || ended.len() > MOST_TURNS + 1 {
            return Ok(None);
        }
        let elsewhere = open.iter().any(|it| here.as_deref() != Some(it.turn_id.as_str()));
        Ok(Some(Plan { ended, running, elsewhere }))
    }

    /// Runs turns again, one at a time, as quickly as they are taken. The host is held no longer than for one: it must be able to stop.
    async fn tell_all(self: &Arc<Self>, conversation: &str, plan: Plan, out: &mpsc::Sender<Replayed>) {
        let mut configs = None;
        for turn in plan.ended {
            let Some(host) = self.host() else { return };
            let configs = configs.get_or_insert_with(|| Configs::with(&host.current.now().config));
            let told = match self.of_stored(&host, configs, &turn).await {
                Ok(Some(chunk)) => Replayed::Chunk(chunk),
                // It was forgotten meanwhile.
                Ok(None) => continue,
                Err(error) => {
                    tracing::warn!(%error, "the events that a listener has missed cannot be read: its stream ends");
                    Replayed::Failed
                }
            };
            drop(host);
            if out.send(told).await.is_err() {
                return;
            }
        }
        if let Some(chunk) = plan.running
            && out.send(Replayed::Chunk(chunk)).await.is_err()
        {
            return;
        }
        if let (true, Some(host)) = (plan.elsewhere, self.host()) {
            afar::ask_for(&host, &[conversation], true).await;
        }
    }

    async fn of_stored(&self, host: &Host, configs: &mut Configs, turn: &str) -> sqlx::Result<Option<Chunk>> {
        let _permit = self.reading.acquire().await;
        let Some(stored) = turn::of_id(&host.readers, turn).await? else { return Ok(None) };
        let config = configs.of(&host.readers, &stored.config_hash).await?;
        derive::aside(move || {
            derive::again(&stored, config.as_ref()).map_or_else(|it| not_derivable(&stored, &it), |it| rendered(&stored, it))
        })
        .await
        .map(Some)
    }
}

/// The events of a stored turn as they were told.
fn rendered(stored: &StoredTurn, again: Slice) -> Chunk {
    let turn = Arc::from(stored.turn_id.as_str());
    let notices = again.notices;
    let mut wire = event::rendered(&turn, &notices, stored.total_ms);
    let closing = again.end.as_ref().and_then(closing);
    let end = notices.len() + usize::from(closing.is_some());
    if let Some(payload) = closing {
        let at = notices.last().map_or(stored.created_at, |it| it.at);
        event::unstored(&mut wire, &turn, notices.len(), "ENGINE_RETURN", at, payload);
    }
    Chunk::of(&turn, 0, end, wire)
}

/// One event in the place of those that cannot be told any more; there is none after it.
fn not_derivable(stored: &StoredTurn, reason: &str) -> Chunk {
    let turn = Arc::from(stored.turn_id.as_str());
    let mut wire = String::new();
    let payload = json!({"turn": stored.number, "turnId": stored.turn_id, "reason": reason});
    event::unstored(&mut wire, &turn, usize::MAX, NOT_DERIVABLE, stored.created_at, payload);
    Chunk::of(&turn, usize::MAX, usize::MAX, wire)
}

/// The turn and the number of an event's id.
fn place(id: &str) -> Option<(Arc<str>, u32)> {
    let (turn, seq) = id.trim().rsplit_once(':')?;
    Some((Arc::from(uuid(turn)?), seq.parse().ok()?))
}
