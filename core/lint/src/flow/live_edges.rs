//! Which edges a node can be left by: not those behind an edge that is always taken, of a port that is never used, or whose condition is never
//! true.

use std::collections::BTreeSet;

use convengine_config::flow::document::{Branching, EdgeDef, Node, NodeKind};
use convengine_text::expr::Expr;

use super::context::{FlowContext, GraphContext};

/// The most bytes of a condition that is compared with others.
const MAX_COMPARED_BYTES: usize = 512;

/// Returns the nodes that follow each node of a graph by edges that can be taken.
pub(super) fn live_successors(context: &FlowContext<'_>, graph_cx: &GraphContext<'_>) -> Vec<Vec<usize>> {
    let of_node = |node| live_edges(context, graph_cx, node).into_iter().filter_map(|edge| graph_cx.node_index(&edge.target)).collect();
    graph_cx.definition.nodes.iter().map(of_node).collect()
}

/// Whether a cycle cannot be gone round: each of its nodes has one way on within it, and the conditions of these ways exclude each other. Nothing
/// in the cycle changes what they read.
pub(super) fn excludes_itself(context: &FlowContext<'_>, graph_cx: &GraphContext<'_>, cycle: &[usize]) -> bool {
    let members: BTreeSet<usize> = cycle.iter().copied().collect();
    let (mut required, mut refused) = (Vec::new(), Vec::new());
    for node in cycle.iter().filter_map(|node| graph_cx.definition.nodes.get(*node)) {
        let edges = live_edges(context, graph_cx, node);
        let inside = |edge: &EdgeDef| graph_cx.node_index(&edge.target).is_some_and(|target| members.contains(&target));
        let mut inner_edges = edges.iter().enumerate().filter(|it| inside(it.1));
        let (Some((at, inner_edge)), None) = (inner_edges.next(), inner_edges.next()) else { return false };
        if node.traits().branching == Branching::Out {
            required.extend(condition_of(inner_edge));
            refused.extend(edges.iter().take(at).filter_map(|it| condition_of(it)));
        }
    }
    required.iter().enumerate().any(|(at, one)| {
        refused.iter().any(|other| one == other || one.implies(other)) || required.iter().skip(at + 1).any(|other| one.excludes(other))
    })
}

/// The edges by which a node can be left, in the order in which they are tried.
fn live_edges<'g>(context: &FlowContext<'_>, graph_cx: &GraphContext<'g>, node: &Node) -> Vec<&'g EdgeDef> {
    if node.disabled {
        return graph_cx.graph.edges(&node.id, node.default_port()).take(1).collect();
    }
    let branching = node.traits().branching;
    let mut live = Vec::new();
    let mut ports: Vec<&str> = graph_cx.graph.ports(&node.id).collect();
    // A decision tries `out` before `else`.
    ports.sort_by_key(|it| *it != "out");
    let mut is_decided = false;
    for port in ports {
        if branching == Branching::Out && is_decided && port == "else" || !can_leave_by(context, node, port) {
            continue;
        }
        if !branching.allows(port) {
            live.extend(graph_cx.graph.edges(&node.id, port).next());
            continue;
        }
        for edge in graph_cx.graph.edges(&node.id, port) {
            let known = condition_of(edge).map_or(edge.condition.is_none().then_some(true), Expr::constant_value);
            if known != Some(false) {
                live.push(edge);
            }
            if known == Some(true) || edge.is_default() {
                is_decided |= port == "out";
                break;
            }
        }
    }
    live
}

/// Whether a node can be left by a port: a graph that always ends the session never returns to its caller.
fn can_leave_by(context: &FlowContext<'_>, node: &Node, port: &str) -> bool {
    let NodeKind::Subflow(data) = &node.kind else { return true };
    let Some(callee) = context.graph(&data.graph).filter(|_| port != "error") else { return true };
    let returns = |(at, node): (usize, &Node)| callee.is_reachable(at) && node.traits().leaves_graph && !ends_session(node);
    callee.definition.nodes.iter().enumerate().any(returns)
}

fn ends_session(node: &Node) -> bool {
    matches!(&node.kind, NodeKind::End(end) if end.end_session == Some(true))
}

/// The condition of an edge that is no default edge, if it is short enough to be compared.
fn condition_of(edge: &EdgeDef) -> Option<&Expr> {
    let condition = edge.condition.as_ref().filter(|_| !edge.is_default())?;
    condition.expr.compiled.as_ref().ok().filter(|_| condition.expr.source.len() <= MAX_COMPARED_BYTES)
}
