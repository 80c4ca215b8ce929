//! Runs the events of assistant sessions as turns.

use std::sync::Arc;

use convengine_core::chain;
use convengine_core::config::Config;
use convengine_core::turn::{LoadedSession, Map, Millis, UserEvent};
use convengine_host_base::event_members::ARMED_SEQ;
use serde_json::{Value, json};

use super::spend_budget;
use super::upgrade::Upgrade;
use crate::auth::caller::ConversationAccess;
use crate::clock;
use crate::runtime::stream::live::Subscriber;
use crate::runtime::turn_runner::{self, Host, Message, Refusal, SubmitResult};
use crate::storage::assistant::session::Session;
use crate::storage::assistant::{DocumentKind, ProgramKey};

/// An assistant session with its compiled document.
#[derive(Debug, Clone)]
pub struct RunningSession {
    /// The session.
    pub session: String,
    /// Its assistant, workflow or AI agent.
    pub program: ProgramKey,
    /// The deployment that started it; absent in the simulator.
    pub deployment: Option<String>,
    /// The published version it runs on; absent for a draft.
    pub version: Option<i64>,
    /// The compiled document it runs on.
    pub config: Arc<Config>,
    /// Whether `config` replaces a document that is no longer stored.
    pub is_document_missing: bool,
    /// Whether the session has not started yet.
    pub is_new: bool,
    /// Which conversations the caller may use; the owner of a new session.
    pub access: ConversationAccess,
    /// The version it migrates to, if possible.
    pub upgrade: Option<Upgrade>,
}

impl RunningSession {
    /// Prepares a stored session. If its document is no longer stored, it runs on an empty document and fails. (docs/spec/flows.md#2.3)
    pub async fn from_stored(host: &Host, id: &str, stored: &Session) -> sqlx::Result<RunningSession> {
        let stored_config = host.flows.load(host, &stored.snapshot).await?;
        let is_lost = stored_config.is_none();
        let (config, upgrade) = match stored_config {
            Some(config) => {
                let upgrade = Upgrade::find(host, stored, &config).await?;
                (config, upgrade)
            }
            None => {
                tracing::error!(
                    session = id,
                    snapshot = stored.snapshot,
                    "the document of a session is no longer stored; its next turn will fail"
                );
                (host.flows.compile_and_store(host, empty_document(&stored.program)).await?.ok_or(sqlx::Error::RowNotFound)?, None)
            }
        };
        Ok(RunningSession {
            session: id.to_owned(),
            program: stored.program.clone(),
            deployment: stored.deployment.clone(),
            version: stored.version,
            config,
            is_document_missing: is_lost,
            is_new: false,
            access: ConversationAccess::all(),
            upgrade,
        })
    }

    /// Runs the turn of an event.
    ///
    /// # Errors
    /// Returns [`Refusal`]; the session is then unchanged.
    pub async fn submit_event(&self, host: &Arc<Host>, event: Map) -> Result<SubmitResult, Refusal> {
        self.submit_event_with_subscriber(host, event, None).await
    }

    /// Like [`submit_event`](Self::submit_event), and publishes the turn to a subscriber while it runs.
    ///
    /// # Errors
    /// Returns [`Refusal`]; the session is then unchanged.
    pub async fn submit_event_with_subscriber(
        &self,
        host: &Arc<Host>,
        event: Map,
        subscriber: Option<Subscriber>,
    ) -> Result<SubmitResult, Refusal> {
        let message = self.to_message(host, event).await?;
        turn_runner::submit(Arc::clone(host), Message { subscriber, ..message }).await
    }

