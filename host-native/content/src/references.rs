//! What documents of each kind name: other documents, and tools of the workspace. (docs/spec/flows.md#9)

use convengine_core::config::flow::document::ProgramKind;
use convengine_core::config::flow::names_in_document;
use convengine_core::config::flow::shape::{Leaf, Target};
use serde_json::Value;

use convengine_storage::assistant::{DocumentKind, ProgramKey};

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
    let reference = |(target, leaf): (Target, Leaf<'_>)| {
        let kind = match target {
            Target::Assistant => DocumentKind::Assistant,
            Target::Workflow => DocumentKind::Workflow,
            Target::Agent => DocumentKind::Agent,
            _ => return None,
        };
        let (data, _) = leaf.pointer.rsplit_once('/')?;
        let version = document.pointer(&format!("{data}/version")).and_then(Value::as_str).unwrap_or(LATEST).to_owned();
        kind.is_id(leaf.text).then(|| Reference { key: ProgramKey::new(kind, leaf.text), version })
    };
    names(kind, document).into_iter().filter_map(reference).collect()
}

/// Returns the tools of the workspace that a document is bound to when a session starts, in document order. Assistants and AI agents have
/// theirs since they were published.
pub fn find_tool_names(kind: DocumentKind, document: &Value) -> Vec<&str> {
    let tools = names(kind, document).into_iter().filter(|it| it.0 == Target::Tool).map(|it| it.1.text);
    tools.filter(|it| is_tool_id(it)).collect()
}

/// Whether a text is the id of a tool.
pub fn is_tool_id(text: &str) -> bool {
    DocumentKind::Assistant.is_id(text)
}

/// What a workflow graph names.
fn names(kind: DocumentKind, document: &Value) -> Vec<(Target, Leaf<'_>)> {
    match kind {
        DocumentKind::Workflow => names_in_document(ProgramKind::Workflow, document),
        DocumentKind::Assistant | DocumentKind::Chain | DocumentKind::Agent => Vec::new(),
    }
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
        let shown: Vec<_> = found.iter().map(|reference| (reference.key.as_str(), reference.version.as_str())).collect();
        assert_eq!(shown, [("desk", "2"), ("workflow:desk", "latest")]);
        assert_eq!(find_tool_names(DocumentKind::Workflow, &workflow), ["find", "find", "book"]);
        assert_eq!(find_references(DocumentKind::Assistant, &workflow), []);
        assert_eq!(find_references(DocumentKind::Workflow, &json!({"nodes": 5})), []);
    }
}
