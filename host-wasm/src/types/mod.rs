//! What crosses the boundary as objects. Their declarations for TypeScript are generated from these types.

#[cfg(feature = "engine")]
mod turn;

#[cfg(feature = "lint")]
use convengine_core::config::flow::{DocumentIssue, DocumentSeverity};
use convengine_core::config::{Issue as ConfigIssue, Severity};
use serde::Serialize;
use tsify::Tsify;
use wasm_bindgen::prelude::wasm_bindgen;

#[cfg(feature = "engine")]
pub use self::turn::{Answer, Exchange, Explanation, Step, StepSessions, TurnMessage};

#[wasm_bindgen(typescript_custom_section)]
const JSON: &str = "
/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [member: string]: Json };";

/// An issue of a pack.
#[derive(Serialize, Tsify)]
pub struct Issue {
    /// How bad it is.
    #[tsify(type = "'error' | 'warning'")]
    severity: Severity,
    /// The place, such as `ce_rule[3].match_pattern`, or a JSON pointer such as `/graphs/0/nodes/2`.
    path: String,
    /// What is wrong.
    reason: String,
    /// What to do.
    hint: String,
    /// The check, such as `compile` or `G001`.
    rule: &'static str,
    /// The index of the document in the pack.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<usize>,
    /// The document's graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    graph: Option<String>,
    /// The graph's node.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
}

impl Issue {
    /// Returns an issue of a document of a pack, which is named by its index.
    #[cfg(feature = "lint")]
    pub fn of_document(issue: DocumentIssue, document: usize) -> Self {
        let severity = if issue.severity == DocumentSeverity::Error { Severity::Error } else { Severity::Warning };
        let DocumentIssue { code, path, graph, node, message, fix, .. } = issue;
        // A node without its graph names nothing.
        let node = node.filter(|_| graph.is_some());
        Issue { severity, path, reason: message, hint: fix.unwrap_or_default(), rule: code, document: Some(document), graph, node }
    }
}

impl From<ConfigIssue> for Issue {
    fn from(ConfigIssue { severity, path, reason, hint, rule }: ConfigIssue) -> Self {
        Issue { severity, path, reason, hint, rule, document: None, graph: None, node: None }
    }
}
