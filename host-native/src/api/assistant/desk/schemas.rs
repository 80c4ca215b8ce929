//! OpenAPI schemas of handoffs and of the desk.

use serde_json::{Value, json};

use crate::api::schemas::{list, nullable_text, object, text};

/// The body of a status report.
pub fn status() -> Value {
    json!({
        "type": "object",
        "required": ["state"],
        "properties": {
            "state": {"enum": ["accepted", "failed", "completed"]},
            "disposition": {"enum": ["resolved", "returned"], "description": "How a completed handoff ends; default `resolved`"},
            "vars": {"type": "object", "description": "Declared variables to set"},
            "message": text("A message to the user, at most 8000 characters"),
            "author": text("The person"),
            "event_id": text("Idempotency key of the event, 1 to 200 characters"),
        },
    })
}

/// The body of a person's message.
pub fn message() -> Value {
    json!({
        "type": "object",
        "required": ["text"],
        "properties": {
            "text": {"type": "string", "minLength": 1, "maxLength": 8000, "description": "The text for the user"},
            "author": text("The person"),
            "event_id": text("Idempotency key of the event, 1 to 200 characters"),
        },
    })
}

/// The messages of a session since a position.
pub fn session_messages() -> Value {
    object(json!({
        "session_id": {"type": "string", "format": "uuid"},
        "seq": {"type": "integer", "minimum": 0, "description": "The position after these messages"},
        "status": {"enum": ["awaiting_input", "handed_off", "completed", "failed"]},
        "handoff": shown_handoff(),
        "messages": list(&json!({"type": "object", "description": "A message as in the response of its turn"})),
    }))
}

fn shown_handoff() -> Value {
    json!({
        "type": ["object", "null"],
        "properties": {
            "state": {"enum": ["queued", "accepted"]},
            "ticket": nullable_text("The number of the desk"),
            "position": {"type": ["integer", "null"]},
            "eta_ms": {"type": ["integer", "null"]},
            "author": nullable_text("The person"),
        },
    })
}
