//! Edges that are never taken, and constant conditions. (G022, G023, E006)

use std::collections::BTreeMap;

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::{Branching, EdgeDef};
use convengine_text::expr::Expr;

use super::context::{FlowContext, GraphContext};

/// The number of earlier edges to compare an edge with. Equal conditions are always found.
const MAX_COMPARED_EDGES: usize = 64;

/// The maximum length of a condition to compare, in bytes: comparing longer ones takes too long.
const MAX_COMPARED_BYTES: usize = 512;

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    for graph_cx in &context.graphs {
        let numbers: BTreeMap<*const EdgeDef, usize> =
            graph_cx.definition.edges.iter().enumerate().map(|(at, it)| (std::ptr::from_ref(it), at)).collect();
        for node in graph_cx.definition.nodes.iter().filter(|node| node.traits().branching == Branching::Out) {
            let edges = graph_cx.graph.edges(&node.id, "out").filter_map(|edge| Some((*numbers.get(&std::ptr::from_ref(edge))?, edge)));
            check_shadowed_edges(graph_cx, edges, findings);
        }
    }
    for (location, text) in context.all_texts() {
        let Some(expr) = text.expr().filter(|_| text.kind == super::source_text::TextKind::Condition) else { continue };
        // Authors write these two for the default case.
        if expr.is_default() || ["true", "*"].contains(&text.source.trim().to_ascii_lowercase().as_str()) {
            continue;
        }
        let (source, is_contradiction) = (text.source.trim(), !expr.paths().is_empty());
        match expr.constant_value() {
            Some(false) => {
                let message = format!("the condition '{source}' is never true");
                findings.push(
                    location.clone().warning("G023", &message).with_fix("correct the condition, or remove the part that depends on it"),
                );
                if !is_contradiction {
                    findings.push(location.warning("E006", message + ", regardless of input").with_fix("compare with a variable"));
                }
            }
            Some(true) => {
                let message = format!("the condition '{source}' is always true, regardless of input");
                findings.push(location.warning("E006", message).with_fix("omit the condition, or compare with a variable"));
            }
            None => {}
        }
    }
}

/// Reports edges that are never taken because an earlier edge is taken in all of their cases. `edges` are in evaluation order.
fn check_shadowed_edges<'g>(
    graph_cx: &GraphContext<'g>,
    edges: impl Iterator<Item = (usize, &'g EdgeDef)>,
    findings: &mut Vec<DocumentIssue>,
) {
    let mut earlier: Vec<(&EdgeDef, Option<&Expr>)> = Vec::new();
    let mut sources: BTreeMap<&str, &EdgeDef> = BTreeMap::new();
    let mut always: Option<&EdgeDef> = None;
    for (number, edge) in edges {
        let condition = edge.condition.as_ref().map(|it| &it.expr);
        let expr = condition.and_then(|condition| condition.compiled.as_ref().ok()).filter(|_| !edge.is_default());
        let source = condition.filter(|_| !edge.is_default()).map(|it| it.source.trim());
        let equal = source.and_then(|source| sources.get(source).copied());
        let implied = || {
            let expr = expr?;
            source.filter(|source| source.len() <= MAX_COMPARED_BYTES)?;
            let mut near = earlier.iter().rev().take(MAX_COMPARED_EDGES);
            near.find(|(_, condition)| condition.is_some_and(|condition| expr.implies(condition))).map(|&(edge, _)| edge)
        };
        if let Some(other) = always.or(equal).or_else(implied) {
            let message = format!("the edge is never taken: the earlier edge '{}' is always taken instead", other.id);
            findings.push(
                graph_cx.edge_location(number).warning("G022", message).with_fix("give it a lower 'priority', or a different condition"),
            );
            continue;
        }
        // A default edge, or a condition that is always true, shadows all later edges.
        let is_last = edge.is_default() || expr.is_some_and(|expr| expr.constant_value() == Some(true));
        always = always.or(is_last.then_some(edge));
        if let Some(source) = source {
            sources.insert(source, edge);
        }
        earlier.push((edge, expr.filter(|_| source.is_some_and(|source| source.len() <= MAX_COMPARED_BYTES))));
    }
}
