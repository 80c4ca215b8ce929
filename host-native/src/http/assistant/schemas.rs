//! The forms of bodies of assistants' routes, as the document tells of them.

use serde_json::{Value, json};

use crate::http::schemas::{list, maybe_text, object, text};

/// All forms by name.
pub fn all() -> Value {
    let count = json!({"type": "integer", "minimum": 1});
    let issues = list(&json!({"$ref": "#/components/schemas/DocumentIssue"}));
    let assistant = object(json!({
        "id": text("Its id"),
        "name": text("What it is called"),
        "revision": count,
        "live_version": {"type": ["integer", "null"], "description": "Null while nothing is published"},
    }));
    let version = object(json!({
        "version": count,
        "snapshot": text("The hash of what of the document counts"),
        "state": {"enum": ["live", "archived"]},
        "published_at": text("RFC 3339"),
    }));
    let secret = object(json!({
        "name": text("Its name"),
        "prefix": text("At most the first 3 characters of its value"),
        "updated_at": text("RFC 3339"),
    }));
    json!({
        "Flow": flow(),
        "Assistants": object(json!({"agents": list(&assistant)})),
        "Saved": object(json!({"id": text("The assistant"), "revision": count, "issues": issues})),
        "Validated": object(json!({"ok": {"type": "boolean"}, "issues": issues, "migration": migration()})),
        "Published": object(json!({
            "version": count, "snapshot": text("The hash of what of the document counts"), "issues": issues, "migration": migration(),
        })),
        "Versions": object(json!({"versions": list(&version)})),
        "Restored": object(json!({"id": text("The assistant"), "revision": count})),
        "Deployment": deployment(),
        "Deployed": object(json!({"id": {"type": "string", "format": "uuid"}, "token": text("It is not shown again")})),
        "NewSecret": new_secret(),
        "KeptSecret": object(json!({"name": text("Its name"), "prefix": text("At most the first 3 characters of its value")})),
        "KeptSecrets": object(json!({"secrets": list(&secret)})),
        "DocumentIssue": issue(),
        "AssistantRefusal": refusal(),
        "NewSession": new_session(),
        "TurnEvent": turn_event(),
        "UserEvent": user_event(),
        "Approval": approval(),
        "TurnResponse": turn_response(),
        "SessionState": session_state(),
        "SessionTrace": trace(),
        "Replayed": replayed(),
    })
}

fn flow() -> Value {
    json!({
        "type": "object",
        "description": "A flow document; its id is that of the path, and unknown members are kept.",
        "required": ["id", "name"],
        "properties": {"id": text("The assistant"), "name": text("What it is called")},
    })
}

fn deployment() -> Value {
    json!({
        "type": "object",
        "required": ["name", "origins"],
        "properties": {
            "name": {"type": "string", "minLength": 1, "description": "What it is called"},
            "channel": {"type": ["string", "null"], "description": "The kind of channel, `web` without one"},
            "origins": {"type": "array", "items": {"type": "string"}, "description": "The origins whose pages may use it"},
            "debug": {"type": ["boolean", "null"], "description": "Whether users may see how an answer came about"},
        },
    })
}

fn new_secret() -> Value {
    json!({
        "type": "object",
        "required": ["name", "value"],
        "properties": {
            "name": {"type": "string", "pattern": "^[A-Z][A-Z0-9_]{0,63}$", "description": "Its name"},
            "value": {"type": "string", "minLength": 1, "description": "Its value, which no route gives back"},
        },
    })
}

fn issue() -> Value {
    json!({
        "type": "object",
        "required": ["code", "severity", "path", "graph", "node", "name", "message"],
        "properties": {
            "code": text("Which check found it; it is stable"),
            "severity": {"enum": ["error", "warning", "info"]},
            "path": text("Where, as JSON pointer"),
            "graph": maybe_text("In which graph"),
            "node": maybe_text("In which node"),
            "name": maybe_text("What that is called"),
            "message": text("What is wrong"),
            "fix": text("What to do"),
        },
    })
}

fn migration() -> Value {
    let count = || json!({"type": "integer", "minimum": 0});
    object(json!({"sessions": count(), "map": count(), "reask": count(), "stay": count()}))
}

fn new_session() -> Value {
    json!({
        "type": "object",
        "properties": {
            "locale": maybe_text("The language of the user, the document's own without one"),
            "channel": {"type": ["string", "null"], "minLength": 1, "description": "Where the user is"},
            "user": {"type": ["object", "null"], "description": "What is known of the user"},
            "params": {"type": ["object", "null"], "description": "Variables that the session begins with"},
            "version": {"type": ["integer", "null"], "description": "In the simulator: the version, the draft without one"},
            "session_id": {"type": ["string", "null"], "format": "uuid", "description": "In the simulator: the id of the session"},
            "event_id": text("The client's name for the beginning of a session with this id, of 1 to 200 characters: sent twice, it is answered once"),
        },
    })
}

fn turn_event() -> Value {
    let types = ["user.message", "user.button", "timer.fired", "approval.decision", "session.end"];
    json!({
        "type": "object",
        "required": ["type"],
        "properties": {
            "type": {"enum": types},
            "event_id": text("The client's name for it, of 1 to 200 characters: sent twice, it is answered once"),
            "text": text("What the user says"),
            "button_id": text("The button that the user presses"),
            "value": {"description": "What it stands for"},
            "label": text("What stands on it"),
            "timer_id": text("The timer whose time has come"),
            "call_id": text("The call that is decided"),
            "approved": {"type": "boolean"},
            "edited_args": {"type": "object"},
            "reason": text("Why"),
        },
    })
}

