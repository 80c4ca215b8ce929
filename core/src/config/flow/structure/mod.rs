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
use super::shape::{AI_AGENT, CHAIN, DOCUMENT, Definition, Shape, WORKFLOW};

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

/// Returns the structural issues of a chain.
pub fn check_chain_structure(source: &Value) -> Vec<DocumentIssue> {
    let mut issues = check_shape(source, &CHAIN);
    issues.extend(duplicate_chain_ids(source));
    issues
}

/// Reports branches and steps whose id occurs before, because paths of runs name both. (docs/spec/chains.md#1)
fn duplicate_chain_ids(source: &Value) -> Vec<DocumentIssue> {
    let list = |value: &Value, name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut steps: Vec<(String, Value)> =
        list(source, "steps").into_iter().enumerate().map(|(at, it)| (format!("/steps/{at}"), it)).collect();
    let mut branches = Vec::new();
    for (number, branch) in list(source, "branches").into_iter().enumerate() {
        let nested = list(&branch, "steps").into_iter().enumerate();
        steps.extend(nested.map(|(at, it)| (format!("/branches/{number}/steps/{at}"), it)));
        branches.push((format!("/branches/{number}"), branch));
    }
    let mut issues = Vec::new();
    for (items, what, code) in [(steps, "step", "D004"), (branches, "branch", "X005")] {
        let mut seen = std::collections::BTreeSet::new();
        for (path, item) in items {
            let Some(id) = item.get("id").and_then(Value::as_str) else { continue };
            if !seen.insert(id.to_owned()) {
                let message = format!("the {what} id '{id}' occurs more than once in the chain");
                issues.push(DocumentIssue::error(code, format!("{path}/id"), message).with_fix("give it a unique id"));
            }
        }
    }
    issues
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
