//! The structural check of flow documents: issues D001 to D011 and codes of single bounds. (docs/spec/flows.md#11)

mod checker;
mod descriptions;
mod location;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::Value;

use self::checker::Checker;
use self::location::FormLocation;
use super::document::chain::ChainDocument;
use super::document::{AgentDocument, Document, WorkflowDocument};
use super::issue::DocumentIssue;
use super::shape::{Described, Shape};

/// The maximum size of a document, in bytes of compact JSON.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Returns the structural issues of a flow document: of its top-level lists first, then by graph and node, at most a thousand errors
/// and a thousand warnings.
///
/// Some bounds have their own code: `N002` `N006` `V006` `K004` `A004` `B005` `T006`.
///
/// ```
/// use convengine_config::flow::check_structure;
/// use serde_json::json;
///
/// let start = json!({"id": "start", "type": "start", "name": 5, "data": {}});
/// let document = json!({
///     "schema_version": "1.0", "doc": "conversation_flow", "id": "hello", "name": "Hello", "root": "root",
///     "graphs": [{"id": "root", "kind": "root", "entry": "start", "nodes": [start], "edges": []}],
/// });
/// let issues = check_structure(&document);
/// let found: Vec<_> = issues.iter().map(|issue| (issue.path.as_str(), issue.node.as_deref())).collect();
/// assert_eq!(found, [("/graphs/0/nodes/0/name", Some("start"))]);
/// ```
pub fn check_structure(source: &Value) -> Vec<DocumentIssue> {
    check_shape(source, &Document::SHAPE)
}

/// Returns the structural issues of a workflow graph, as [`check_structure`] does for an assistant.
pub fn check_workflow_structure(source: &Value) -> Vec<DocumentIssue> {
    check_shape(source, &WorkflowDocument::SHAPE)
}

/// Returns the structural issues of a chain, and ids of steps and branches that occur more than once.
pub fn check_chain_structure(source: &Value) -> Vec<DocumentIssue> {
    let mut issues = check_shape(source, &ChainDocument::SHAPE);
    issues.extend(duplicate_chain_ids(source));
    issues
}

/// Reports branches and steps whose id occurs before, because paths of runs name both. (docs/spec/chains.md#1)
fn duplicate_chain_ids(source: &Value) -> Vec<DocumentIssue> {
    let list = |value: &Value, name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let (mut steps, mut branches) = (BTreeSet::new(), BTreeSet::new());
    let mut issues = Vec::new();
    let mut check_steps = |sequence: &Value, path: &str, graph: Option<String>| {
        for (at, step) in list(sequence, "steps").iter().enumerate() {
            let Some(id) = text(step, "id").filter(|id| !steps.insert(id.clone())) else { continue };
            let message = format!("the step id '{id}' occurs more than once in the chain");
            let issue = DocumentIssue::error("D004", format!("{path}/steps/{at}/id"), message).with_fix("give it a unique id");
            issues.push(DocumentIssue { graph: graph.clone(), node: Some(id), name: text(step, "label"), ..issue });
        }
    };
    check_steps(source, "", None);
    let found = list(source, "branches");
    for (number, branch) in found.iter().enumerate() {
        check_steps(branch, &format!("/branches/{number}"), text(branch, "id"));
    }
    for (number, branch) in found.iter().enumerate() {
        let Some(id) = text(branch, "id").filter(|id| !branches.insert(id.clone())) else { continue };
        let message = format!("the branch id '{id}' occurs more than once in the chain");
        let issue = DocumentIssue::error("X005", format!("/branches/{number}/id"), message).with_fix("give it a unique id");
        issues.push(DocumentIssue { graph: Some(id), name: text(branch, "name"), ..issue });
    }
    issues
}

/// Returns the structural issues of an AI agent.
pub fn check_agent_structure(source: &Value) -> Vec<DocumentIssue> {
    check_shape(source, &AgentDocument::SHAPE)
}

/// Returns the structural issues of a value that should be of a shape.
pub(super) fn check_shape(source: &Value, shape: &Shape) -> Vec<DocumentIssue> {
    let mut checker = Checker::new(source);
    let place = FormLocation::document();
    if let Some(size) = convengine_text::json::serialized_length(source).filter(|it| *it > MAX_BYTES) {
        let message = format!("the document has {size} bytes; the maximum is {MAX_BYTES}");
        checker.report_error(|| place.error("D005", message).with_fix("split the assistant or move long texts out of it"));
    }
    checker.check(shape, source, &place);
    checker.issues
}
