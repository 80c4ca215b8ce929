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
        "Validated": object(json!({"ok": {"type": "boolean"}, "issues": issues})),
        "Published": object(json!({"version": count, "snapshot": text("The hash of what of the document counts"), "issues": issues})),
        "Versions": object(json!({"versions": list(&version)})),
        "Restored": object(json!({"id": text("The assistant"), "revision": count})),
        "Deployment": deployment(),
        "Deployed": object(json!({"id": {"type": "string", "format": "uuid"}, "token": text("It is not shown again")})),
        "NewSecret": new_secret(),
        "KeptSecret": object(json!({"name": text("Its name"), "prefix": text("At most the first 3 characters of its value")})),
        "KeptSecrets": object(json!({"secrets": list(&secret)})),
        "DocumentIssue": issue(),
        "AssistantRefusal": refusal(),
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

fn refusal() -> Value {
    let error = object(json!({"code": text("What it is; it is stable"), "message": text("What to do")}));
    json!({
        "type": "object",
        "description": "The form of every answer of these paths that is no success.",
        "required": ["error"],
        "properties": {"error": error, "issues": list(&json!({"$ref": "#/components/schemas/DocumentIssue"}))},
        "additionalProperties": false,
    })
}
