//! The ports of nodes and their edges. (G004, G012, G020, G021, G024, C005, C006)

use std::collections::BTreeSet;

use serde_json::Value;

use super::ground::{Chart, Ground};
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::{CallMode, EdgeForm, Node, NodeKind, SubflowData};

pub(super) fn check(context: &Ground<'_>, findings: &mut Vec<DocumentIssue>) {
    for graph_cx in &context.graphs {
        edges(context, graph_cx, findings);
        for (at, node) in graph_cx.form.nodes.iter().enumerate() {
            match &node.kind {
                NodeKind::Decision | NodeKind::Router => branching(graph_cx, at, node, findings),
                NodeKind::Subflow(data) => exits(context, graph_cx, at, data, findings),
                NodeKind::Start(_)
                | NodeKind::End(_)
                | NodeKind::Intent(_)
                | NodeKind::Message(_)
                | NodeKind::Entity(_)
                | NodeKind::Service(_)
                | NodeKind::Set(_)
                | NodeKind::Fallback(_)
                | NodeKind::InstructionAgent(_)
                | NodeKind::Unavailable => {}
            }
        }
    }
}

fn edges(context: &Ground<'_>, graph_cx: &Chart<'_>, findings: &mut Vec<DocumentIssue>) {
    let mut used: BTreeSet<(&str, &str)> = BTreeSet::new();
    let ports: Vec<Vec<String>> = graph_cx.form.nodes.iter().enumerate().map(|(at, node)| ports(context, graph_cx, at, node)).collect();
    for (at, edge) in graph_cx.form.edges.iter().enumerate() {
        let Some(number) = graph_cx.number(&edge.source) else { continue };
        let (Some(node), Some(ports)) = (graph_cx.form.nodes.get(number), ports.get(number)) else { continue };
        let port = edge.source_port.as_str();
        if !ports.iter().any(|it| it == port) {
            findings.push(unknown(context, graph_cx, at, node, port, ports));
        }
        if !used.insert((&edge.source, port)) && !is_branching(graph_cx, number, node, port) {
            let message = format!("several edges leave the port '{port}' of '{}', but only the first is taken", node.name);
            findings.push(graph_cx.edge(at).error("G012", message).fix("remove one of them, or branch with a node of the type 'router'"));
        }
    }
}

fn unknown(context: &Ground<'_>, graph_cx: &Chart<'_>, edge: usize, node: &Node, port: &str, ports: &[String]) -> DocumentIssue {
    let location = graph_cx.edge(edge);
    let is_written = context.source.pointer(&format!("{}/source_port", location.path)).is_some();
    let location = if is_written { location.at("/source_port") } else { location };
    let fix = match ports {
        [] => format!("remove the edge: '{}' has no ports", node.name),
        ports => format!("use one of {}", ports.join(", ")),
    };
    if matches!(&node.kind, NodeKind::Subflow(data) if data.mode == CallMode::Call) {
        return location.error("C006", format!("'{port}' is not an exit of the graph that '{}' calls", node.name)).fix(fix);
    }
    location.error("G004", format!("'{}' has no port '{port}'", node.name)).fix(fix)
}

/// Whether several edges may leave a port.
fn is_branching(graph_cx: &Chart<'_>, at: usize, node: &Node, port: &str) -> bool {
    match &node.kind {
        NodeKind::Decision | NodeKind::Router => port == "out",
        NodeKind::Unavailable => node.type_name == "python" && graph_cx.data(at, "branches").is_some(),
        NodeKind::Start(_)
        | NodeKind::End(_)
        | NodeKind::Intent(_)
        | NodeKind::Message(_)
        | NodeKind::Entity(_)
        | NodeKind::Service(_)
        | NodeKind::Set(_)
        | NodeKind::Fallback(_)
        | NodeKind::Subflow(_)
        | NodeKind::InstructionAgent(_) => false,
    }
}

