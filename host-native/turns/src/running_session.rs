//! Runs the events of assistant sessions as turns.

use std::sync::Arc;

use convengine_access::caller::ConversationAccess;
use convengine_content::Content;
use convengine_content::spend_budget;
use convengine_core::config::Config;
use convengine_core::turn::{Map, UserEvent};
use convengine_host_base::clock;
use convengine_storage::assistant::session::Session;
use convengine_storage::assistant::{DocumentKind, ProgramKey};
use serde_json::{Value, json};

use super::upgrade::Upgrade;
use crate::Turns;
use crate::message::{Message, SubmitResult};
use crate::refusal::Refusal;
use crate::stream::live::Subscriber;
use crate::turn_runner;

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
    pub async fn from_stored(content: &Content, id: &str, stored: &Session) -> sqlx::Result<RunningSession> {
        let stored_config = content.flows.load(content, &stored.snapshot).await?;
        let is_lost = stored_config.is_none();
        let (config, upgrade) = match stored_config {
            Some(config) => {
                let upgrade = Upgrade::find(content, stored, &config).await?;
                (config, upgrade)
            }
            None => {
                tracing::error!(
                    session = id,
                    snapshot = stored.snapshot,
                    "the document of a session is no longer stored; its next turn will fail"
                );
                (content.flows.compile_and_store(content, empty_document(&stored.program)).await?.ok_or(sqlx::Error::RowNotFound)?, None)
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
    pub async fn submit_event(&self, turns: &Arc<Turns>, event: Map) -> Result<SubmitResult, Refusal> {
        self.submit_event_with_subscriber(turns, event, None).await
    }

    /// Like [`submit_event`](Self::submit_event), and publishes the turn to a subscriber while it runs.
    ///
    /// # Errors
    /// Returns [`Refusal`]; the session is then unchanged.
    pub async fn submit_event_with_subscriber(
        &self,
        turns: &Arc<Turns>,
        event: Map,
        subscriber: Option<Subscriber>,
    ) -> Result<SubmitResult, Refusal> {
        let message = self.to_message(turns, event).await?;
        turn_runner::submit(Arc::clone(turns), Message { subscriber, ..message }).await
    }

    /// Returns the message of an event.
    pub async fn to_message(&self, turns: &Arc<Turns>, mut event: Map) -> sqlx::Result<Message> {
        let key = event.get("event_id").and_then(Value::as_str).map(|it| event_key(&self.session, it));
        self.program.write_to(&mut event);
        event.extend(self.version.map(|version| ("version".to_owned(), json!(version))));
        event.extend(self.deployment.as_ref().map(|deployment| ("deployment".to_owned(), json!(deployment))));
        let left = spend_budget::find_remaining(&turns.content, &self.config, clock::now()).await?;
        event.extend(left.map(|left| ("budget_left".to_owned(), json!(left))));
        let model = turns.content.phrase_vectors.find_model(&turns.content, &self.config, self.version.is_some()).await?;
        event.extend(model.map(|model| ("phrase_vectors".to_owned(), json!(model))));
        let upgrade = match self.upgrade.clone() {
            Some(upgrade) => Some(upgrade.with_phrase_vectors(turns).await?),
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

/// Returns the idempotency key of a session event.
pub fn event_key(session: &str, event: &str) -> String {
    format!("{session}/{event}")
}
