//! What publishing says about a flow document. (`convoship.md` 11)
//!
//! A file holds the checks of a group of codes, or an analysis that several of them need. What is not certain is not said: a document
//! that runs well must not be refused. All checks take a time in proportion to the document, or nearly so.

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

/// What a document is published into.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    /// The names of the workspace's secrets; nothing when they are not known.
    pub secrets: Option<&'a BTreeSet<String>>,
    /// The names of secrets that there were.
    pub revoked: &'a BTreeSet<String>,
    /// Local targets that may be called, as `host` or `host:port`.
    pub allowed: &'a [String],
    /// The longest time of a script, in milliseconds; nothing when it is not known.
    pub script_timeout_ms: Option<u64>,
}

impl Around<'_> {
    /// Nothing is known, and nothing is allowed.
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

/// Everything that publishing says about a document: first about the whole, then by graphs and their nodes. A document that cannot be
/// read is told of its form alone.
pub fn publish(source: &Value, around: &Around<'_>) -> Vec<DocumentIssue> {
    let mut found = form(source);
    if found.iter().any(|it| REFUSED.contains(&it.code)) {
        return found;
    }
    let Ok(flow) = Flow::compile(source) else { return found };
    let ground = Ground::of(source, &flow, around);
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
        check(&ground, &mut found);
    }
    sorted(found, &ground)
}

/// By graphs and nodes; what is found of one place stays in its order.
fn sorted(mut found: Vec<DocumentIssue>, ground: &Ground<'_>) -> Vec<DocumentIssue> {
    let mut order: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, chart) in ground.charts.iter().enumerate() {
        order.insert(&chart.form.id, at + 1);
    }
    found.sort_by_cached_key(|issue| {
        let graph = issue.graph.as_deref().filter(|_| issue.path.starts_with("/graphs"));
        let node = graph.zip(issue.node.as_deref()).and_then(|(graph, node)| ground.chart(graph)?.number(node));
        (graph.and_then(|it| order.get(it)).copied().unwrap_or_default(), node.map_or(0, |it| it + 1))
    });
    found
}

#[cfg(test)]
mod tests;
