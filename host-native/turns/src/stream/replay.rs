//! Resumes a stream after the last event that a subscriber has received.
//!
//! The subscription starts first, so that no new event is missed. Then the turns from the given one are read: ended turns are replayed
//! from their journals, which produces the same events; events so far of a turn running in this process come from its notices; those of
//! a turn running elsewhere are requested by [`super::cluster`], on a Restate cluster without knowing whether there is one. Duplicates in
//! the subscriber's queue are skipped.

use std::sync::Arc;
use std::time::Duration;

use convengine_access::caller::ConversationAccess;
use convengine_content::Content;
use convengine_core::turn::Slice;
use convengine_host_base::uuid_text::parse_uuid;
use convengine_storage::turn::{self, StoredTurn};
use convengine_storage::{owner, stream};
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::chunk::Chunk;
use super::cursor::{JoinPoint, StreamCursor};
use super::publication::{CLOSING_STAGE, closing_payload};
use super::{Streams, Subscription, cluster, event};
use crate::Turns;
use crate::audit::NOT_DERIVABLE;
use crate::audit::derive::{self, ConfigCache};

/// Maximum number of turns replayed from their journals, besides the one received last.
pub const MAX_REPLAYED_TURNS: usize = 32;

/// How long the process that runs a turn may take to publish its events again.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// An item of a replay.
#[derive(Debug)]
pub(super) enum ReplayItem {
    /// Replayed events.
    Chunk(Chunk),
    /// The position is unknown or too old.
    UnknownPosition,
    /// The database is unavailable; the client must reconnect.
    Failed,
}

/// What to send to a subscriber before live events.
#[derive(Default)]
struct ReplayPlan {
    /// Ended turns.
    ended: Vec<String>,
    /// The events so far of a turn running in this process.
    running: Option<Chunk>,
    /// Whether a turn is running in another process, or may be.
    elsewhere: bool,
}

impl Streams {
    /// Subscribes to a conversation, which need not exist, from now on or after the event with an id. With an id it also returns whether
    /// the stream could be resumed.
    pub async fn subscribe_from(
        self: &Arc<Self>,
        conversation: &str,
        after: Option<&str>,
        access: &ConversationAccess,
    ) -> (Subscription, Option<bool>) {
        let mut subscription = self.subscribe(conversation, access);
        let Some(turns) = self.turns() else { return (subscription, after.map(|_| false)) };
        if turns.readers.is_shared() {
            let _permit = self.read_permits.acquire().await;
            cluster::request_events(&turns, &[conversation], false).await;
        }
        if let Some((turn, seq)) = after.and_then(parse_event_id) {
            match self.plan_replay(&turns, conversation, Some(&turn)).await {
                Ok(Some(plan)) => {
                    subscription.cursor = StreamCursor::after_event(turn, seq);
                    subscription.replay = Some(self.start_replay(conversation, plan));
                    return (subscription, Some(true));
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "cannot read the events that a subscriber has missed"),
            }
        }
        if turns.readers.is_shared() {
            subscription.cursor = self.cursor_for_new(&turns, conversation).await;
        }
        (subscription, after.map(|_| false))
    }

    /// Whether a caller may receive the events of a conversation, which need not exist.
    pub async fn may_subscribe(&self, conversation: &str, access: &ConversationAccess) -> sqlx::Result<bool> {
        if access.sees_all() {
            return Ok(true);
        }
        let Some(turns) = self.turns() else { return Ok(false) };
        Ok(access.may_read(owner::find(&turns.readers, conversation).await?.as_deref()))
    }

    /// Creates the cursor of a new subscriber, from which later gaps are detected.
    async fn cursor_for_new(&self, turns: &Turns, conversation: &str) -> StreamCursor {
        let _permit = self.read_permits.acquire().await;
        let latest = match stream::list_latest(&turns.readers, conversation).await {
            Ok(latest) => latest,
            Err(error) => {
                tracing::warn!(%error, "cannot read the turns before a stream");
                return StreamCursor::after_turn(None, JoinPoint::AnyTurn);
            }
        };
        let turn = |open: bool| latest.iter().find(|it| it.is_open == open).map(|row| Arc::from(row.turn_id.as_str()));
        let (ended, open): (Option<Arc<str>>, _) = (turn(false), turn(true));
        if let (Some(room), Some(ended)) = (self.rooms().by_conversation.get_mut(conversation), &ended) {
            room.ended_turn.get_or_insert_with(|| Arc::clone(ended));
        }
        // A turn on a Restate cluster has no rows while it runs.
        let joined = if turns.cluster.is_some() { JoinPoint::AnyTurn } else { JoinPoint::DuringTurn(open) };
        StreamCursor::after_turn(ended, joined)
    }

