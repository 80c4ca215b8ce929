//! The forms of bodies that have no type of their own, as the document tells of them. The tests of the contract hold answers to them.

use serde_json::{Value, json};

use super::assistant;
use crate::settings::merge;

/// All forms by name.
pub fn all() -> Value {
    let mut all = json!({
        "Message": message(),
        "Answer": answer(),
        "Feedback": feedback(),
        "FeedbackTaken": feedback_taken(),
        "Conversations": conversations(),
        "Recorded": recorded(),
        "Analysis": analysis(),
        "Inspected": inspected(),
        "Snapshots": snapshots(),
        "Activated": activated(),
        "Person": person(),
        "Forgotten": object(json!({"forgotten": {"type": "integer", "minimum": 0, "description": "How many conversations"}})),
        "Health": object(json!({"status": {"const": "UP"}})),
        "Readiness": readiness(),
        "Refusal": refusal(),
        "Issue": issue(),
    });
    merge(&mut all, assistant::schemas::all());
    all
}

/// An object with these members, all of which are there.
pub fn object(properties: Value) -> Value {
    let required: Vec<String> = properties.as_object().map(|it| it.keys().cloned().collect()).unwrap_or_default();
    json!({"type": "object", "properties": properties, "required": required})
}

/// A text.
pub fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

/// A text, or null.
pub fn maybe_text(description: &str) -> Value {
    json!({"type": ["string", "null"], "description": description})
}

