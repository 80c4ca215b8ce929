//! Runs what happens to a session.

use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::turn::{Loaded, Map, Millis, UserEvent};
use serde_json::{Value, json};

use super::plan;
use super::upgrade::Upgrade;
use crate::clock;
use crate::drive::{self, Answered, Host, Message, Refusal};
use crate::store::assistant::session::{self, Session};
use crate::stream::live::Ear;

/// The member of a timer's event that says which revision of the session has armed it.
pub const OF_SEQ: &str = "of_seq";

/// A session of an assistant, as a turn of it needs to know it.
#[derive(Debug, Clone)]
pub struct Running {
    /// The session.
    pub session: String,
    /// Its assistant.
    pub assistant: String,
    /// The deployment that began it; absent in the simulator.
    pub deployment: Option<String>,
    /// The version that it runs on; absent for a draft.
    pub version: Option<i64>,
    /// What it runs on.
    pub config: Arc<Config>,
    /// Whether that stands for a document that is not kept any more.
    pub is_lost: bool,
    /// Whether it is about to begin.
    pub is_new: bool,
    /// The version to which it goes, if it can.
    pub upgrade: Option<Upgrade>,
}

impl Running {
    /// A stored session. One whose document is not kept any more runs on an empty one, on which it fails. (`convoship.md` 2.3)
    ///
    /// # Errors
    /// What the database says.
    pub async fn of(host: &Host, id: &str, stored: &Session) -> sqlx::Result<Running> {
        let kept = host.flows.of(&host.readers, &stored.snapshot).await?;
        let is_lost = kept.is_none();
        let (config, upgrade) = match kept {
            Some(config) => {
                let upgrade = Upgrade::of(host, stored, &config).await?;
                (config, upgrade)
            }
            None => {
                tracing::error!(session = id, snapshot = stored.snapshot, "what a session runs on is not kept: its next turn fails");
                (host.flows.take(host, &empty(&stored.assistant)).await?.ok_or(sqlx::Error::RowNotFound)?, None)
            }
        };
        Ok(Running {
            session: id.to_owned(),
            assistant: stored.assistant.clone(),
            deployment: stored.deployment.clone(),
            version: stored.version,
            config,
            is_lost,
            is_new: false,
            upgrade,
        })
    }

    /// Runs the turn of an event.
    ///
    /// # Errors
    /// [`Refusal`]; the session is then as it was before.
    pub async fn hears(&self, host: &Arc<Host>, event: Map) -> Result<Answered, Refusal> {
        self.tells(host, event, None).await
    }

    /// As [`Running::hears`], and tells somebody of it while it runs.
    ///
    /// # Errors
    /// As there.
    pub async fn tells(&self, host: &Arc<Host>, mut event: Map, ear: Option<Ear>) -> Result<Answered, Refusal> {
        let key = event.get("event_id").and_then(Value::as_str).map(|it| event_key(&self.session, it));
        event.insert("assistant".to_owned(), json!(self.assistant));
        event.extend(self.version.map(|it| ("version".to_owned(), json!(it))));
        event.extend(self.deployment.as_ref().map(|it| ("deployment".to_owned(), json!(it))));
        let left = self.budget_left(host, clock::now()).await?;
        event.extend(left.map(|it| ("budget_left".to_owned(), json!(it))));
        let message = Message::of_session(&self.session, UserEvent::of_flow(Value::Object(event)), Arc::clone(&self.config));
        // Trying an assistant out is no use of the plan.
        let counted = self.assistant_counted();
        drive::told(Arc::clone(host), Message { ear, counted, upgrade: self.upgrade.clone(), ..message.named(key) }).await
    }

    /// The assistant for which the plan counts a session, where this is the beginning of one.
    fn assistant_counted(&self) -> Option<String> {
        (self.is_new && self.deployment.is_some()).then(|| self.assistant.clone())
    }

    /// Microcents that models may still cost this month; nothing without a cap.
    async fn budget_left(&self, host: &Host, now: Millis) -> sqlx::Result<Option<i64>> {
        let cap = self.config.flow.as_ref().and_then(|it| it.document.settings.monthly_llm_spend_cap_cents);
        let Some(cap) = cap else { return Ok(None) };
        let spent = session::used(&host.readers, &host.workspace, "llm", plan::month(now), Some(&self.assistant)).await?;
        let cap = i64::try_from(cap.saturating_mul(plan::MICROCENTS)).unwrap_or(i64::MAX);
        Ok(Some(cap.saturating_sub(spent).max(0)))
    }
}

/// A document in which no session finds its graphs.
fn empty(assistant: &str) -> Value {
    let graph = json!({"id": "lost", "kind": "root", "name": "Lost", "entry": "end", "nodes": [
        {"id": "end", "type": "end", "name": "End", "data": {}},
    ], "edges": []});
    json!({"schema_version": "1.0", "doc": "conversation_flow", "id": assistant, "name": assistant, "root": "lost",
        "default_locale": "en", "graphs": [graph], "intents": []})
}

/// Whether a session as it is now takes an event.
///
/// # Errors
/// That it goes on no more, or that it has gone on since the timer was armed that fires.
pub fn takes(session: &Loaded, event: &UserEvent) -> Result<(), Refusal> {
    let state = session.flow.as_ref();
    let status = state.and_then(|it| it.get("status")?.as_str());
    if status.is_some_and(|it| !["active", "handed_off"].contains(&it)) {
        return Err(Refusal::Closed);
    }
    let of_seq = event.flow.as_ref().and_then(|it| it.get(OF_SEQ)?.as_i64());
    let seq = state.and_then(|it| it.get("seq")?.as_i64());
    if of_seq.is_some() && of_seq != seq { Err(Refusal::Late) } else { Ok(()) }
}

/// The first moment at which the next event of a session can happen.
pub fn after(session: &Loaded) -> Millis {
    let last = session.flow.as_ref().and_then(|it| it.get("last_event_at")?.as_str()).and_then(clock::parse);
    last.map_or(0, |it| it + 1)
}

/// The name under which an event of a session is known.
pub fn event_key(session: &str, event: &str) -> String {
    format!("{session}/{event}")
}
