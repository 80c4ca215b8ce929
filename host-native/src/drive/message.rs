//! An incoming user message.

use std::sync::Arc;
use std::time::Instant;

use convengine_core::config::Config;
use convengine_core::turn::{Map, UserEvent};
use opentelemetry::trace::SpanContext;
use uuid::Uuid;

use crate::assistant::upgrade::Upgrade;
use crate::gate::PATIENCE;
use crate::stream::live::Ear;

/// An incoming message or session event.
#[derive(Debug, Clone)]
pub struct Message {
    /// The conversation, a UUID in lower case.
    pub conversation: String,
    /// The user event.
    pub event: UserEvent,
    /// When it was received.
    pub received: Instant,
    /// Whether the client chose the conversation id.
    pub names_conversation: bool,
    /// The idempotency key.
    pub key: Option<String>,
    /// The trace span of the caller.
    pub caller: Option<SpanContext>,
    /// The document its session runs on; absent for table-driven conversations.
    pub flow: Option<Arc<Config>>,
    /// The version its session migrates to, if possible.
    pub upgrade: Option<Upgrade>,
    /// The subscriber that receives the turn's events while it runs.
    pub ear: Option<Ear>,
    /// The assistant whose session quota the message consumes.
    pub counted: Option<String>,
}

impl Message {
    /// Creates a message received now. Generates a conversation id if none is given.
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

    /// Creates an event for a flow session, received now.
    pub fn of_session(session: &str, event: UserEvent, flow: Arc<Config>) -> Self {
        let message = Message::now(Some(session.to_owned()), None, false, Map::new());
        Message { event, flow: Some(flow), ..message }
    }

    /// Returns the deadline for waiting for other turns.
    pub fn patience(&self) -> Instant {
        self.received + PATIENCE
    }

    /// Sets the idempotency key.
    pub fn named(self, key: Option<String>) -> Self {
        Message { key, ..self }
    }

    /// Sets the trace span of the caller.
    pub fn called(self, caller: Option<SpanContext>) -> Self {
        Message { caller, ..self }
    }
}
