//! Tells waiting clients of this process that a session has a new turn.

use std::sync::Arc;

use convengine_core::turn::TurnInput;
use serde_json::Value;

/// A session with a new turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionChange {
    /// The session.
    pub session: Arc<str>,
    /// Whether a person has the session, or had it before the turn.
    pub is_handoff: bool,
}

impl SessionChange {
    /// Describes the change by a stored turn.
    pub fn from_turn(input: &TurnInput, answer: &Value) -> SessionChange {
        let was_handed_off = input.session.flow.as_ref().and_then(|it| it.get("handoff")).is_some_and(Value::is_object);
        SessionChange { session: Arc::from(input.conversation.as_str()), is_handoff: was_handed_off || answer.get("handoff").is_some() }
    }
}
