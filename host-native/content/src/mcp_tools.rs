//! Tools of MCP servers in documents: members that an author leaves out are those of the approved definition. (docs/spec/flows.md#4.13)

use std::collections::BTreeMap;

use convengine_core::config::{classify_mcp_tool, join_mcp_code};
use convengine_core::lint::flow::ApprovedTool;
use serde_json::{Value, json};

use convengine_effects::mcp::catalog::McpCatalog;

/// Members of a tool with the members of a definition.
const MEMBERS: [(&str, &str); 3] = [("description", "description"), ("input_schema", "inputSchema"), ("output_schema", "outputSchema")];

/// Returns what publishing needs to know of the approved tools, by code.
pub fn approved_tools(catalog: &McpCatalog) -> BTreeMap<String, ApprovedTool> {
    let facts = |code: &str, definition: &Value| ApprovedTool {
        class: classify_mcp_tool(definition).0,
        needs_approval: catalog.needs_approval(code, definition),
    };
    catalog.definitions().map(|(code, definition)| (code.to_owned(), facts(code, definition))).collect()
}

/// Adds to each tool of a document or a bundle what its approved definition says and the author does not. Drafts stay as they are
/// written, so that a published version has the definition that was approved last.
pub fn complete(document: &mut Value, catalog: &McpCatalog) {
    let tools = document.get_mut("tools").and_then(Value::as_array_mut).into_iter().flatten();
    tools.filter(|tool| tool.get("kind").and_then(Value::as_str) == Some("mcp")).for_each(|it| complete_tool(it, catalog));
}

fn complete_tool(tool: &mut Value, catalog: &McpCatalog) {
    let text = |name: &str| tool.get(name).and_then(Value::as_str);
    let (Some(server), Some(name)) = (text("server"), text("remote_name").or_else(|| text("name"))) else { return };
    let Ok(definition) = catalog.approved(&join_mcp_code(server, name)) else { return };
    let Some(members) = tool.as_object_mut() else { return };
    for (member, source) in MEMBERS {
        if let (None, Some(value)) = (members.get(member), definition.get(source)) {
            members.insert(member.to_owned(), value.clone());
        }
    }
    members.entry("effect_class").or_insert_with(|| json!(classify_mcp_tool(definition).0));
}

#[cfg(test)]
mod tests {
    use convengine_core::config::Config;

    use super::*;

    #[test]
    fn what_an_author_leaves_out_is_as_approved() {
        let definition =
            json!({"name": "get", "description": "Gets.", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}});
        let tables = json!({"cv_mcp_tool": [{"tool_code": "mcp.a.get", "definition": definition.to_string()}]});
        let (config, _) = Config::compile(&serde_json::from_value(tables).unwrap(), &json!({}));
        let catalog = McpCatalog::from_config(&config);
        let mut document = json!({"tools": [
            {"id": "x", "name": "get", "kind": "mcp", "server": "a"},
            {"id": "y", "name": "Y", "kind": "mcp", "server": "a", "remote_name": "get", "description": "Own.", "effect_class": "write"},
            {"id": "z", "name": "get", "kind": "http", "server": "a"},
        ]});
        complete(&mut document, &catalog);
        let tools = &document["tools"];
        assert_eq!((&tools[0]["description"], &tools[0]["effect_class"]), (&json!("Gets."), &json!("read")));
        assert_eq!(tools[0]["input_schema"], json!({"type": "object"}));
        assert_eq!((&tools[1]["description"], &tools[1]["effect_class"]), (&json!("Own."), &json!("write")));
        assert_eq!(tools[2].get("description"), None);
        assert!(approved_tools(&catalog).get("mcp.a.get").is_some_and(|it| !it.needs_approval));
    }
}
