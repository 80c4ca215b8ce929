//! The structural check of flow documents: issues D001 to D010 and codes of single bounds. (docs/spec/flows.md#11)

mod checker;
mod descriptions;
mod location;

#[cfg(test)]
mod tests;

use serde_json::Value;

use self::checker::Checker;
use self::location::FormLocation;
use super::issue::DocumentIssue;
use super::shape::{AI_AGENT, DOCUMENT, Definition, Shape, WORKFLOW};

/// The maximum size of a document, in bytes of compact JSON.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Returns the structural issues of a flow document: of its top-level lists first, then by graph and node, at most a thousand errors
/// and a thousand warnings.
///
/// Some bounds have their own code: `N002` `N006` `V006` `K004` `A004` `B005` `T006`.
pub fn check_structure(source: &Value) -> Vec<DocumentIssue> {
    check_shape(source, &DOCUMENT)
}

/// Returns the structural issues of a workflow graph.
pub fn check_workflow_structure(source: &Value) -> Vec<DocumentIssue> {
    check_shape(source, &WORKFLOW)
}

/// Returns the structural issues of an AI agent.
pub fn check_agent_structure(source: &Value) -> Vec<DocumentIssue> {
    check_shape(source, &AI_AGENT)
}

fn check_shape(source: &Value, shape: &'static Definition) -> Vec<DocumentIssue> {
    let mut checker = Checker::new(source);
    let place = FormLocation::document();
    let size = crate::json::serialized_length(source).unwrap_or_default();
    if size > MAX_BYTES {
        let message = format!("the document has {size} bytes; the maximum is {MAX_BYTES}");
        checker.report_error(|| place.error("D005", message).with_fix("split the assistant or move long texts out of it"));
    }
    checker.check(&Shape::Ref(shape), source, &place);
    checker.issues
}
