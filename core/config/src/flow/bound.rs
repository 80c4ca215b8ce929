//! A document with the documents and tools that it is bound to. (docs/spec/flows.md#9)

use serde_json::Value;

use super::Flow;
use super::document::{Document, ProgramData, ProgramKind};

/// A document that another one runs, compiled when the one that runs it is, so that a session does not change while its parts are
/// published.
#[derive(Debug, Clone)]
pub struct BoundFlow {
    /// The number of its version, or `latest`; absent for one that serves as any version.
    pub version: Option<String>,
    /// The compiled document.
    pub flow: Flow,
}

impl BoundFlow {
    /// Whether a node runs this document.
    pub fn is_target(&self, data: &ProgramData) -> bool {
        self.flow.kind == data.kind && self.flow.document.id == data.id && self.version.as_ref().is_none_or(|it| *it == data.version)
    }
}

/// Returns the kind of a document; `None` for one of another kind, also for a chain, which [`is_chain`](super::is_chain) tells.
pub fn document_kind(source: &Value) -> Option<ProgramKind> {
    match source.get("doc").and_then(Value::as_str)? {
        "conversation_flow" => Some(ProgramKind::Assistant),
        "workflow_graph" => Some(ProgramKind::Workflow),
        "ai_agent" => Some(ProgramKind::Agent),
        _ => None,
    }
}

/// A document and what it is bound to.
#[derive(Debug, Clone)]
pub(super) struct Bundle<'v> {
    /// The document.
    pub root: &'v Value,
    /// The documents that it runs, directly or not, each with its version.
    pub bound: Vec<(Option<String>, &'v Value)>,
    /// The tools of the workspace.
    pub tools: &'v [Value],
}

impl<'v> Bundle<'v> {
    /// Splits `{"root": document, "bound": [{"version"?, "document"}], "tools": [tool]}`; a document alone is bound to nothing.
    pub fn new(source: &'v Value) -> Bundle<'v> {
        let Some(root) = source.get("root").filter(|it| it.is_object()) else {
            return Bundle { root: source, bound: Vec::new(), tools: &[] };
        };
        let list = |name: &str| source.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let bound = |value: &'v Value| Some((value.get("version").and_then(Value::as_str).map(str::to_owned), value.get("document")?));
        Bundle { root, bound: list("bound").iter().filter_map(bound).collect(), tools: list("tools") }
    }
}

/// Reads a document of any kind.
pub(super) fn read_document(source: &Value, tools: &[Value]) -> (ProgramKind, Document) {
    match document_kind(source) {
        Some(ProgramKind::Workflow) => (ProgramKind::Workflow, Document::read_workflow(source, tools)),
        Some(ProgramKind::Agent) => (ProgramKind::Agent, Document::read_agent(source)),
        Some(ProgramKind::Assistant) | None => (ProgramKind::Assistant, Document::read(source)),
    }
}
