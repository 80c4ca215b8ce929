//! What a user does, as it came in.

use std::sync::Arc;
use std::time::Instant;

use convengine_core::config::Config;
use convengine_core::turn::{Map, UserEvent};
use opentelemetry::trace::SpanContext;
use uuid::Uuid;

use crate::assistant::upgrade::Upgrade;
use crate::gate::PATIENCE;
use crate::stream::live::Ear;

/// A user's message as it came in.
#[derive(Debug, Clone)]
pub struct Message {
    /// The conversation, a UUID in lower case.
    pub conversation: String,
    /// What the user did.
    pub event: UserEvent,
    /// When it came in.
    pub received: Instant,
    /// Whether the client has named the conversation.
    pub names_conversation: bool,
    /// The client's name for the message, its `Idempotency-Key`.
    pub key: Option<String>,
    /// The span that it came from.
    pub caller: Option<SpanContext>,
    /// The document that its session runs on; absent for conversations of tables.
    pub flow: Option<Arc<Config>>,
    /// The version to which its session goes, if it can.
    pub upgrade: Option<Upgrade>,
    /// Who hears the turn while it runs.
    pub ear: Option<Ear>,
    /// The assistant for which the plan counts a session with it.
    pub counted: Option<String>,
}

impl Message {
    /// A message that comes in now.
    pub fn now(conversation: Option<String>, text: Option<String>, reset: bool, params: Map) -> Self {
        let names_conversation = conversation.is_some();
        let conversation = conversation.unwrap_or_else(|| Uuid::new_v4().to_string());
        let event = UserEvent { text, reset, params, flow: None };
        Message {
            conversation,
            event,
            received: Instant::now(),
            names_conversation,
            key: None,
            caller: None,
            flow: None,
            upgrade: None,
            ear: None,
            counted: None,
        }
    }

    /// What happens now to a session that runs on a document.
    pub fn of_session(session: &str, event: UserEvent, flow: Arc<Config>) -> Self {
        let message = Message::now(Some(session.to_owned()), None, false, Map::new());
        Message { event, flow: Some(flow), ..message }
    }

    /// Until when it waits for other turns.
    pub fn patience(&self) -> Instant {
        self.received + PATIENCE
    }

    /// The message under a name, so that it is answered once however often it is sent.
    pub fn named(self, key: Option<String>) -> Self {
        Message { key, ..self }
    }

    /// The message of a caller who traces it.
    pub fn called(self, caller: Option<SpanContext>) -> Self {
        Message { caller, ..self }
    }
}
