//! The ports of nodes and their edges. (G004, G012, G020, G021, G024, C005, C006)

use std::collections::BTreeSet;

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::{Branching, CallMode, EdgeDef, Node, NodeKind, SubflowData};
use serde_json::Value;

use super::context::{FlowContext, GraphContext};

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    for graph_cx in &context.graphs {
        check_edges(context, graph_cx, findings);
        for (at, node) in graph_cx.definition.nodes.iter().enumerate() {
            if node.traits().branching == Branching::Out {
                check_branches(graph_cx, at, node, findings);
            } else if let NodeKind::Subflow(data) = &node.kind {
                check_exits(context, graph_cx, at, data, findings);
            }
        }
    }
}

fn check_edges(context: &FlowContext<'_>, graph_cx: &GraphContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let mut used: BTreeSet<(&str, &str)> = BTreeSet::new();
    let ports: Vec<Vec<String>> = graph_cx.definition.nodes.iter().map(|it| ports(context, it)).collect();
    for (at, edge) in graph_cx.definition.edges.iter().enumerate() {
        let Some(number) = graph_cx.node_index(&edge.source) else { continue };
        let (Some(node), Some(ports)) = (graph_cx.definition.nodes.get(number), ports.get(number)) else { continue };
        let port = edge.source_port.as_str();
        if !ports.iter().any(|it| it == port) {
            findings.push(unknown_port(context, graph_cx, at, node, port, ports));
        }
        if !used.insert((&edge.source, port)) && !node.traits().branching.allows(port) {
            let message = format!("several edges leave the port '{port}' of '{}', but only the first is taken", node.name);
            findings.push(
                graph_cx
                    .edge_location(at)
                    .error("G012", message)
                    .with_fix("remove one of them, or branch with a node of the type 'router'"),
            );
        }
    }
}

fn unknown_port(
    context: &FlowContext<'_>,
    graph_cx: &GraphContext<'_>,
    edge: usize,
    node: &Node,
    port: &str,
    ports: &[String],
) -> DocumentIssue {
    let location = graph_cx.edge_location(edge);
    let is_written = context.source.pointer(&format!("{}/source_port", location.path)).is_some();
    let location = if is_written { location.join("/source_port") } else { location };
    let fix = match ports {
        [] => format!("remove the edge: '{}' has no ports", node.name),
        ports => format!("use one of {}", ports.join(", ")),
    };
    if matches!(&node.kind, NodeKind::Subflow(data) if data.mode == CallMode::Call) {
        return location.error("C006", format!("'{port}' is not an exit of the graph that '{}' calls", node.name)).with_fix(fix);
    }
    location.error("G004", format!("'{}' has no port '{port}'", node.name)).with_fix(fix)
}

/// Returns the ports of a node. (docs/spec/flows.md#4)
fn ports(context: &FlowContext<'_>, node: &Node) -> Vec<String> {
    let own = node.traits().ports.iter().map(|it| (*it).to_owned());
    let called = if let NodeKind::Subflow(data) = &node.kind { Some(data).filter(|it| it.mode == CallMode::Call) } else { None };
    let exits = called.map(|it| exits_of(context, it)).unwrap_or_default();
    own.chain(node.kind.data().data_ports()).chain(exits).collect()
}

/// Returns the exits of a called graph besides `out`: the declared ones and those of its end nodes.
pub(super) fn exits_of(context: &FlowContext<'_>, data: &SubflowData) -> BTreeSet<String> {
    let Some(callee) = context.graph(&data.graph) else { return BTreeSet::new() };
    let ends =
        callee.definition.nodes.iter().filter_map(|node| if let NodeKind::End(end) = &node.kind { Some(end.exit.clone()) } else { None });
    callee.definition.exits.iter().cloned().chain(ends).filter(|it| it != "out").collect()
}

fn check_exits(context: &FlowContext<'_>, graph_cx: &GraphContext<'_>, at: usize, data: &SubflowData, findings: &mut Vec<DocumentIssue>) {
    let Some(node) = graph_cx.definition.nodes.get(at) else { return };
    if data.mode == CallMode::Goto {
        return;
    }
    for exit in exits_of(context, data).iter().filter(|it| !graph_cx.is_wired(node, it)) {
        let message = format!("the graph '{}' has the exit '{exit}', which is not connected here, so the port 'out' is used", data.graph);
        findings.push(graph_cx.node_location(at).warning("C005", message).with_fix(format!("connect the port '{exit}'")));
    }
}

fn check_branches(graph_cx: &GraphContext<'_>, at: usize, node: &Node, findings: &mut Vec<DocumentIssue>) {
    let edges: Vec<&EdgeDef> = graph_cx.graph.edges(&node.id, "out").collect();
    let has_else = graph_cx.is_wired(node, "else");
    if edges.is_empty() && !has_else {
        let message = format!("no edge leaves '{}'", node.name);
        findings.push(graph_cx.node_location(at).error("G020", message).with_fix("add an edge for each case"));
        return;
    }
    if !has_else && !edges.iter().any(|it| it.is_default()) && !is_complete(&edges) {
        let message = format!("nothing follows if no condition of '{}' is true", node.name);
        findings.push(
            graph_cx.node_location(at).warning("G021", message).with_fix("add an edge without a condition, or connect the port 'else'"),
        );
    }
    if matches!(node.kind, NodeKind::Decision(_)) {
        check_decision_ports(graph_cx, at, findings);
    }
}

/// Whether a condition is always true, or is the negation of another one.
fn is_complete(edges: &[&EdgeDef]) -> bool {
    let conditions = || edges.iter().filter_map(|edge| edge.condition.as_ref()).map(|condition| &condition.expr);
    let sources: BTreeSet<&str> = conditions().map(|it| it.source.trim()).collect();
    conditions().any(|expr| {
        let negated = expr.source.strip_prefix("!(").and_then(|rest| rest.strip_suffix(')'));
        negated.is_some_and(|source| sources.contains(source.trim()))
            || expr.compiled.as_ref().is_ok_and(|compiled| compiled.constant_value() == Some(true))
    })
}

/// Reports a decision that mixes the ports `yes` and `no`, which are aliases for conditions of `out`, with `out`.
fn check_decision_ports(graph_cx: &GraphContext<'_>, node: usize, findings: &mut Vec<DocumentIssue>) {
    let mut out = None;
    let mut has_yes_or_no = false;
    for at in graph_cx.outgoing_edges.get(node).into_iter().flatten().copied() {
        let port = graph_cx.edge_values.get(at).and_then(|it| it.get("source_port")).and_then(Value::as_str);
        match port.unwrap_or("out") {
            "yes" | "no" => has_yes_or_no = true,
            "out" => out = out.or(Some(at)),
            _ => {}
        }
    }
    if let Some(at) = out.filter(|_| has_yes_or_no) {
        let message = "the decision uses the ports 'yes' or 'no' together with the port 'out'";
        findings
            .push(graph_cx.edge_location(at).error("G024", message).with_fix("connect all of its edges to 'out', each with a condition"));
    }
}