/// A list of these.
pub fn list(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

fn conversation() -> Value {
    json!({"type": "string", "format": "uuid", "description": "The conversation"})
}

fn message() -> Value {
    json!({
        "type": "object",
        "description": "Absent and null members are the same; unknown ones are ignored.",
        "properties": {
            "conversationId": {"type": ["string", "null"], "format": "uuid", "description": "Without one a conversation begins"},
            "message": {"type": ["string", "null"], "maxLength": 20_000, "description": "What the user says; the limit is convengine.input.max-chars"},
            "reset": {"type": ["boolean", "null"], "description": "Starts the conversation over"},
            "inputParams": {
                "type": ["object", "null"],
                "description": "Parameters for rules and templates, at most 64 levels deep; `files` holds attachments",
            },
        },
    })
}

fn answer() -> Value {
    let payload = json!({
        "type": ["object", "null"],
        "required": ["type", "value"],
        "properties": {
            "type": {"enum": ["TEXT", "JSON", "ERROR"]},
            "value": {"type": ["string", "null"], "description": "Text, also for JSON"},
        },
    });
    object(json!({
        "success": {"type": "boolean"},
        "conversationId": conversation(),
        "intent": maybe_text("The intent after the turn"),
        "state": maybe_text("The state after the turn"),
        "payload": payload,
        "context": maybe_text("JSON text"),
        "errorCode": maybe_text("Why the turn failed"),
        "recoverable": {"type": "boolean", "description": "Whether sending the message again may help"},
        "message": maybe_text("What to tell the user of a failed turn"),
    }))
}

fn feedback() -> Value {
    json!({
        "type": "object",
        "required": ["conversationId", "feedbackType"],
        "properties": {
            "conversationId": conversation(),
            "feedbackType": {"type": "string", "enum": ["THUMBS_UP", "THUMBS_DOWN"]},
            "messageId": maybe_text("The client's name for the answer"),
            "assistantResponse": maybe_text("The answer as it was shown"),
            "metadata": {"type": ["object", "null"], "description": "`comment`, `question`, `reason`, `correct_sql` and whatever else is known"},
        },
    })
}

fn feedback_taken() -> Value {
    let count = json!({"type": "integer", "minimum": 0});
    object(json!({
        "success": {"type": "boolean"},
        "feedbackId": {"type": "integer"},
        "capturedQueryKnowledgeCount": count,
        "capturedUserQueryKnowledgeCount": count,
        "embeddedUserQueryKnowledgeCount": count,
        "message": text("That it was saved"),
    }))
}

fn conversations() -> Value {
    let found = object(json!({
        "conversationId": conversation(),
        "status": text("RUNNING, BLOCKED, …"),
        "intent": text("The intent"),
        "state": text("The state"),
        "lastUserText": maybe_text("The newest message"),
        "createdAt": text("ISO 8601 with Z"),
        "updatedAt": text("When it had its newest turn"),
        "turns": {"type": "integer"},
        "faults": {"type": "integer", "description": "How many of them failed or were lost"},
    }));
    object(json!({"conversations": list(&found), "next": maybe_text("What to send as `after` for those that follow")}))
}

fn recorded() -> Value {
    let turn = object(json!({
        "number": {"type": "integer", "minimum": 1, "description": "Its place within the conversation"},
        "turnId": {"type": "string", "format": "uuid"},
        "status": {"enum": ["closed", "lost"]},
        "config": text("The hash of the configuration that it ran under"),
        "stateHash": text("What a replay comes to; empty for a turn that was given up"),
        "journal": {"type": ["object", "null"], "description": "Null for one that cannot be read"},
    }));
    let pack = json!({
        "type": "object",
        "description": "A pack that compiles to the hash",
        "required": ["name", "settings", "tables"],
        "properties": {"settings": {"type": "object"}, "tables": {"type": "object"}, "extensions": {"type": "object"}},
    });
    object(json!({
        "conversationId": conversation(),
        "turns": list(&turn),
        "configs": {"type": "object", "description": "Configurations by their hashes, those that are kept", "additionalProperties": pack},
    }))
}

fn snapshots() -> Value {
    let one = object(json!({
        "hash": text("The snapshot"),
        "keptAt": text("When it was kept first, ISO 8601"),
        "active": {"type": "boolean", "description": "Whether new turns run on it"},
    }));
    object(json!({"active": text("The hash of what new turns run on"), "snapshots": list(&one)}))
}

fn activated() -> Value {
    object(json!({
        "hash": text("The snapshot whose rows they are"),
        "config": text("The hash of what new turns run on: another one where the settings differ"),
        "tables": {"type": "object", "description": "The tables that were changed: rows added, removed and changed"},
        "settings": list(&json!({"type": "object"})),
        "issues": list(&json!({"$ref": "#/components/schemas/Issue"})),
    }))
}

fn person() -> Value {
    json!({
        "type": "object",
        "properties": {
            "person": {
                "type": "object",
                "description": "Members of stored input parameters with their values, all of which a conversation has",
                "minProperties": 1,
                "additionalProperties": {"type": "string", "minLength": 1},
            },
        },
        "required": ["person"],
    })
}

fn analysis() -> Value {
    let provider = object(json!({
        "snapshot": text("The hash of the configuration"),
        "registeredCacheNames": list(&json!({"type": "string"})),
        "issues": list(&json!({"$ref": "#/components/schemas/Issue"})),
    }));
    object(json!({
        "cacheProvider": provider,
        "warmupAndTimingEnabled": {"type": "boolean"},
        "staticCaches": {"type": "object"},
        "runtimeCaches": {"type": "object"},
    }))
}

fn inspected() -> Value {
    let rows = list(&json!({"type": "object"}));
    object(json!({
        "schema": text("Its name"),
        "prefix": maybe_text("What was asked for"),
        "matchMode": {"enum": ["EXACT", "REGEX"]},
        "introspectTables": list(&json!({"type": "string"})),
        "tableCount": {"type": "integer", "minimum": 0},
        "tables": rows,
        "columns": rows,
        "joins": rows,
        "indexes": rows,
        "sequences": rows,
        "triggers": rows,
    }))
}

fn readiness() -> Value {
    let mut ready = object(json!({"status": {"const": "UP"}}));
    merge(
        &mut ready,
        json!({"properties": {
            "config": text("The hash of the configuration, of a server without tenants"),
            "tenants": {"type": "integer", "description": "How many there are"},
        }}),
    );
    ready
}

fn refusal() -> Value {
    json!({
        "type": "object",
        "description": "The form of every answer that is no success.",
        "required": ["timestamp", "status", "error", "path", "message"],
        "properties": {
            "timestamp": text("ISO 8601 with Z"),
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "error": text("The status in words"),
            "path": text("What was asked for"),
            "message": text("What to do"),
            "issues": list(&json!({"$ref": "#/components/schemas/Issue"})),
        },
        "additionalProperties": false,
    })
}

fn issue() -> Value {
    object(json!({
        "severity": {"enum": ["error", "warning"]},
        "path": text("Where"),
        "reason": text("What is wrong"),
        "hint": text("What to do"),
        "rule": text("Which check found it"),
    }))
}
