//! An incoming user message, and what comes of it.

use std::sync::Arc;
use std::time::Instant;

use convengine_access::caller::ConversationAccess;
use convengine_core::config::Config;
use convengine_core::turn::{Map, Outcome, UserEvent};
use convengine_storage::assistant::ProgramKey;
use opentelemetry::trace::SpanContext;
use uuid::Uuid;

use crate::stream::live::Subscriber;
use crate::upgrade::Upgrade;

/// An incoming message or session event.
#[derive(Debug, Clone)]
pub struct Message {
    /// The conversation, a UUID in lower case.
    pub conversation: String,
    /// The user event as it was sent. It is redacted before its turn, and before it leaves this process.
    pub event: UserEvent,
    /// When it was received.
    pub received: Instant,
    /// Whether the client chose the conversation id.
    pub has_conversation_id: bool,
    /// The idempotency key.
    pub idempotency_key: Option<String>,
    /// The trace span of the caller.
    pub caller_span: Option<SpanContext>,
    /// The document its session runs on; absent for table-driven conversations.
    pub flow: Option<Arc<Config>>,
    /// The version its session migrates to, if possible.
    pub upgrade: Option<Upgrade>,
    /// The subscriber that receives the turn's events while it runs.
    pub subscriber: Option<Subscriber>,
    /// Which conversations its caller may use.
    pub access: ConversationAccess,
    /// The assistant or workflow whose session quota the message consumes.
    pub metered_program: Option<ProgramKey>,
}

impl Message {
    /// Creates a message received now. Generates a conversation id if none is given.
    pub fn new(conversation: Option<String>, text: Option<String>, reset: bool, params: Map) -> Self {
        let has_conversation_id = conversation.is_some();
        let conversation = conversation.unwrap_or_else(|| Uuid::new_v4().to_string());
        let event = UserEvent { text, reset, params, flow: None };
        Message {
            conversation,
            event,
            received: Instant::now(),
            has_conversation_id,
            idempotency_key: None,
            caller_span: None,
            flow: None,
            upgrade: None,
            subscriber: None,
            access: ConversationAccess::all(),
            metered_program: None,
        }
    }

    /// Creates an event for a flow session, received now.
    pub fn for_session(session: &str, event: UserEvent, flow: Arc<Config>) -> Self {
        let message = Message::new(Some(session.to_owned()), None, false, Map::new());
        Message { event, flow: Some(flow), ..message }
    }

    /// Sets the idempotency key.
    pub fn with_key(self, key: Option<String>) -> Self {
        Message { idempotency_key: key, ..self }
    }

    /// Sets which conversations its caller may use.
    pub fn with_access(self, access: ConversationAccess) -> Self {
        Message { access, ..self }
    }

    /// Sets the trace span of the caller.
    pub fn with_caller(self, caller: Option<SpanContext>) -> Self {
        Message { caller_span: caller, ..self }
    }
}

/// The result of a submitted message.
#[derive(Debug)]
pub struct SubmitResult {
    /// The outcome of its turn.
    pub outcome: Outcome,
    /// Whether the message is a duplicate, answered from its stored turn.
    pub is_repeat: bool,
}

/// The caller that a conversation belongs to.
#[derive(Debug, Clone, Default)]
pub struct Ownership {
    /// The owner, if any.
    pub owner: Option<Arc<str>>,
    /// Whether it is to be stored with the first turn.
    pub is_new: bool,
}
