//! The ports that edges leave. (G004, G012, G020, G021, G024, C005, C006)

use std::collections::BTreeSet;

use serde_json::Value;

use super::ground::{Chart, Ground};
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::{CallMode, EdgeForm, Node, NodeKind, SubflowData};

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    for chart in &ground.charts {
        edges(ground, chart, found);
        for (at, node) in chart.form.nodes.iter().enumerate() {
            match &node.kind {
                NodeKind::Decision | NodeKind::Router => branching(chart, at, node, found),
                NodeKind::Subflow(data) => exits(ground, chart, at, data, found),
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

fn edges(ground: &Ground<'_>, chart: &Chart<'_>, found: &mut Vec<DocumentIssue>) {
    let mut used: BTreeSet<(&str, &str)> = BTreeSet::new();
    let ports: Vec<Vec<String>> = chart.form.nodes.iter().enumerate().map(|(at, node)| ports(ground, chart, at, node)).collect();
    for (at, edge) in chart.form.edges.iter().enumerate() {
        let Some(number) = chart.number(&edge.source) else { continue };
        let (Some(node), Some(ports)) = (chart.form.nodes.get(number), ports.get(number)) else { continue };
        let port = edge.source_port.as_str();
        if !ports.iter().any(|it| it == port) {
            found.push(unknown(ground, chart, at, node, port, ports));
        }
        if !used.insert((&edge.source, port)) && !is_branching(chart, number, node, port) {
            let message = format!("another edge leaves the port '{port}' of '{}', and only the first is taken", node.name);
            found.push(chart.edge(at).error("G012", message).fix("remove one of them, or branch by a node of the type 'router'"));
        }
    }
}

fn unknown(ground: &Ground<'_>, chart: &Chart<'_>, edge: usize, node: &Node, port: &str, ports: &[String]) -> DocumentIssue {
    let place = chart.edge(edge);
    let is_written = ground.source.pointer(&format!("{}/source_port", place.path)).is_some();
    let place = if is_written { place.at("/source_port") } else { place };
    let fix = match ports {
        [] => format!("remove the edge: nothing follows a node like '{}'", node.name),
        ports => format!("take one of {}", ports.join(", ")),
    };
    if matches!(&node.kind, NodeKind::Subflow(data) if data.mode == CallMode::Call) {
        return place.error("C006", format!("'{port}' is no exit of the graph that '{}' calls", node.name)).fix(fix);
    }
    place.error("G004", format!("'{}' has no port '{port}'", node.name)).fix(fix)
}

/// Whether several edges may leave a port.
fn is_branching(chart: &Chart<'_>, at: usize, node: &Node, port: &str) -> bool {
    match &node.kind {
        NodeKind::Decision | NodeKind::Router => port == "out",
        NodeKind::Unavailable => node.type_name == "python" && chart.data(at, "branches").is_some(),
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

/// The ports of a node. (`convoship.md` 4)
fn ports(ground: &Ground<'_>, chart: &Chart<'_>, at: usize, node: &Node) -> Vec<String> {
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
        NodeKind::Subflow(data) => all(&["out", "error"]).into_iter().chain(left_by(ground, data)).collect(),
        NodeKind::InstructionAgent(_) => all(&["done", "max_turns", "handoff", "error"]),
        NodeKind::Unavailable => match node.type_name.as_str() {
            "handoff" => all(&["out", "timeout", "unavailable"]),
            "knowledge" => all(&["out", "no_result", "error"]),
            _ => {
                let branches = chart.data(at, "branches").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
                all(&["out", "error"]).into_iter().chain(branches.map(|it| format!("branch:{it}"))).collect()
            }
        },
    }
}

/// The exits of a callee beside `out`: those that it declares, and those that its ends name.
pub(super) fn left_by(ground: &Ground<'_>, data: &SubflowData) -> BTreeSet<String> {
    let Some(callee) = ground.chart(&data.graph) else { return BTreeSet::new() };
    let ends = callee.form.nodes.iter().filter_map(|it| if let NodeKind::End(end) = &it.kind { Some(end.exit.clone()) } else { None });
    callee.form.exits.iter().cloned().chain(ends).filter(|it| it != "out").collect()
}

fn exits(ground: &Ground<'_>, chart: &Chart<'_>, at: usize, data: &SubflowData, found: &mut Vec<DocumentIssue>) {
    let Some(node) = chart.form.nodes.get(at) else { return };
    if data.mode == CallMode::Goto {
        return;
    }
    for exit in left_by(ground, data).iter().filter(|it| !chart.wired(node, it)) {
        let message = format!("'{}' may leave by its exit '{exit}', which is not wired here: the port 'out' is taken then", data.graph);
        found.push(chart.place_of(at).warning("C005", message).fix(format!("wire the port '{exit}'")));
    }
}

fn branching(chart: &Chart<'_>, at: usize, node: &Node, found: &mut Vec<DocumentIssue>) {
    let edges: Vec<&EdgeForm> = chart.graph.edges(&node.id, "out").collect();
    let has_else = chart.wired(node, "else");
    if edges.is_empty() && !has_else {
        let message = format!("no edge leaves '{}'", node.name);
        found.push(chart.place_of(at).error("G020", message).fix("add an edge for each case"));
        return;
    }
    if !has_else && !edges.iter().any(|it| it.is_default()) && !is_complete(&edges) {
        let message = format!("when no condition of '{}' holds, no edge leads on", node.name);
        found.push(chart.place_of(at).warning("G021", message).fix("add an edge without condition, or wire the port 'else'"));
    }
    if matches!(node.kind, NodeKind::Decision) {
        mixed(chart, at, found);
    }
}

/// Whether some condition always holds, or one says what another denies.
fn is_complete(edges: &[&EdgeForm]) -> bool {
    let conditions = || edges.iter().filter_map(|it| it.condition.as_ref()).map(|it| &it.expr);
    let sources: BTreeSet<&str> = conditions().map(|it| it.source.trim()).collect();
    conditions().any(|it| {
        let denied = it.source.strip_prefix("!(").and_then(|it| it.strip_suffix(')'));
        denied.is_some_and(|it| sources.contains(it.trim())) || it.compiled.as_ref().is_ok_and(|it| it.constant() == Some(true))
    })
}

/// Ports `yes` and `no` stand for conditions of `out`, so a decision has either.
fn mixed(chart: &Chart<'_>, node: usize, found: &mut Vec<DocumentIssue>) {
    let mut out = None;
    let mut has_two_ways = false;
    for at in chart.leaving.get(node).into_iter().flatten().copied() {
        let port = chart.edges.get(at).and_then(|it| it.get("source_port")).and_then(Value::as_str);
        match port.unwrap_or("out") {
            "yes" | "no" => has_two_ways = true,
            "out" => out = out.or(Some(at)),
            _ => {}
        }
    }
    if let Some(at) = out.filter(|_| has_two_ways) {
        let message = "the decision has the ports 'yes' or 'no', and the port 'out' as well";
        found.push(chart.edge(at).error("G024", message).fix("lead all of its edges from 'out', with a condition each"));
    }
}
