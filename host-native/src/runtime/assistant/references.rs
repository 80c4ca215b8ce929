//! What documents of each kind name: other documents, and tools of the workspace. (docs/spec/flows.md#9)

use serde_json::Value;

use crate::storage::assistant::{DocumentKind, ProgramKey};

/// The version that stands for the live one.
pub const LATEST: &str = "latest";

/// A document that another one runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The document.
    pub key: ProgramKey,
    /// The number of its version, or `latest`.
    pub version: String,
}

/// Returns the documents that a document runs, in document order.
pub fn find_references(kind: DocumentKind, document: &Value) -> Vec<Reference> {
    match kind {
        DocumentKind::Workflow => nodes(document).filter_map(node_reference).collect(),
        DocumentKind::Assistant | DocumentKind::Chain | DocumentKind::Agent => Vec::new(),
    }
}

/// Returns the tools of the workspace that a document is bound to when a session starts, in document order. Assistants and AI agents have
/// theirs since they were published.
pub fn find_tool_names(kind: DocumentKind, document: &Value) -> Vec<&str> {
    match kind {
        DocumentKind::Workflow => nodes(document).flat_map(node_tools).collect(),
        DocumentKind::Assistant | DocumentKind::Chain | DocumentKind::Agent => Vec::new(),
    }
}

/// Whether a text is the id of a tool.
pub fn is_tool_id(text: &str) -> bool {
    DocumentKind::Assistant.is_id(text)
}

fn nodes(workflow: &Value) -> impl Iterator<Item = &Value> {
    workflow.get("nodes").and_then(Value::as_array).into_iter().flatten()
}

fn node_reference(node: &Value) -> Option<Reference> {
    let (kind, member) = match node.get("type")?.as_str()? {
        "flow-agent" => (DocumentKind::Assistant, "assistant_id"),
        "workflow" => (DocumentKind::Workflow, "workflow_id"),
        "agent" => (DocumentKind::Agent, "agent_id"),
        _ => return None,
    };
    let data = node.get("data")?;
    let version = data.get("version").and_then(Value::as_str).unwrap_or(LATEST).to_owned();
    let id = data.get(member)?.as_str().filter(|it| kind.is_id(it))?;
    Some(Reference { key: ProgramKey::new(kind, id), version })
}

fn node_tools(node: &Value) -> impl Iterator<Item = &str> {
    let data = node.get("data");
    let of_agent = data.and_then(|it| it.get("tools")?.as_array()).into_iter().flatten().filter_map(|it| it.get("tool")?.as_str());
    data.and_then(|it| it.get("tool_name")?.as_str()).into_iter().chain(of_agent).filter(|it| is_tool_id(it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_workflow_names_documents_and_tools() {
        let node = |kind: &str, data: Value| json!({"type": kind, "data": data});
        let workflow = json!({"nodes": [
            node("trigger", json!({})), node("flow-agent", json!({"assistant_id": "desk", "version": "2"})), node("set", Value::Null),
            node("workflow", json!({"workflow_id": "desk"})), node("agent", json!({"agent_id": 5})), node("tool", json!({"tool_name": "find"})),
            node("instruction_agent", json!({"tools": [{"tool": "find"}, {"tool": "book"}, {"tool": "\u{0}"}, 5]})),
        ]});
        let found = find_references(DocumentKind::Workflow, &workflow);
        let shown: Vec<_> = found.iter().map(|it| (it.key.as_str(), it.version.as_str())).collect();
        assert_eq!(shown, [("desk", "2"), ("workflow:desk", "latest")]);
        assert_eq!(find_tool_names(DocumentKind::Workflow, &workflow), ["find", "find", "book"]);
        assert_eq!(find_references(DocumentKind::Assistant, &workflow), []);
        assert_eq!(find_references(DocumentKind::Workflow, &json!({"nodes": 5})), []);
    }
}
