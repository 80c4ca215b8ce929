//! Tools of the workspace in assistants and AI agents. (docs/spec/flows.md#4.13)
//!
//! Workflow graphs are bound to these tools when a session starts. Assistants and AI agents have tools of their own: what they name beside
//! these is completed from the workspace, so that a published version holds the definitions that it was checked with.

use serde_json::Value;

use super::document::ProgramKind;
use super::shape::{Leaf, Target};
use super::{document_kind, names_in_document};

/// Returns the tools that an assistant or AI agent names and does not have, in document order; none for documents of other kinds.
pub fn find_missing_tools(document: &Value) -> Vec<&str> {
    let kind = document_kind(document).filter(|it| *it != ProgramKind::Workflow);
    let names = kind.map(|it| names_in_document(it, document)).unwrap_or_default();
    // Guardrails say something about tools, and give none.
    let names_tool = |(target, leaf): &(Target, Leaf<'_>)| *target == Target::Tool && !leaf.pointer.starts_with("/guardrails/");
    let tools = names.into_iter().filter(names_tool).map(|it| it.1.text);
    let is_own = |id: &str| list(document, "tools").any(|tool| has_id(tool, id));
    let mut missing: Vec<&str> = Vec::new();
    for id in tools.filter(|it| !is_own(it)) {
        if !missing.contains(&id) {
            missing.push(id);
        }
    }
    missing
}

/// Adds those tools of the workspace that an assistant or AI agent names and does not have. Its own come first. A name that the workspace
/// does not have either stays as it is, for lint to report.
///
/// ```
/// use convengine_config::flow::{add_workspace_tools, find_missing_tools};
/// use serde_json::json;
///
/// let mut agent = json!({"doc": "ai_agent", "id": "shop", "tool_names": ["find_order", "gone"]});
/// assert_eq!(find_missing_tools(&agent), ["find_order", "gone"]);
/// add_workspace_tools(&mut agent, &[json!({"id": "find_order", "name": "Find an order", "kind": "noop"})]);
/// assert_eq!(find_missing_tools(&agent), ["gone"]);
/// ```
pub fn add_workspace_tools(document: &mut Value, workspace: &[Value]) {
    let missing = find_missing_tools(document);
    let found: Vec<Value> = missing.iter().filter_map(|id| workspace.iter().find(|tool| has_id(tool, id))).cloned().collect();
    let Some(members) = document.as_object_mut().filter(|_| !found.is_empty()) else { return };
    if let Some(tools) = members.entry("tools").or_insert_with(|| Value::Array(Vec::new())).as_array_mut() {
        tools.extend(found);
    }
}

fn has_id(tool: &Value, id: &str) -> bool {
    tool.get("id").and_then(Value::as_str) == Some(id)
}

fn list<'v>(value: &'v Value, member: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    value.get(member).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn workspace() -> Vec<Value> {
        ["find", "book", "rate"].map(|it| json!({"id": it, "name": "Of the workspace", "kind": "noop"})).to_vec()
    }

    fn tools_of(document: &Value) -> Vec<(&str, &str)> {
        list(document, "tools").map(|tool| (tool["id"].as_str().unwrap(), tool["name"].as_str().unwrap())).collect()
    }

    #[test]
    fn an_assistant_gets_the_tools_that_its_nodes_name_and_it_does_not_have() {
        let nodes = json!([
            {"type": "instruction_agent", "data": {"tools": [{"tool": "own"}, {"tool": "book"}, {"tool": "none"}, 5]}},
            {"type": "service", "data": {"tool_id": "find"}}, {"type": "service", "data": {"tool_id": "book"}}, {"type": "end"}, 5,
        ]);
        let own = json!({"id": "own", "name": "Own"});
        let mut document = json!({"doc": "conversation_flow", "graphs": [{"nodes": nodes}, {}], "tools": [own]});
        assert_eq!(find_missing_tools(&document), ["book", "none", "find"]);
        add_workspace_tools(&mut document, &workspace());
        assert_eq!(tools_of(&document), [("own", "Own"), ("book", "Of the workspace"), ("find", "Of the workspace")]);
        let before = document.clone();
        add_workspace_tools(&mut document, &workspace());
        assert_eq!(document, before, "each is added once");
    }

    #[test]
    fn an_ai_agent_gets_the_tools_that_it_or_its_tasks_name() {
        let mut document = json!({"doc": "ai_agent", "tool_names": ["rate"], "tasks": [{"tool_names": ["find", "rate"]}, {}],
            "guardrails": [{"kind": "LIMIT", "config": {"tools": ["book"]}}]});
        add_workspace_tools(&mut document, &workspace());
        assert_eq!(tools_of(&document), [("rate", "Of the workspace"), ("find", "Of the workspace")]);
    }

    #[test]
    fn its_own_tool_takes_precedence_and_other_documents_stay() {
        for document in [
            json!({"doc": "ai_agent", "tool_names": ["find"], "tools": [{"id": "find", "name": "Own"}]}),
            json!({"doc": "ai_agent", "tool_names": ["none"]}),
            json!({"doc": "workflow_graph", "nodes": [{"type": "tool", "data": {"tool_name": "find"}}]}),
            json!({"doc": "ai_agent", "tool_names": ["find"], "tools": 5}),
            json!([]),
        ] {
            let mut completed = document.clone();
            add_workspace_tools(&mut completed, &workspace());
            assert_eq!(completed, document);
        }
    }
}
