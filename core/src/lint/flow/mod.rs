//! Publish checks for flow documents. (docs/spec/flows.md#11)
//!
//! Each file has the checks of one group of codes, or an analysis that several of them use. Checks avoid false positives, because
//! errors block publishing. All checks run in about linear time.

mod agent;
mod assigned;
mod call;
mod codes;
mod condition;
mod cycle;
mod event;
mod expression;
mod graph;
mod ground;
mod handoff;
mod host;
mod intent;
mod knowledge;
mod phrase;
mod port;
mod python;
mod reach;
mod secret;
mod service;
mod slot;
mod spot;
mod template;
mod token;
mod tool;
mod unavailable;
mod value;
mod variables;
mod wait;
mod way;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

pub use self::codes::CODES;
use self::ground::Ground;
use crate::config::flow::{DocumentIssue, Flow, REFUSED, form};

/// The environment that a document is published to.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    /// The names of the secrets of the workspace; `None` if unknown.
    pub secrets: Option<&'a BTreeSet<String>>,
    /// The names of revoked secrets.
    pub revoked: &'a BTreeSet<String>,
    /// Allowed private targets, as `host` or `host:port`.
    pub allowed: &'a [String],
    /// The maximum run time of a script, in milliseconds; `None` if unknown.
    pub script_timeout_ms: Option<u64>,
}

impl Around<'_> {
    /// An environment of which nothing is known and in which no private target is allowed.
    pub const fn nothing() -> Around<'static> {
        const NONE: &BTreeSet<String> = &BTreeSet::new();
        Around { secrets: None, revoked: NONE, allowed: &[], script_timeout_ms: None }
    }
}

impl Default for Around<'_> {
    fn default() -> Self {
        Around::nothing()
    }
}

/// Returns all issues of a document: first those of the whole, then by graph and node. For a document that cannot be parsed, returns
/// only the structural issues.
pub fn publish(source: &Value, target: &Around<'_>) -> Vec<DocumentIssue> {
    let mut findings = form(source);
    if findings.iter().any(|it| REFUSED.contains(&it.code)) {
        return findings;
    }
    let Ok(flow) = Flow::compile(source) else { return findings };
    let context = Ground::of(source, &flow, target);
    for check in [
        graph::check,
        port::check,
        reach::check,
        cycle::check,
        condition::check,
        intent::check,
        phrase::check,
        slot::check,
        value::check,
        expression::check,
        template::check,
        assigned::check,
        service::check,
        tool::check,
        host::check,
        secret::check,
        python::check,
        call::check,
        knowledge::check,
        agent::check,
        handoff::check,
        event::check,
        unavailable::check,
    ] {
        check(&context, &mut findings);
    }
    sorted(findings, &context)
}

/// Sorts issues by graph and node; issues of one node keep their order.
fn sorted(mut findings: Vec<DocumentIssue>, context: &Ground<'_>) -> Vec<DocumentIssue> {
    let mut order: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, graph_cx) in context.graphs.iter().enumerate() {
        order.insert(&graph_cx.form.id, at + 1);
    }
    findings.sort_by_cached_key(|issue| {
        let graph = issue.graph.as_deref().filter(|_| issue.path.starts_with("/graphs"));
        let node = graph.zip(issue.node.as_deref()).and_then(|(graph, node)| context.chart(graph)?.number(node));
        (graph.and_then(|it| order.get(it)).copied().unwrap_or_default(), node.map_or(0, |it| it + 1))
    });
    findings
}

#[cfg(test)]
mod tests;
