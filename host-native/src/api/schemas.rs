//! OpenAPI schemas of bodies without a Rust type. The contract tests check responses against them.

use convengine_core::config::settings::DEFAULT_INPUT_MAX_CHARS;
use convengine_settings::merge;
use serde_json::{Value, json};

use super::request::MAX_PARAM_DEPTH;
use super::{assistant, mcp_servers, security_log};

/// All schemas by name.
pub fn all() -> Value {
    let mut all = json!({
        "Message": message(),
        "Answer": answer(),
        "Feedback": feedback(),
        "FeedbackTaken": feedback_response(),
        "Conversations": conversations(),
        "Recorded": recording(),
        "Analysis": analysis(),
        "Inspected": inspection(),
        "Snapshots": snapshots(),
        "Activated": activation(),
        "Person": person(),
        "Forgotten": object(json!({"forgotten": {"type": "integer", "minimum": 0, "description": "The number of deleted conversations"}})),
        "Health": object(json!({"status": {"const": "UP"}})),
        "Readiness": readiness(),
        "SecurityLog": security_log::schema(),
        "Refusal": refusal(),
        "Issue": issue(),
        "JsonSchemas": json_schemas(),
        "McpMessage": mcp_message(),
    });
    merge(&mut all, mcp_servers::schemas());
    merge(&mut all, assistant::schemas::all());
    merge(&mut all, assistant::document::schemas::all());
    merge(&mut all, assistant::chains::schemas::all());
    all
}

/// An object schema with these members, all required.
pub fn object(properties: Value) -> Value {
    let required: Vec<String> = properties.as_object().map(|members| members.keys().cloned().collect()).unwrap_or_default();
    json!({"type": "object", "properties": properties, "required": required})
}

/// A string schema.
pub fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

/// A schema of a string or null.
pub fn nullable_text(description: &str) -> Value {
    json!({"type": ["string", "null"], "description": description})
}