/// Returns the ports of a node. (docs/spec/flows.md#4)
fn ports(context: &Ground<'_>, graph_cx: &Chart<'_>, at: usize, node: &Node) -> Vec<String> {
    let all = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    match &node.kind {
        NodeKind::Start(_) | NodeKind::Fallback(_) => all(&["out"]),
        NodeKind::End(_) => Vec::new(),
        NodeKind::Intent(_) => all(&["out", "failed"]),
        NodeKind::Message(data) => {
            let buttons = data.blocks.iter().flat_map(|it| it.buttons());
            all(&["out"]).into_iter().chain(buttons.map(|it| format!("btn:{}", it.id))).collect()
        }
        NodeKind::Entity(_) => all(&["out", "no_input", "failed"]),
        NodeKind::Decision | NodeKind::Router => all(&["out", "else", "error"]),
        NodeKind::Service(_) => all(&["success", "failure"]),
        NodeKind::Set(_) => all(&["out", "error"]),
        NodeKind::Subflow(data) if data.mode == CallMode::Goto => Vec::new(),
        NodeKind::Subflow(data) => all(&["out", "error"]).into_iter().chain(left_by(context, data)).collect(),
        NodeKind::InstructionAgent(_) => all(&["done", "max_turns", "handoff", "error"]),
        NodeKind::Unavailable => match node.type_name.as_str() {
            "handoff" => all(&["out", "timeout", "unavailable"]),
            "knowledge" => all(&["out", "no_result", "error"]),
            _ => {
                let branches = graph_cx.data(at, "branches").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
                all(&["out", "error"]).into_iter().chain(branches.map(|it| format!("branch:{it}"))).collect()
            }
        },
    }
}

/// Returns the exits of a called graph besides `out`: the declared ones and those of its end nodes.
pub(super) fn left_by(context: &Ground<'_>, data: &SubflowData) -> BTreeSet<String> {
    let Some(callee) = context.chart(&data.graph) else { return BTreeSet::new() };
    let ends = callee.form.nodes.iter().filter_map(|it| if let NodeKind::End(end) = &it.kind { Some(end.exit.clone()) } else { None });
    callee.form.exits.iter().cloned().chain(ends).filter(|it| it != "out").collect()
}

fn exits(context: &Ground<'_>, graph_cx: &Chart<'_>, at: usize, data: &SubflowData, findings: &mut Vec<DocumentIssue>) {
    let Some(node) = graph_cx.form.nodes.get(at) else { return };
    if data.mode == CallMode::Goto {
        return;
    }
    for exit in left_by(context, data).iter().filter(|it| !graph_cx.wired(node, it)) {
        let message = format!("the graph '{}' has the exit '{exit}', which is not connected here, so the port 'out' is used", data.graph);
        findings.push(graph_cx.place_of(at).warning("C005", message).fix(format!("connect the port '{exit}'")));
    }
}

fn branching(graph_cx: &Chart<'_>, at: usize, node: &Node, findings: &mut Vec<DocumentIssue>) {
    let edges: Vec<&EdgeForm> = graph_cx.graph.edges(&node.id, "out").collect();
    let has_else = graph_cx.wired(node, "else");
    if edges.is_empty() && !has_else {
        let message = format!("no edge leaves '{}'", node.name);
        findings.push(graph_cx.place_of(at).error("G020", message).fix("add an edge for each case"));
        return;
    }
    if !has_else && !edges.iter().any(|it| it.is_default()) && !is_complete(&edges) {
        let message = format!("nothing follows if no condition of '{}' is true", node.name);
        findings.push(graph_cx.place_of(at).warning("G021", message).fix("add an edge without a condition, or connect the port 'else'"));
    }
    if matches!(node.kind, NodeKind::Decision) {
        mixed(graph_cx, at, findings);
    }
}

/// Whether a condition is always true, or is the negation of another one.
fn is_complete(edges: &[&EdgeForm]) -> bool {
    let conditions = || edges.iter().filter_map(|it| it.condition.as_ref()).map(|it| &it.expr);
    let sources: BTreeSet<&str> = conditions().map(|it| it.source.trim()).collect();
    conditions().any(|it| {
        let negated = it.source.strip_prefix("!(").and_then(|it| it.strip_suffix(')'));
        negated.is_some_and(|it| sources.contains(it.trim())) || it.compiled.as_ref().is_ok_and(|it| it.constant() == Some(true))
    })
}

/// Reports a decision that mixes the ports `yes` and `no`, which are aliases for conditions of `out`, with `out`.
fn mixed(graph_cx: &Chart<'_>, node: usize, findings: &mut Vec<DocumentIssue>) {
    let mut out = None;
    let mut has_yes_or_no = false;
    for at in graph_cx.leaving.get(node).into_iter().flatten().copied() {
        let port = graph_cx.edges.get(at).and_then(|it| it.get("source_port")).and_then(Value::as_str);
        match port.unwrap_or("out") {
            "yes" | "no" => has_yes_or_no = true,
            "out" => out = out.or(Some(at)),
            _ => {}
        }
    }
    if let Some(at) = out.filter(|_| has_yes_or_no) {
        let message = "the decision uses the ports 'yes' or 'no' together with the port 'out'";
        findings.push(graph_cx.edge(at).error("G024", message).fix("connect all of its edges to 'out', each with a condition"));
    }
}