    /// Starts a replay of what a subscriber may have missed after a turn.
    pub(super) fn catch_up(
        self: &Arc<Self>,
        conversation: &str,
        turn: Option<Arc<str>>,
        access: ConversationAccess,
    ) -> mpsc::Receiver<ReplayItem> {
        let (out, replay) = mpsc::channel(1);
        let (streams, conversation) = (Arc::clone(self), conversation.to_owned());
        tokio::spawn(async move {
            let Some(turns) = streams.turns() else { return };
            // It may have begun since, and belong to another caller.
            let plan = match streams.may_subscribe(&conversation, &access).await {
                Ok(true) => streams.plan_replay(&turns, &conversation, turn.as_deref()).await,
                Ok(false) => return drop(out.send(ReplayItem::Failed).await),
                Err(error) => Err(error),
            };
            drop(turns);
            let end = match plan {
                Ok(Some(plan)) => return streams.run_plan(&conversation, plan, &out).await,
                Ok(None) => ReplayItem::UnknownPosition,
                Err(error) => {
                    tracing::warn!(%error, "cannot read the events that a subscriber has missed; closing its stream");
                    ReplayItem::Failed
                }
            };
            // Fails if the subscriber has disconnected.
            let _ = out.send(end).await;
        });
        replay
    }

    fn start_replay(self: &Arc<Self>, conversation: &str, plan: ReplayPlan) -> mpsc::Receiver<ReplayItem> {
        let (out, replay) = mpsc::channel(1);
        let (streams, conversation) = (Arc::clone(self), conversation.to_owned());
        tokio::spawn(async move { streams.run_plan(&conversation, plan, &out).await });
        replay
    }

    /// Plans the replay from a turn. Returns `None` if the turn is not of the conversation or too old.
    async fn plan_replay(&self, turns: &Turns, conversation: &str, turn: Option<&str>) -> sqlx::Result<Option<ReplayPlan>> {
        let plan = self.read_plan(turns, conversation, turn).await?;
        match turn {
            Some(turn) if plan.is_none() && turns.cluster.is_some() => {
                if self.request_turn(turns, conversation, turn).await {
                    // Its events are in the queue of the subscriber.
                    return Ok(Some(ReplayPlan::default()));
                }
                // It may have ended meanwhile.
                self.read_plan(turns, conversation, Some(turn)).await
            }
            _ => Ok(plan),
        }
    }

    /// Reads from the database what is to be replayed from a turn.
    async fn read_plan(&self, turns: &Turns, conversation: &str, turn: Option<&str>) -> sqlx::Result<Option<ReplayPlan>> {
        let _permit = self.read_permits.acquire().await;
        // Read before the database: a turn that ends in between is found there.
        let running = self.published_events(conversation);
        let limit = i64::try_from(MAX_REPLAYED_TURNS).unwrap_or(i64::MAX).saturating_add(3);
        let found = stream::list_since(&turns.readers, conversation, turn, limit).await?;
        let (open, ended): (Vec<_>, Vec<_>) = found.into_iter().partition(|it| it.is_open);
        let ended: Vec<String> = ended.into_iter().map(|it| it.turn_id).collect();
        let turn_of = |chunk: &Chunk| chunk.range.as_ref().map(|it| Arc::clone(&it.turn));
        let running = running.filter(|chunk| turn_of(chunk).is_some_and(|id| !ended.contains(&id.to_string())));
        let here = running.as_ref().and_then(turn_of);
        let known = turn.is_none() || !open.is_empty() || !ended.is_empty() || here.as_deref() == turn;
        if !known || ended.len() > MAX_REPLAYED_TURNS + 1 {
            return Ok(None);
        }
        let elsewhere = turns.cluster.is_some() || open.iter().any(|row| here.as_deref() != Some(row.turn_id.as_str()));
        Ok(Some(ReplayPlan { ended, running, elsewhere }))
    }

