//! What can be reached, and what leads nowhere. (G006–G009)

use super::ground::{Chart, Ground, Place};
use super::wait::{self, Waits};
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::{Assign, AssignOp, CallMode, FallbackOn, GraphKind, Node, NodeKind, OnError, ValueType};
use serde_json::Value;

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    let waits = Waits::of(ground);
    for (number, chart) in ground.charts.iter().enumerate() {
        found.extend(endless(chart, number, &waits));
        let handled = handles(ground, chart, FallbackOn::Error);
        for (at, node) in chart.form.nodes.iter().enumerate() {
            // Without an entry nothing is reached, which is told of once.
            if !chart.is_reached(at) && chart.entry().is_none() {
                continue;
            }
            if !chart.is_reached(at) {
                let message = format!("no edge leads to '{}'", node.name);
                found.push(chart.place_of(at).warning("G006", message).fix("lead an edge to it, or remove it"));
                continue;
            }
            found.extend(dead_end(ground, chart, at, node));
            if !handled {
                found.extend(unhandled(ground, chart, node, chart.place_of(at)));
            }
        }
    }
}

/// A graph in which nobody is ever waited for and which does not end.
fn endless(chart: &Chart<'_>, number: usize, waits: &Waits) -> Option<DocumentIssue> {
    let stops = |(at, node): (usize, &Node)| {
        let leaves = matches!(&node.kind, NodeKind::End(_)) || matches!(&node.kind, NodeKind::Subflow(data) if data.mode == CallMode::Goto);
        chart.is_reached(at) && (leaves || waits.may(number, at))
    };
    let entry = chart.entry()?;
    (!chart.form.nodes.iter().enumerate().any(stops)).then(|| {
        let name = chart.form.nodes.get(entry).map_or("", |it| &it.name);
        let message = format!("from '{name}' no node can be reached that ends the graph or waits for the user");
        chart.place().at("/entry").error("G007", message).fix("lead to a node of the type 'end'")
    })
}

/// Whether the graph has a fallback for a case.
pub(super) fn has_fallback(chart: &Chart<'_>, on: FallbackOn) -> bool {
    chart.form.nodes.iter().any(|it| catches(it, on))
}

fn catches(node: &Node, on: FallbackOn) -> bool {
    matches!(&node.kind, NodeKind::Fallback(data) if !node.disabled && (data.on == on || data.on == FallbackOn::Any))
}

fn dead_end(ground: &Ground<'_>, chart: &Chart<'_>, at: usize, node: &Node) -> Option<DocumentIssue> {
    let port = node.default_port();
    let goes_on = match &node.kind {
        NodeKind::End(_) => return None,
        // Each branch has a code of its own.
        NodeKind::Decision | NodeKind::Router => !node.disabled,
        NodeKind::Subflow(data) if !node.disabled => data.mode == CallMode::Goto || !returns_by_out(ground, chart, node, &data.graph),
        // A conversation that is handed over comes back only by `return`, for which there is a code of its own.
        NodeKind::Unavailable if !node.disabled => node.type_name == "handoff",
        NodeKind::Start(_)
        | NodeKind::Intent(_)
        | NodeKind::Message(_)
        | NodeKind::Entity(_)
        | NodeKind::Service(_)
        | NodeKind::Set(_)
        | NodeKind::Fallback(_)
        | NodeKind::Subflow(_)
        | NodeKind::InstructionAgent(_)
        | NodeKind::Unavailable => false,
    };
    // A fallback is not entered twice in a turn, so it does not catch itself.
    let is_caught = !matches!(node.kind, NodeKind::Fallback(_)) && has_fallback(chart, FallbackOn::NoEdge);
    if goes_on || chart.wired(node, port) || is_caught {
        return None;
    }
    let message = format!("nothing follows '{}': its port '{port}' is not wired, and no fallback of the graph is left", node.name);
    Some(
        chart.place_of(at).error("G008", message).fix(format!("lead an edge from its port '{port}', or end with a node of the type 'end'")),
    )
}