fn user_event() -> Value {
    json!({
        "type": "object",
        "required": ["type"],
        "properties": {
            "type": {"enum": ["user.message", "user.button", "session.end"]},
            "event_id": text("The page's name for it, of 1 to 200 characters: sent twice, it is answered once"),
            "text": text("What the user says"),
            "button_id": text("The button that the user presses"),
            "value": {"description": "What it stands for"},
            "label": text("What stands on it"),
            "reason": text("Why"),
        },
    })
}

fn approval() -> Value {
    json!({
        "type": "object",
        "required": ["approved"],
        "properties": {
            "approved": {"type": "boolean", "description": "Whether the call may be made"},
            "edited_args": {"type": "object", "description": "The arguments with which it is made instead"},
            "reason": text("Why"),
        },
    })
}

fn turn_response() -> Value {
    let message = json!({
        "type": "object",
        "required": ["id", "node", "text", "blocks", "locale", "final", "role"],
        "properties": {
            "id": text("Its id within the session"), "node": text("Who says it"), "text": text("As plain text"),
            "blocks": {"type": "array"}, "locale": text("Its language"), "final": {"type": "boolean"}, "role": {"enum": ["bot", "human"]},
        },
    });
    json!({
        "type": "object",
        "required": ["session_id", "turn", "status", "messages", "awaiting"],
        "properties": {
            "session_id": {"type": "string", "format": "uuid"},
            "turn": {"type": "integer", "minimum": 0},
            "status": {"enum": ["awaiting_input", "handed_off", "completed", "failed"]},
            "messages": {"type": "array", "items": message},
            "awaiting": {"type": ["object", "null"], "description": "What is waited for"},
            "debug": {"type": "object", "description": "How the answer came about"},
        },
    })
}

fn session_state() -> Value {
    json!({
        "type": "object",
        "required": ["schema_version", "session_id", "snapshot", "status", "turn", "seq", "vars", "stack"],
        "properties": {
            "schema_version": {"const": "1.0"}, "session_id": {"type": "string"}, "snapshot": {"type": "string"},
            "status": {"enum": ["active", "handed_off", "completed", "failed", "abandoned"]},
            "turn": {"type": "integer"}, "seq": {"type": "integer"}, "vars": {"type": "object"}, "stack": {"type": "array"},
        },
    })
}

fn trace() -> Value {
    let event = json!({
        "type": "object",
        "required": ["turn", "seq", "span", "parent", "kind", "program", "at", "time", "level", "data"],
        "properties": {
            "turn": user_turn(),
            "seq": {"type": "integer", "minimum": 0, "description": "Its place in the turn"},
            "span": {"type": "string", "pattern": "^[0-9a-f]{16}$", "description": "Its id, the same however often it is derived"},
            "parent": maybe_text("The span of the `node.enter` that it belongs to"),
            "kind": text("What happened"),
            "program": {"const": "assistant"},
            "at": maybe_text("The node that it is of, as `graph/node`"),
            "time": text("RFC 3339"),
            "level": {"enum": ["info", "warning", "error"]},
            "data": {"description": "What is told of it, private values as `[name]`"},
        },
    });
    let turn = json!({
        "type": "object",
        "required": ["turn", "number", "event", "events"],
        "properties": {
            "turn": user_turn(), "number": journal_number(), "event": {}, "events": list(&event),
            "reason": text("Why there are no events: the turn does not come about again"),
        },
    });
    object(json!({"turns": list(&turn)}))
}

fn user_turn() -> Value {
    json!({"type": "integer", "minimum": 0, "description": "The number that the answer has: turns of the user, 0 for the start"})
}

fn journal_number() -> Value {
    json!({"type": "integer", "minimum": 1, "description": "The place among all turns of the session, timers too"})
}

fn replayed() -> Value {
    let divergence = json!({
        "type": ["object", "null"],
        "required": ["turn", "number", "path", "stored", "replayed"],
        "properties": {
            "turn": user_turn(),
            "number": journal_number(),
            "path": text("What differs, as JSON pointer"),
            "stored": text("What is recorded"),
            "replayed": maybe_text("What it comes to now; null when it comes to no end"),
            "reason": text("The same in words"),
        },
    });
    object(json!({"equal": {"type": "boolean"}, "turns": {"type": "integer"}, "divergence": divergence}))
}

fn refusal() -> Value {
    let error = json!({
        "type": "object",
        "required": ["code", "message"],
        "properties": {
            "code": text("What it is; it is stable"),
            "message": text("What to do"),
            "session_id": text("The session that has ended"),
            "scope": text("What the limit is of"),
            "limit": {"type": "integer"},
            "reset": {"type": "integer", "description": "When there is more again, in seconds since 1970"},
        },
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "description": "The form of every answer of these paths that is no success.",
        "required": ["error"],
        "properties": {"error": error, "issues": list(&json!({"$ref": "#/components/schemas/DocumentIssue"}))},
        "additionalProperties": false,
    })
}
