//! Unreachable nodes and dead ends. (G006–G009)

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::{
    AssignOp, Assignment, Branching, Failing, FallbackOn, GraphKind, Node, NodeKind, OnError, ValueType,
};
use serde_json::Value;

use super::context::{FlowContext, GraphContext, Location};
use super::wait::{self, Waits};

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let waits = Waits::new(context);
    for (number, graph_cx) in context.graphs.iter().enumerate() {
        findings.extend(check_termination(graph_cx, number, &waits));
        let handled = is_handled(context, graph_cx, FallbackOn::Error);
        for (at, node) in graph_cx.definition.nodes.iter().enumerate() {
            // Without an entry no node is reachable, which is reported once.
            if !graph_cx.is_reachable(at) && graph_cx.entry_index().is_none() {
                continue;
            }
            if !graph_cx.is_reachable(at) {
                let message = format!("'{}' is unreachable", node.name);
                findings.push(graph_cx.node_location(at).warning("G006", message).with_fix("connect it, or remove it"));
                continue;
            }
            findings.extend(check_dead_end(context, graph_cx, at, node));
            if !handled {
                findings.extend(check_unhandled_failure(context, graph_cx, node, graph_cx.node_location(at)));
            }
        }
    }
}

/// Reports a graph that neither waits for the user nor ends.
fn check_termination(graph_cx: &GraphContext<'_>, number: usize, waits: &Waits) -> Option<DocumentIssue> {
    let stops = |(at, node): (usize, &Node)| graph_cx.is_reachable(at) && (node.traits().leaves_graph || waits.can_wait(number, at));
    let entry = graph_cx.entry_index()?;
    (!graph_cx.definition.nodes.iter().enumerate().any(stops)).then(|| {
        let name = graph_cx.definition.nodes.get(entry).map_or("", |node| &node.name);
        let message = format!("no node that ends the graph or waits for the user is reachable from '{name}'");
        graph_cx.location().join("/entry").error("G007", message).with_fix("add a node of the type 'end'")
    })
}

/// Whether the graph has a fallback for a case.
pub(super) fn has_fallback(graph_cx: &GraphContext<'_>, on: FallbackOn) -> bool {
    graph_cx.definition.nodes.iter().any(|it| is_fallback_for(it, on))
}

fn is_fallback_for(node: &Node, on: FallbackOn) -> bool {
    matches!(&node.kind, NodeKind::Fallback(data) if !node.disabled && (data.on == on || data.on == FallbackOn::Any))
}

fn check_dead_end(context: &FlowContext<'_>, graph_cx: &GraphContext<'_>, at: usize, node: &Node) -> Option<DocumentIssue> {
    let port = node.default_port();
    let traits = node.traits();
    if traits.ports.is_empty() && traits.called_graph.is_none() {
        return None;
    }
    // Branching nodes have their own codes. A conversation only returns from a handoff with the mode `return`, which has its own code.
    let has_own_code = traits.branching == Branching::Out || matches!(node.kind, NodeKind::Handoff(_));
    let does_not_return = || {
        let called = traits.called_graph.filter(|graph| !can_return_through_out(context, graph_cx, node, graph));
        traits.leaves_graph || called.is_some()
    };
    let is_exempt = !node.disabled && (has_own_code || does_not_return());
    // A fallback is entered at most once per turn, so it does not catch itself.
    let is_caught = !matches!(node.kind, NodeKind::Fallback(_)) && has_fallback(graph_cx, FallbackOn::NoEdge);
    if is_exempt || graph_cx.is_wired(node, port) || is_caught {
        return None;
    }
    let message = format!("nothing follows '{}': its port '{port}' is not connected, and no fallback applies", node.name);
    Some(
        graph_cx
            .node_location(at)
            .error("G008", message)
            .with_fix(format!("connect the port '{port}', or end with a node of the type 'end'")),
    )
}

/// Whether a called graph can return through `out`, which is also used for exits that are not connected.
fn can_return_through_out(context: &FlowContext<'_>, graph_cx: &GraphContext<'_>, node: &Node, graph: &str) -> bool {
    let Some(callee) = context.graph(graph) else { return false };
    callee.definition.nodes.iter().any(|callee_node| {
        if let NodeKind::End(end) = &callee_node.kind {
            end.end_session != Some(true) && (end.exit == "out" || !graph_cx.is_wired(node, &end.exit))
        } else {
            callee_node.traits().leaves_graph
        }
    })
}

/// Whether failures in a graph are handled: by its own fallback, by that of the root, or by every caller.
pub(super) fn is_handled(context: &FlowContext<'_>, graph_cx: &GraphContext<'_>, on: FallbackOn) -> bool {
    if has_fallback(graph_cx, on) || context.root_graph().is_some_and(|it| has_fallback(it, on)) {
        return true;
    }
    let mut is_called = false;
    for (caller, node) in context.callers(&graph_cx.definition.id) {
        is_called = true;
        if !caller.is_wired(node, "error") && !has_fallback(caller, on) {
            return false;
        }
    }
    is_called && graph_cx.is_kind(GraphKind::Subflow)
}

fn check_unhandled_failure(
    context: &FlowContext<'_>,
    graph_cx: &GraphContext<'_>,
    node: &Node,
    location: Location,
) -> Option<DocumentIssue> {
    let port = node.failure_port().filter(|_| !node.disabled && node.on_error == OnError::Port)?;
    // A slot without a value has a code of its own.
    let has_own_code = matches!(node.kind, NodeKind::Entity(_));
    if has_own_code || graph_cx.is_wired(node, port) || !can_fail(context, graph_cx, node, true) {
        return None;
    }
    let message = format!("when '{}' fails, the user gets the error message: '{port}' is not connected, and no fallback is set", node.name);
    Some(location.warning("G009", message).with_fix(format!("connect the port '{port}', or add a node of the type 'fallback'")))
}

/// Whether a node can fail. Decisions cannot: a condition without a value is false.
fn can_fail(context: &FlowContext<'_>, graph_cx: &GraphContext<'_>, node: &Node, follow: bool) -> bool {
    match node.traits().failing {
        Failing::Never => false,
        Failing::Always => true,
        Failing::ByParameters(intent) => wait::open_parameters(context, graph_cx, intent).iter().any(|it| it.required),
        Failing::ByAssignments(assignments) => assignments.iter().any(|it| can_assignment_fail(context, it)),
        Failing::ByGraph(graph) => {
            let callee = context.graph(graph).filter(|callee| follow && !has_fallback(callee, FallbackOn::Error));
            let fails = |callee: &GraphContext<'_>, node: &Node| {
                let is_wired = node.failure_port().is_some_and(|port| callee.is_wired(node, port));
                !is_wired && node.on_error == OnError::Port && can_fail(context, callee, node, false)
            };
            callee.is_some_and(|callee| callee.definition.nodes.iter().any(|node| fails(callee, node)))
        }
    }
}

fn can_assignment_fail(context: &FlowContext<'_>, assign: &Assignment) -> bool {
    let declared =
        || context.flow.document.variables.iter().find(|variable| variable.name == assign.variable).map(|variable| variable.kind);
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
            // Cannot fail if all writes have the required type.
            !matches!(
                (assign.op, context.writes.value_type(&assign.variable)),
                (AssignOp::Increment, Some(ValueType::Number)) | (AssignOp::Append, Some(ValueType::Array))
            ) || assign.expr.is_some()
        }
    }
}