/// An array schema.
pub fn list(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

fn mcp_message() -> Value {
    json!({
        "type": "object",
        "description": "A request of JSON-RPC 2.0; a notification has no id",
        "required": ["jsonrpc", "id", "method"],
        "properties": {
            "jsonrpc": {"enum": ["2.0"]},
            "id": {"type": "integer", "minimum": 0, "description": "The id of the request, which its response has too"},
            "method": {"enum": ["initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/read", "prompts/list", "prompts/get"]},
            "params": {"type": "object", "description": "The parameters of the method"},
        },
    })
}

fn conversation() -> Value {
    json!({"type": "string", "format": "uuid", "description": "The conversation id"})
}

fn message() -> Value {
    json!({
        "type": "object",
        "description": "Null members are treated as absent; unknown ones are ignored.",
        "properties": {
            "conversationId": {"type": ["string", "null"], "format": "uuid", "description": "Omit to start a new conversation"},
            "message": {"type": ["string", "null"], "maxLength": DEFAULT_INPUT_MAX_CHARS, "description": "The user's message; the limit is convengine.input.max-chars, whose default is shown"},
            "reset": {"type": ["boolean", "null"], "description": "Whether to restart the conversation"},
            "inputParams": {
                "type": ["object", "null"],
                "description": format!("Parameters for rules and templates, at most {MAX_PARAM_DEPTH} levels deep; `files` contains attachments"),
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
            "value": {"type": ["string", "null"], "description": "The value as text, even if it is JSON"},
        },
    });
    object(json!({
        "success": {"type": "boolean"},
        "conversationId": conversation(),
        "intent": nullable_text("The intent after the turn"),
        "state": nullable_text("The state after the turn"),
        "payload": payload,
        "context": nullable_text("The context as JSON text"),
        "errorCode": nullable_text("The error code of a failed turn"),
        "recoverable": {"type": "boolean", "description": "Whether sending the message again may succeed"},
        "message": nullable_text("The message to show to the user of a failed turn"),
    }))
}

fn feedback() -> Value {
    json!({
        "type": "object",
        "required": ["conversationId", "feedbackType"],
        "properties": {
            "conversationId": conversation(),
            "feedbackType": {"type": "string", "enum": ["THUMBS_UP", "THUMBS_DOWN"]},
            "messageId": nullable_text("The id that the client gave the answer"),
            "assistantResponse": nullable_text("The answer as shown to the user"),
            "metadata": {"type": ["object", "null"], "description": "`comment`, `question`, `reason`, `correct_sql` and any other members"},
        },
    })
}

fn feedback_response() -> Value {
    let count = json!({"type": "integer", "minimum": 0});
    object(json!({
        "success": {"type": "boolean"},
        "feedbackId": {"type": "integer"},
        "capturedQueryKnowledgeCount": count,
        "capturedUserQueryKnowledgeCount": count,
        "embeddedUserQueryKnowledgeCount": count,
        "message": text("A confirmation"),
    }))
}

fn conversations() -> Value {
    let found = object(json!({
        "conversationId": conversation(),
        "program": {"enum": ["tables", "assistant", "workflow", "chain", "agent"], "description": "What runs it"},
        "document": nullable_text("The id of its document; null for tables"),
        "owner": nullable_text("SHA-256 of the caller that it belongs to; null if unowned"),
        "status": text("The status, such as RUNNING or BLOCKED; of a session or run its own, such as active or sleeping"),
        "intent": text("The intent"),
        "state": text("The state"),
        "lastUserText": nullable_text("The latest message"),
        "createdAt": text("ISO 8601 with Z"),
        "updatedAt": text("The time of the latest turn"),
        "turns": {"type": "integer"},
        "faults": {"type": "integer", "description": "The number of failed or lost turns"},
    }));
    object(json!({"conversations": list(&found), "next": nullable_text("The value of `after` for the next page")}))
}

fn recording() -> Value {
    let turn = object(json!({
        "number": {"type": "integer", "minimum": 1, "description": "The position in the conversation"},
        "turnId": {"type": "string", "format": "uuid"},
        "status": {"enum": ["closed", "lost"]},
        "config": text("The hash of the configuration of the turn"),
        "stateHash": text("The state hash that a replay must produce; empty for an aborted turn"),
        "journal": {"type": ["object", "null"], "description": "Null if unreadable"},
    }));
    let pack = json!({
        "type": "object",
        "description": "A pack that compiles to this hash",
        "required": ["name", "settings", "tables"],
        "properties": {"settings": {"type": "object"}, "tables": {"type": "object"}, "extensions": {"type": "object"}},
    });
    object(json!({
        "conversationId": conversation(),
        "turns": list(&turn),
        "configs": {"type": "object", "description": "The stored configurations by hash", "additionalProperties": pack},
    }))
}

fn snapshots() -> Value {
    let one = object(json!({
        "hash": text("The snapshot hash"),
        "keptAt": text("When it was first stored, ISO 8601"),
        "active": {"type": "boolean", "description": "Whether new turns use it"},
    }));
    object(json!({"active": text("The hash of the configuration of new turns"), "snapshots": list(&one)}))
}

fn activation() -> Value {
    object(json!({
        "hash": text("The hash of the activated snapshot"),
        "config": text("The hash of the configuration of new turns, which differs if the settings differ"),
        "tables": {"type": "object", "description": "The changed tables with the number of added, removed and changed rows"},
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
                "description": "Values by name, or by path such as customer.id; conversations that hold all of them are deleted",
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

fn inspection() -> Value {
    let rows = list(&json!({"type": "object"}));
    object(json!({
        "schema": text("The schema name"),
        "prefix": nullable_text("The requested prefix"),
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
    let mut ready = object(json!({"status": {"enum": ["UP", "DEGRADED"], "description": "DEGRADED if only some tenants serve"}}));
    let problem = object(json!({"tenant": text("The name of the tenant"), "reason": text("Why it is unavailable")}));
    merge(
        &mut ready,
        json!({"properties": {
            "config": text("The hash of the configuration; absent if tenants are configured"),
            "tenants": {"type": "integer", "description": "The number of tenants"},
            "down": {"type": "integer", "description": "The number of tenants that do not serve; absent if all do"},
            "problems": {"type": "array", "items": problem, "description": "Those tenants, for callers of this machine and the administrator"},
        }}),
    );
    ready
}

fn refusal() -> Value {
    json!({
        "type": "object",
        "description": "The body of every error response.",
        "required": ["timestamp", "status", "error", "path", "message"],
        "properties": {
            "timestamp": text("ISO 8601 with Z"),
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "error": text("The status text"),
            "path": text("The requested path"),
            "message": text("The problem and how to fix it"),
            "code": text("A stable code, where the status does not say enough"),
            "issues": list(&json!({"$ref": "#/components/schemas/Issue"})),
        },
        "additionalProperties": false,
    })
}

fn json_schemas() -> Value {
    let one = object(json!({"name": text("The name, as in `convengine schema NAME`"), "url": text("The path of the schema")}));
    object(json!({"schemas": list(&one)}))
}

fn issue() -> Value {
    object(json!({
        "severity": {"enum": ["error", "warning"]},
        "path": text("The location"),
        "reason": text("The problem"),
        "hint": text("How to fix it"),
        "rule": text("The check that found it"),
    }))
}
