//! Edges that are never taken, and constant conditions. (G022, G023, E006)

use std::collections::BTreeMap;

use super::ground::{Chart, Ground};
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::{EdgeForm, NodeKind};
use crate::text::expr::Expr;

/// The number of earlier edges to compare an edge with. Equal conditions are always found.
const NEAR: usize = 64;

/// The maximum length of a condition to compare, in bytes: comparing longer ones takes too long.
const SHORT: usize = 512;

pub(super) fn check(context: &Ground<'_>, findings: &mut Vec<DocumentIssue>) {
    for graph_cx in &context.graphs {
        let numbers: BTreeMap<*const EdgeForm, usize> =
            graph_cx.form.edges.iter().enumerate().map(|(at, it)| (std::ptr::from_ref(it), at)).collect();
        for node in graph_cx.form.nodes.iter().filter(|it| matches!(it.kind, NodeKind::Decision | NodeKind::Router)) {
            let edges = graph_cx.graph.edges(&node.id, "out").filter_map(|it| Some((*numbers.get(&std::ptr::from_ref(it))?, it)));
            shadowed(graph_cx, edges, findings);
        }
    }
    for (location, text) in context.texts() {
        let Some(expr) = text.expr().filter(|_| text.kind == super::spot::Kind::Condition) else { continue };
        // Authors write these two for the default case.
        if expr.is_default() || ["true", "*"].contains(&text.source.trim().to_ascii_lowercase().as_str()) {
            continue;
        }
        let (source, is_contradiction) = (text.source.trim(), !expr.reads().is_empty());
        match expr.constant() {
            Some(false) => {
                let message = format!("the condition '{source}' is never true");
                findings.push(location.clone().warning("G023", &message).fix("correct the condition, or remove the part that depends on it"));
                if !is_contradiction {
                    findings.push(location.warning("E006", message + ", regardless of input").fix("compare with a variable"));
                }
            }
            Some(true) => {
                let message = format!("the condition '{source}' is always true, regardless of input");
                findings.push(location.warning("E006", message).fix("omit the condition, or compare with a variable"));
            }
            None => {}
        }
    }
}

/// Reports edges that are never taken because an earlier edge is taken in all of their cases. `edges` are in evaluation order.
fn shadowed<'g>(graph_cx: &Chart<'g>, edges: impl Iterator<Item = (usize, &'g EdgeForm)>, findings: &mut Vec<DocumentIssue>) {
    let mut earlier: Vec<(&EdgeForm, Option<&Expr>)> = Vec::new();
    let mut sources: BTreeMap<&str, &EdgeForm> = BTreeMap::new();
    let mut always: Option<&EdgeForm> = None;
    for (number, edge) in edges {
        let condition = edge.condition.as_ref().map(|it| &it.expr);
        let expr = condition.and_then(|it| it.compiled.as_ref().ok()).filter(|_| !edge.is_default());
        let source = condition.filter(|_| !edge.is_default()).map(|it| it.source.trim());
        let equal = source.and_then(|it| sources.get(it).copied());
        let implied = || {
            let expr = expr?;
            source.filter(|it| it.len() <= SHORT)?;
            let mut near = earlier.iter().rev().take(NEAR);
            near.find(|it| it.1.is_some_and(|it| expr.implies(it))).map(|it| it.0)
        };
        if let Some(other) = always.or(equal).or_else(implied) {
            let message = format!("the edge is never taken: the earlier edge '{}' is taken in every case of this one", other.id);
            findings.push(graph_cx.edge(number).warning("G022", message).fix("give it a lower 'priority', or a different condition"));
            continue;
        }
        // A default edge, or a condition that is always true, shadows all later edges.
        let is_last = edge.is_default() || expr.is_some_and(|it| it.constant() == Some(true));
        always = always.or(is_last.then_some(edge));
        if let Some(source) = source {
            sources.insert(source, edge);
        }
        earlier.push((edge, expr.filter(|_| source.is_some_and(|it| it.len() <= SHORT))));
    }
}
