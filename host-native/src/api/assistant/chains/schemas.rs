//! OpenAPI schemas of the routes of chains and their runs.

use serde_json::{Value, json};

use crate::api::schemas::{list, object, text};

/// All schemas by name.
pub fn all() -> Value {
    let id = json!({"type": "string", "format": "uuid", "description": "The run id"});
    let state = object(json!({"run_id": id, "status": status()}));
    json!({
        "WebhookBody": {"type": "object", "description": "Any JSON object"},
        "NewRun": {"type": "object", "properties": {"input": {"description": "The body of the trigger"}}},
        "StartedRun": object(json!({
            "run_id": id, "status": status(), "duplicate": {"type": "boolean", "description": "Whether the key started the run before"},
        })),
        "AcceptedWebhook": object(json!({"run_id": id, "duplicate": {"type": "boolean", "description": "Whether it was accepted before"}})),
        "RunState": state,
        "Run": run(),
        "Runs": {
            "type": "object",
            "required": ["runs"],
            "properties": {"runs": list(&json!({"$ref": "#/components/schemas/Run"})), "next": text("The cursor of the next page, if any")},
        },
        "Resume": {
            "type": "object",
            "properties": {
                "step": text("The path of the step; default the wait of the token, else the latest"),
                "decision": text("One of the options"),
                "fields": {"type": "object", "description": "The values of the form"},
                "comment": text("A comment"),
                "by": text("Who decides, if the caller has no name; else it is kept beside the caller's as `stated_by`"),
                "text": text("What the user says, for a step that talks to an assistant or AI agent"),
            },
        },
        "Resumed": {
            "type": "object",
            "required": ["run_id", "status"],
            "properties": {"run_id": id, "status": status(), "messages": {"type": "array", "description": "What the assistant or AI agent says"}},
        },
        "Cancel": {"type": "object", "properties": {"reason": text("The reason")}},
        "NoMembers": {"type": "object", "description": "An empty object"},
        "ResumeToken": {
            "type": "object",
            "required": ["step", "token"],
            "properties": {"step": text("The path of the step"), "token": text("The token, which is not shown again"),
                "expires_at": text("RFC 3339")},
        },
        "ChainStatus": object(json!({"status": {"enum": ["live", "paused"]}})),
        "ChangedStatus": object(json!({
            "slug": text("The slug of the chain"), "status": {"enum": ["live", "paused"]}, "live_version": {"type": "integer", "minimum": 1},
        })),
        "RunTrace": object(json!({"events": {"type": "array", "items": {"type": "object", "required": ["kind", "data"]}}})),
    })
}

fn status() -> Value {
    let names = ["queued", "running", "awaiting_human", "awaiting_event", "sleeping", "succeeded", "failed", "cancelled"];
    json!({"enum": names})
}

fn run() -> Value {
    let step = json!({
        "type": "object",
        "required": ["path", "status", "attempt"],
        "properties": {
            "path": text("The path of the step"), "kind": text("The kind of the step"), "attempt": {"type": "integer", "minimum": 1},
            "status": {"enum": ["pending", "running", "waiting", "succeeded", "failed", "skipped", "cancelled"]},
            "error": {"type": "object", "properties": {"code": text("The code of the failure"), "message": text("The same for people")}},
        },
    });
    json!({
        "type": "object",
        "required": ["id", "chain", "status"],
        "properties": {
            "id": {"type": "string", "format": "uuid"}, "chain": text("The slug of the chain"), "status": status(),
            "branch_taken": text("Most recently entered branch"),
            "cursor": text("Path of the next or waiting step"),
            "primary_trace": list(&step), "branch_trace": list(&step),
            "error": {"type": "object", "required": ["code", "message"]},
        },
    })
}