/// Whether a callee can come back by `out`: it is also taken for exits that are not wired.
fn returns_by_out(ground: &Ground<'_>, chart: &Chart<'_>, node: &Node, graph: &str) -> bool {
    let Some(callee) = ground.chart(graph) else { return false };
    callee.form.nodes.iter().any(|it| match &it.kind {
        NodeKind::End(end) => end.end_session != Some(true) && (end.exit == "out" || !chart.wired(node, &end.exit)),
        NodeKind::Subflow(data) => data.mode == CallMode::Goto,
        NodeKind::Start(_)
        | NodeKind::Intent(_)
        | NodeKind::Message(_)
        | NodeKind::Entity(_)
        | NodeKind::Decision
        | NodeKind::Router
        | NodeKind::Service(_)
        | NodeKind::Set(_)
        | NodeKind::Fallback(_)
        | NodeKind::InstructionAgent(_)
        | NodeKind::Unavailable => false,
    })
}

/// Whether what fails in a graph comes to a fallback: to its own, to that of the root, or to something that each caller has.
pub(super) fn handles(ground: &Ground<'_>, chart: &Chart<'_>, on: FallbackOn) -> bool {
    if has_fallback(chart, on) || ground.root().is_some_and(|it| has_fallback(it, on)) {
        return true;
    }
    let mut is_called = false;
    for (caller, node) in ground.callers(&chart.form.id) {
        is_called = true;
        if !caller.wired(node, "error") && !has_fallback(caller, on) {
            return false;
        }
    }
    is_called && chart.is(GraphKind::Subflow)
}

fn unhandled(ground: &Ground<'_>, chart: &Chart<'_>, node: &Node, place: Place) -> Option<DocumentIssue> {
    let port = node.failure_port().filter(|_| !node.disabled && node.on_error == OnError::Port)?;
    if chart.wired(node, port) || !can_fail(ground, chart, node, true) {
        return None;
    }
    let message =
        format!("when '{}' fails, the user is told the error message: '{port}' is not wired, and there is no fallback", node.name);
    Some(place.warning("G009", message).fix(format!("wire the port '{port}', or add a node of the type 'fallback'")))
}

/// Whether a node can fail at all. Decisions cannot: a condition without value does not hold.
fn can_fail(ground: &Ground<'_>, chart: &Chart<'_>, node: &Node, follow: bool) -> bool {
    match &node.kind {
        NodeKind::Intent(data) => wait::open_parameters(ground, chart, &data.intent_id).iter().any(|it| it.required),
        NodeKind::Entity(data) => data.required,
        NodeKind::Set(data) => data.assign.iter().any(|it| assignment_fails(ground, it)),
        NodeKind::Subflow(data) => {
            let callee = ground.chart(&data.graph).filter(|it| follow && !has_fallback(it, FallbackOn::Error));
            let fails = |callee: &Chart<'_>, it: &Node| {
                let is_wired = it.failure_port().is_some_and(|port| callee.wired(it, port));
                !is_wired && it.on_error == OnError::Port && can_fail(ground, callee, it, false)
            };
            callee.is_some_and(|callee| callee.form.nodes.iter().any(|it| fails(callee, it)))
        }
        NodeKind::Service(_) | NodeKind::InstructionAgent(_) | NodeKind::Unavailable => true,
        NodeKind::Start(_) | NodeKind::End(_) | NodeKind::Message(_) | NodeKind::Decision | NodeKind::Router | NodeKind::Fallback(_) => {
            false
        }
    }
}

fn assignment_fails(ground: &Ground<'_>, assign: &Assign) -> bool {
    let declared = || ground.flow.document.variables.iter().find(|it| it.name == assign.variable).map(|it| it.kind);
    match assign.op {
        AssignOp::Unset => false,
        AssignOp::Set if assign.expr.is_some() => true,
        AssignOp::Set => {
            let value = assign.value.as_ref().map_or(&Value::Null, |it| &it.source);
            match declared().unwrap_or(ValueType::Any) {
                ValueType::Any => false,
                ValueType::String => value.is_array() || value.is_object(),
                ValueType::Number => !value.is_number() && !value.is_null(),
                ValueType::Boolean => !value.is_boolean() && !value.is_null(),
                ValueType::Array => !value.is_array() && !value.is_null(),
                ValueType::Object => !value.is_object() && !value.is_null(),
            }
        }
        AssignOp::Increment | AssignOp::Append | AssignOp::Merge => {
            // What only grows by values of its own kind cannot fail.
            !matches!(
                (assign.op, ground.writes.kind(&assign.variable)),
                (AssignOp::Increment, Some(ValueType::Number)) | (AssignOp::Append, Some(ValueType::Array))
            ) || assign.expr.is_some()
        }
    }
}
