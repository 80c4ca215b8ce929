//! OpenAPI schemas of handoffs and of the desk.

use serde_json::{Value, json};

use crate::api::assistant::runtime::handoff::{MAX_AUTHOR_CHARS, MAX_TEXT_CHARS};
use crate::api::assistant::schemas::event_id;
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
            "message": handoff_text("A message to the user"),
            "author": author(),
            "event_id": event_id("event"),
        },
    })
}

/// The body of a person's message.
pub fn message() -> Value {
    json!({
        "type": "object",
        "required": ["text"],
        "properties": {
            "text": {"type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARS, "description": "The text for the user"},
            "author": author(),
            "event_id": event_id("event"),
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

/// A page of the list.
pub fn conversations() -> Value {
    let mut row = object(json!({
        "session_id": {"type": "string", "format": "uuid"},
        "assistant": text("The id of the assistant or workflow"),
        "state": {"enum": ["waiting", "running"]},
        "queue": text("The queue"),
        "reason": text("Why a person was requested"),
        "ticket": nullable_text("The number of another desk"),
        "author": nullable_text("The person who has it"),
        "since": text("When a person was requested, RFC 3339"),
        "updated_at": text("When the last turn ended, RFC 3339"),
        "preview": text("The beginning of the last message"),
        "unread": {"type": "integer", "minimum": 0, "description": "Messages of the user since the last answer"},
    }));
    row["properties"]["program"] = program();
    object(json!({
        "conversations": list(&row),
        "next_cursor": nullable_text("The cursor of the next page"),
        "author": nullable_text("The name of the caller at the desk; null where authentication is off, and requests name it"),
    }))
}

/// A conversation with transcript and variables.
pub fn conversation() -> Value {
    let variable = object(json!({
        "name": text("The name"),
        "type": {"enum": ["string", "number", "boolean", "array", "object", "any"]},
        "value": {"description": "The value; `[name]` for a private one"},
        "redacted": {"type": "boolean"},
    }));
    let entry = json!({
        "type": "object",
        "required": ["role", "text", "turn"],
        "properties": {
            "role": {"enum": ["user", "bot", "human", "system"]}, "text": text("At most 500 characters"),
            "author": text("The person, for the role `human`"), "turn": {"type": "integer"},
        },
    });
    let mut shown = object(json!({
        "session_id": {"type": "string", "format": "uuid"},
        "assistant": text("The id of the assistant or workflow"),
        "seq": {"type": "integer", "description": "Changes with every turn"},
        "locale": text("The locale of the user"),
        "channel": text("The channel"),
        "user": {"type": ["object", "null"], "description": "Who the user is, as a signed token or a key with an owner claim says"},
        "visitor": {"type": ["object", "null"], "description": "What a page says of its user; `verified` is false"},
        "handoff": {"type": "object", "description": "Queue, reason, state, author and times"},
        "history": list(&entry),
        "variables": list(&variable),
    }));
    shown["properties"]["program"] = program();
    shown
}

/// The body of a taking.
pub fn take() -> Value {
    json!({"type": "object", "properties": {"author": author(), "event_id": event_id("event")}})
}

/// The body of a return to the assistant.
pub fn give_back() -> Value {
    json!({
        "type": "object",
        "properties": {
            "vars": {"type": "object", "description": "Values of declared variables"},
            "message": handoff_text("A last message to the user"), "author": author(), "event_id": event_id("event"),
        },
    })
}

/// The body of a closing.
pub fn close() -> Value {
    json!({
        "type": "object",
        "properties": {
            "message": handoff_text("A last message to the user"), "author": author(), "event_id": event_id("event"),
        },
    })
}

/// What an action has done.
pub fn result() -> Value {
    object(json!({
        "session_id": {"type": "string", "format": "uuid"},
        "status": {"enum": ["awaiting_input", "handed_off", "completed", "failed"]},
        "handoff": shown_handoff(),
        "messages": list(&json!({"type": "object", "description": "What the user sees"})),
        "warnings": list(&text("A warning such as `handoff.variable_ignored`")),
    }))
}

fn program() -> Value {
    json!({"enum": ["workflow"], "description": "The kind of the document; absent for an assistant"})
}

fn author() -> Value {
    let description = "The name that the user sees; that of the key or token of the caller takes its place, where there is one";
    json!({"type": "string", "maxLength": MAX_AUTHOR_CHARS, "description": description})
}

/// A text of a person for the user.
fn handoff_text(description: &str) -> Value {
    json!({"type": "string", "maxLength": MAX_TEXT_CHARS, "description": description})
}

fn shown_handoff() -> Value {
    json!({
        "type": ["object", "null"],
        "properties": {
            "state": {"enum": ["queued", "accepted"]},
            "ticket": nullable_text("Ticket number assigned by the desk"),
            "position": {"type": ["integer", "null"]},
            "eta_ms": {"type": ["integer", "null"]},
            "author": nullable_text("The person"),
        },
    })
}
