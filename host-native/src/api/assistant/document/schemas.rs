//! OpenAPI schemas of the routes of workflows, workflow chains, AI agents and tools.

use serde_json::{Value, json};

use crate::api::schemas::{list, object, text};

/// All schemas by name.
pub fn all() -> Value {
    let issues = list(&json!({"$ref": "#/components/schemas/DocumentIssue"}));
    let document = json!({
        "type": "object",
        "required": ["id", "name", "revision"],
        "properties": {
            "id": text("The id, or the slug of a workflow chain"),
            "name": text("The display name"),
            "revision": {"type": "integer", "minimum": 1},
            "live_version": {"type": "integer", "description": "Absent until a version is published"},
        },
    });
    json!({
        "Draft": draft(),
        "Workflows": object(json!({"workflows": list(&document)})),
        "Chains": object(json!({"chains": list(&document)})),
        "AiAgents": object(json!({"ai_agents": list(&document)})),
        "Tool": tool(),
        "SavedTool": object(json!({"id": text("The tool id"), "issues": issues})),
    })
}

fn draft() -> Value {
    json!({
        "type": "object",
        "description": "A workflow graph, a workflow chain or an AI agent. Its id or slug must match the path; unknown members are preserved.",
        "required": ["doc", "name"],
        "properties": {
            "doc": {"enum": ["workflow_graph", "workflow_chain", "ai_agent"]}, "id": text("The id"), "slug": text("The slug of a chain"),
            "name": text("The display name"),
        },
    })
}

fn tool() -> Value {
    json!({
        "type": "object",
        "description": "A tool, as in a flow document. Its id must match the path.",
        "required": ["id", "name", "kind"],
        "properties": {
            "id": text("The tool id"), "name": text("The display name"), "kind": {"enum": ["http", "webhook", "function", "mcp", "noop"]},
        },
    })
}
