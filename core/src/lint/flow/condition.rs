//! Edges that are never taken, and conditions that say nothing. (G022, G023, E006)

use std::collections::BTreeMap;

use super::ground::{Chart, Ground};
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::{EdgeForm, NodeKind};
use crate::text::expr::Expr;

/// Earlier edges that an edge is held against. Equal conditions are found however many there are.
const NEAR: usize = 64;

/// Characters of a condition that is held against others: longer ones take too long.
const SHORT: usize = 512;

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    for chart in &ground.charts {
        let numbers: BTreeMap<*const EdgeForm, usize> =
            chart.form.edges.iter().enumerate().map(|(at, it)| (std::ptr::from_ref(it), at)).collect();
        for node in chart.form.nodes.iter().filter(|it| matches!(it.kind, NodeKind::Decision | NodeKind::Router)) {
            let edges = chart.graph.edges(&node.id, "out").filter_map(|it| Some((*numbers.get(&std::ptr::from_ref(it))?, it)));
            shadowed(chart, edges, found);
        }
    }
    for (place, spot) in ground.texts() {
        let Some(expr) = spot.expr().filter(|_| spot.kind == super::spot::Kind::Condition) else { continue };
        // These two words are written where every other case is meant.
        if expr.is_default() || ["true", "*"].contains(&spot.source.trim().to_ascii_lowercase().as_str()) {
            continue;
        }
        let (source, is_contradiction) = (spot.source.trim(), !expr.reads().is_empty());
        match expr.constant() {
            Some(false) => {
                let message = format!("'{source}' never holds");
                found.push(place.clone().warning("G023", &message).fix("correct the condition, or remove what it is for"));
                if !is_contradiction {
                    found.push(place.warning("E006", message + ", whatever is said").fix("compare something with a variable"));
                }
            }
            Some(true) => {
                let message = format!("'{source}' always holds, whatever is said");
                found.push(place.warning("E006", message).fix("leave the condition out, or compare something with a variable"));
            }
            None => {}
        }
    }
}

/// In the order in which they are looked at, an edge is never taken when one before it holds wherever it does.
fn shadowed<'g>(chart: &Chart<'g>, edges: impl Iterator<Item = (usize, &'g EdgeForm)>, found: &mut Vec<DocumentIssue>) {
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
            let message = format!("the edge is never taken: the edge '{}' before it is taken wherever this one would be", other.id);
            found.push(chart.edge(number).warning("G022", message).fix("give it a lower 'priority', or another condition"));
            continue;
        }
        // What comes last is taken whenever nothing else is.
        let is_last = edge.is_default() || expr.is_some_and(|it| it.constant() == Some(true));
        always = always.or(is_last.then_some(edge));
        if let Some(source) = source {
            sources.insert(source, edge);
        }
        earlier.push((edge, expr.filter(|_| source.is_some_and(|it| it.len() <= SHORT))));
    }
}
