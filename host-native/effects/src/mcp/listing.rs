//! The tools of a server as they are shown to those who approve them.

use std::time::Duration;

use convengine_core::config::{classify_mcp_tool, join_mcp_code};
use convengine_core::turn::EffectError;
use serde_json::{Value, json};

use super::catalog::{McpCatalog, McpServer};
use super::{McpClients, changed_members, digest};
use crate::http::HttpClient;

/// Lists the tools of a server, each with its state: `new`, `approved`, `changed` or `not_allowed`; and as `problems` what cannot be used.
///
/// # Errors
/// The failure of connecting or listing.
pub async fn list(clients: &McpClients, http: &HttpClient, catalog: &McpCatalog, server: &McpServer) -> Result<Value, EffectError> {
    let connection = clients.connect(http, server).await?;
    let list = connection.list_tools(Duration::ZERO).await?;
    let tools: Vec<Value> = list.tools.iter().map(|it| describe(catalog, server, it)).collect();
    let is_offered = |name: &str| list.tools.iter().any(|tool| tool.get("name").and_then(Value::as_str) == Some(name));
    let missing: Vec<&str> = catalog.approved_tools(&server.key).filter(|it| !is_offered(it)).collect();
    Ok(json!({"server": connection.describe(), "tools": tools, "missing": missing, "problems": *list.problems}))
}

fn describe(catalog: &McpCatalog, server: &McpServer, definition: &Value) -> Value {
    let member = |name: &str| definition.get(name).cloned().unwrap_or_default();
    let name = definition.get("name").and_then(Value::as_str).unwrap_or_default();
    let code = join_mcp_code(&server.key, name);
    let approved = catalog.approved(&code).ok();
    let changes = approved.map(|it| changed_members(it, definition)).unwrap_or_default();
    let state = match approved {
        _ if !server.allows(name) => "not_allowed",
        None => "new",
        Some(_) if changes.is_empty() => "approved",
        Some(_) => "changed",
    };
    let (class, is_idempotent) = classify_mcp_tool(definition);
    json!({
        "name": name, "code": code, "title": member("title"), "description": member("description"), "input_schema": member("inputSchema"),
        "output_schema": member("outputSchema"), "annotations": member("annotations"), "effect": class, "idempotent": is_idempotent,
        "approval": catalog.approval(&code), "state": state, "digest": digest(definition), "changes": changes,
    })
}