    /// Returns the message of an event.
    pub async fn to_message(&self, host: &Arc<Host>, mut event: Map) -> sqlx::Result<Message> {
        let key = event.get("event_id").and_then(Value::as_str).map(|it| event_key(&self.session, it));
        self.program.write_to(&mut event);
        event.extend(self.version.map(|it| ("version".to_owned(), json!(it))));
        event.extend(self.deployment.as_ref().map(|it| ("deployment".to_owned(), json!(it))));
        let left = spend_budget::find_remaining(host, &self.config, clock::now()).await?;
        event.extend(left.map(|it| ("budget_left".to_owned(), json!(it))));
        let model = host.phrase_vectors.find_model(host, &self.config, self.version.is_some()).await?;
        event.extend(model.map(|it| ("phrase_vectors".to_owned(), json!(it))));
        let upgrade = match self.upgrade.clone() {
            Some(upgrade) => Some(upgrade.with_phrase_vectors(host).await?),
            None => None,
        };
        let message = Message::for_session(&self.session, UserEvent::from_flow_event(Value::Object(event)), Arc::clone(&self.config));
        let metered = self.metered_program();
        Ok(Message { metered_program: metered, upgrade, ..message.with_key(key).with_access(self.access.clone()) })
    }

    /// Whether this starts a session that counts against the plan.
    pub fn is_metered(&self) -> bool {
        self.metered_program().is_some()
    }

    /// Returns the document to meter when this starts a session of a user. Those of the team, such as in the simulator, are not metered.
    fn metered_program(&self) -> Option<ProgramKey> {
        let is_of_user = self.deployment.is_some() || !self.access.may_change_all();
        (self.is_new && is_of_user).then(|| self.program.clone())
    }
}

/// Returns a minimal document that has none of a session's graphs.
fn empty_document(program: &ProgramKey) -> Value {
    let id = program.id();
    if program.kind() == DocumentKind::Workflow {
        return json!({"schema_version": "1.0", "doc": "workflow_graph", "id": id, "name": id, "root": "end", "edges": [], "nodes": [
            {"id": "end", "type": "end", "name": "End", "data": {}},
        ]});
    }
    let graph = json!({"id": "lost", "kind": "root", "name": "Lost", "entry": "end", "nodes": [
        {"id": "end", "type": "end", "name": "End", "data": {}},
    ], "edges": []});
    json!({"schema_version": "1.0", "doc": "conversation_flow", "id": id, "name": id, "root": "lost",
        "default_locale": "en", "graphs": [graph], "intents": []})
}

/// Checks whether the session accepts an event.
///
/// # Errors
/// Returns [`Refusal::SessionEnded`] when the session has ended, [`Refusal::StaleTimer`] when it has advanced since the timer was armed.
pub fn check_event(session: &LoadedSession, event: &UserEvent) -> Result<(), Refusal> {
    let state = session.flow.as_ref();
    if state.and_then(|it| it.get("program")?.as_str()) == Some(chain::PROGRAM) {
        return check_run_event(state.map(|it| &**it), event);
    }
    let status = state.and_then(|it| it.get("status")?.as_str());
    if status.is_some_and(|it| !["active", "handed_off"].contains(&it)) {
        return Err(Refusal::SessionEnded);
    }
    let of_seq = event.flow.as_ref().and_then(|it| it.get(ARMED_SEQ)?.as_i64());
    let seq = state.and_then(|it| it.get("seq")?.as_i64());
    if of_seq.is_some() && of_seq != seq { Err(Refusal::StaleTimer) } else { Ok(()) }
}

/// Checks whether a run accepts an event.
fn check_run_event(state: Option<&Value>, event: &UserEvent) -> Result<(), Refusal> {
    let members = event.flow.as_deref().and_then(Value::as_object).cloned().unwrap_or_default();
    let of_seq = members.get(ARMED_SEQ).and_then(Value::as_i64);
    let seq = state.and_then(|it| it.get("seq")?.as_i64());
    if of_seq.is_some() && of_seq != seq {
        return Err(Refusal::StaleTimer);
    }
    match chain::check_event(state, &members) {
        Err(refusal) if refusal.code == "timer_not_armed" => Err(Refusal::StaleTimer),
        other => other.map_err(|it| Refusal::Run(Box::new(it))),
    }
}

/// Returns the earliest time of the session's next event.
pub fn earliest_event_at(session: &LoadedSession) -> Millis {
    let last = session.flow.as_ref().and_then(|it| it.get("last_event_at")?.as_str()).and_then(clock::parse);
    last.map_or(0, |it| it + 1)
}

/// Returns the idempotency key of a session event.
pub fn event_key(session: &str, event: &str) -> String {
    format!("{session}/{event}")
}