    /// Requests the events so far of a turn that may run on a Restate cluster, where it has no rows until it ends. Returns whether they were
    /// published in time.
    async fn request_turn(&self, turns: &Turns, conversation: &str, turn: &str) -> bool {
        let mut replayed = self.replayed_turns.subscribe();
        cluster::request_events(turns, &[conversation], true).await;
        let answer = async {
            loop {
                match replayed.recv().await {
                    Ok((of, found)) if of == conversation && &*found == turn => return true,
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return false,
                }
            }
        };
        timeout(ANSWER_TIMEOUT, answer).await.unwrap_or(false)
    }

    /// Replays turns one at a time, as fast as they are received. Holds the host for one turn only, so that the server can stop.
    async fn run_plan(self: &Arc<Self>, conversation: &str, plan: ReplayPlan, out: &mpsc::Sender<ReplayItem>) {
        let mut configs = None;
        for turn in plan.ended {
            let Some(turns) = self.turns() else { return };
            let configs = configs.get_or_insert_with(|| ConfigCache::with_config(&turns.content.config_manager.active().config));
            let item = match self.replay_stored(&turns.content, configs, &turn).await {
                Ok(Some(chunk)) => ReplayItem::Chunk(chunk),
                // Deleted in the meantime.
                Ok(None) => continue,
                Err(error) => {
                    tracing::warn!(%error, "cannot read the events that a subscriber has missed; closing its stream");
                    ReplayItem::Failed
                }
            };
            drop(turns);
            if out.send(item).await.is_err() {
                return;
            }
        }
        if let Some(chunk) = plan.running
            && out.send(ReplayItem::Chunk(chunk)).await.is_err()
        {
            return;
        }
        if let (true, Some(turns)) = (plan.elsewhere, self.turns()) {
            cluster::request_events(&turns, &[conversation], true).await;
        }
    }

    async fn replay_stored(&self, content: &Content, configs: &mut ConfigCache, turn: &str) -> sqlx::Result<Option<Chunk>> {
        let _permit = self.read_permits.acquire().await;
        let Some(stored) = turn::find(&content.readers, turn).await? else { return Ok(None) };
        let config = configs.load(&content.readers, &stored.config_hash).await?;
        convengine_storage::run_blocking(move || {
            derive::replay_turn(&stored, config.as_ref())
                .map_or_else(|it| render_not_derivable(&stored, &it), |it| render_replayed(&stored, it))
        })
        .await
        .map(Some)
    }
}

/// Renders the events of a stored turn as they were published; progress texts are left out when they are sent.
fn render_replayed(stored: &StoredTurn, slice: Slice) -> Chunk {
    let turn = Arc::from(stored.turn_id.as_str());
    let notices = slice.notices;
    let mut wire = event::render_notices(&turn, &notices, stored.total_ms);
    let payload = slice.end.as_ref().and_then(|it| closing_payload(it, &notices));
    let end = notices.len() + usize::from(payload.is_some());
    if let Some(payload) = payload {
        let at = notices.last().map_or(stored.created_at, |it| it.at);
        event::write_unstored(&mut wire, &turn, notices.len(), CLOSING_STAGE, at, payload);
    }
    Chunk::for_turn(&turn, 0, end, wire).into_replay_of_ended()
}

/// Renders the single event that replaces those of a turn that cannot be derived.
fn render_not_derivable(stored: &StoredTurn, reason: &str) -> Chunk {
    let turn = Arc::from(stored.turn_id.as_str());
    let mut wire = String::new();
    let payload = json!({"turn": stored.number, "turnId": stored.turn_id, "reason": reason});
    event::write_unstored(&mut wire, &turn, usize::MAX, NOT_DERIVABLE, stored.created_at, payload);
    Chunk::for_turn(&turn, usize::MAX, usize::MAX, wire)
}

/// Parses an event id into its turn and number.
fn parse_event_id(id: &str) -> Option<(Arc<str>, u32)> {
    let (turn, seq) = id.trim().rsplit_once(':')?;
    Some((Arc::from(parse_uuid(turn)?), seq.parse().ok()?))
}
