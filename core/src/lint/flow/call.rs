//! Calls of graphs. (C001–C004, C007, C008; the ports check has C005 and C006)

use super::cycle::components;
use super::ground::{Chart, Ground, Place, reachable};
use super::wait::{Waits, callee};
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::{NodeKind, SubflowData};

pub(super) fn check(context: &Ground<'_>, findings: &mut Vec<DocumentIssue>) {
    for (graph_cx, at, node) in context.nodes() {
        let NodeKind::Subflow(data) = &node.kind else { continue };
        let location = graph_cx.place_of(at).at("/data");
        match context.chart(&data.graph) {
            None => {
                let message = format!("unknown graph '{}'", data.graph);
                findings.push(location.at("/graph").error("C001", message).fix("use the id of a graph of the document"));
            }
            Some(callee) => given(data, callee, &location, findings),
        }
    }
    recursion(context, findings);
    depth(context, findings);
}

/// Checks the inputs and outputs of a call.
fn given(data: &SubflowData, callee: &Chart<'_>, location: &Place, findings: &mut Vec<DocumentIssue>) {
    let empty = serde_json::Map::new();
    let inputs = data.inputs.as_ref().and_then(|it| it.source.as_object()).unwrap_or(&empty);
    let (params, returns) = (&callee.form.params, &callee.form.returns);
    let is_given = |name: &str| inputs.get(name).is_some_and(|it| !it.is_null());
    for param in params.iter().filter(|it| it.required && it.default.is_none() && !is_given(it.name.first())) {
        let location = if data.inputs.is_some() { location.at("/inputs") } else { location.clone() };
        let message = format!("the graph '{}' requires the parameter '{}'", data.graph, param.name);
        findings.push(location.error("C002", message).fix(format!("add '{}' to 'inputs'", param.name)));
    }
    // A graph without parameters and returns shares the variables of its callers, and inputs write to them.
    let is_shared = params.is_empty() && returns.is_empty();
    for name in inputs.keys().filter(|it| !is_shared && !params.iter().any(|param| param.name.first() == *it)) {
        let message = format!("the graph '{}' has no parameter '{name}'", data.graph);
        findings.push(location.at(&format!("/inputs/{}", escaped(name))).error("C002", message).fix("remove it, or correct its name"));
    }
    let ends = callee.form.nodes.iter().filter_map(|it| if let NodeKind::End(end) = &it.kind { end.outputs.as_ref() } else { None });
    let output_names: Vec<&String> = ends.filter_map(|it| it.source.as_object()).flat_map(|it| it.keys()).collect();
    let returned = |name: &String| returns.iter().any(|it| it.name.to_string() == *name) || returns.is_empty() && output_names.contains(&name);
    for name in data.outputs.keys().filter(|it| !returned(it)) {
        let message = format!("the graph '{}' does not return '{name}'", data.graph);
        let fix = format!("declare it in 'returns' of the graph '{}'", data.graph);
        findings.push(location.at(&format!("/outputs/{}", escaped(name))).error("C008", message).fix(fix));
    }
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Reports direct and indirect recursion.
fn recursion(context: &Ground<'_>, findings: &mut Vec<DocumentIssue>) {
    let waits = Waits::of(context);
    let calls: Vec<Vec<usize>> = context.graphs.iter().map(|graph_cx| calls(context, graph_cx)).collect();
    let groups = components(&calls, |_| true);
    let is_cycle = |cycle: &[usize]| cycle.len() > 1 || cycle.iter().any(|it| calls.get(*it).is_some_and(|to| to.contains(it)));
    let mut of_graph: Vec<usize> = vec![0; calls.len()];
    for (number, group) in groups.iter().enumerate() {
        group.iter().for_each(|it| of_graph.get_mut(*it).into_iter().for_each(|it| *it = number));
    }
    let same = |a: usize, b: usize| of_graph.get(a) == of_graph.get(b);
    // Graphs that call another graph of their cycle on every path before they wait or end.
    let trapped: Vec<bool> = (0..calls.len()).map(|graph| is_trapped(context, &waits, graph, |callee| same(graph, callee))).collect();
    let endless = components(&calls, |it| trapped.get(it).copied().unwrap_or_default());
    let endless: Vec<&Vec<usize>> = endless.iter().filter(|it| is_cycle(it)).collect();
    for cycle in &endless {
        let message = "calls itself endlessly: no path through it waits for the user or ends without another call";
        findings.extend(first_call(context, cycle).map(|(name, location)| {
            location.error("C003", format!("'{name}' {message}")).fix("wait for the user before the call, or make the call conditional")
        }));
    }
    for cycle in groups.iter().filter(|it| is_cycle(it)) {
        if !endless.iter().any(|other| other.iter().any(|it| cycle.contains(it))) {
            findings
                .extend(first_call(context, cycle).map(|(name, location)| {
                    location.warning("C004", format!("'{name}' calls itself")).fix("make sure that a condition ends the recursion")
                }));
        }
    }
}

/// Returns the graphs that a graph calls or jumps to.
fn calls(context: &Ground<'_>, graph_cx: &Chart<'_>) -> Vec<usize> {
    let call = |(at, node): (usize, &crate::config::flow::document::Node)| {
        let NodeKind::Subflow(data) = &node.kind else { return None };
        context.number(&data.graph).filter(|_| graph_cx.is_reached(at) && !node.disabled)
    };
    graph_cx.form.nodes.iter().enumerate().filter_map(call).collect()
}

/// Whether every path through a graph calls certain graphs before it ends or waits.
fn is_trapped(context: &Ground<'_>, waits: &Waits, graph: usize, is_call: impl Fn(usize) -> bool) -> bool {
    let Some(graph_cx) = context.graphs.get(graph) else { return false };
    let calls = |at: usize| match graph_cx.form.nodes.get(at).map(|it| (&it.kind, it.disabled)) {
        Some((NodeKind::Subflow(data), false)) => context.number(&data.graph).is_some_and(&is_call),
        _ => false,
    };
    let next: Vec<Vec<usize>> = graph_cx.next.iter().enumerate().map(|(at, to)| if calls(at) { Vec::new() } else { to.clone() }).collect();
    let reached = reachable(&next, graph_cx.entry());
    let is_exit = |at: usize| {
        let has_next = graph_cx.next.get(at).is_some_and(|it| !it.is_empty());
        // A call within the cycle waits only if one of its graphs does, and each of them is checked itself.
        !calls(at) && (waits.may(graph, at) || !has_next)
    };
    !reached.iter().enumerate().any(|(at, reached)| *reached && is_exit(at))
}

/// Returns the id of the first graph of a cycle that calls another one, and the location of the call.
fn first_call<'g>(context: &Ground<'g>, cycle: &[usize]) -> Option<(&'g str, Place)> {
    let graph = cycle.iter().min()?;
    let graph_cx = context.graphs.get(*graph)?;
    let call = graph_cx.form.nodes.iter().position(|node| match &node.kind {
        NodeKind::Subflow(data) => context.number(&data.graph).is_some_and(|it| cycle.contains(&it)),
        NodeKind::Start(_)
        | NodeKind::End(_)
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
    })?;
    Some((graph_cx.form.id.as_str(), graph_cx.place_of(call).at("/data/graph")))
}

/// Checks the nesting depth of calls, ignoring recursion.
fn depth(context: &Ground<'_>, findings: &mut Vec<DocumentIssue>) {
    let called = |graph_cx: &Chart<'_>| graph_cx.form.nodes.iter().filter_map(|it| callee(context, it)).collect::<Vec<_>>();
    let calls: Vec<Vec<usize>> = context.graphs.iter().map(called).collect();
    let mut depths: Vec<Option<usize>> = vec![None; calls.len()];
    // The callees of a component come before it.
    for component in components(&calls, |_| true) {
        let below = component.iter().flat_map(|it| calls.get(*it)).flatten().filter_map(|it| depths.get(*it).copied().flatten());
        let depth = below.max().map_or(0, |it| it + 1);
        component.iter().for_each(|it| depths.get_mut(*it).into_iter().for_each(|it| *it = Some(depth)));
    }
    let max_depth = context.flow.document.settings.max_call_depth;
    let too_deep = |graph: usize| depths.get(graph).copied().flatten().unwrap_or_default() > max_depth;
    // Reported at the outermost graph.
    let is_called = |graph: usize| calls.iter().enumerate().any(|(caller, to)| caller != graph && to.contains(&graph) && too_deep(caller));
    for (graph, graph_cx) in context.graphs.iter().enumerate().filter(|it| too_deep(it.0)) {
        let deep = |it: usize| depths.get(it).copied().flatten().unwrap_or_default() >= max_depth;
        let call = graph_cx.form.nodes.iter().position(|it| callee(context, it).is_some_and(deep));
        if let Some(call) = call.filter(|_| !is_called(graph)) {
            let message = format!("calls from the graph '{}' nest more than {max_depth} levels", graph_cx.form.id);
            let fix = "reduce the nesting, or increase 'max_call_depth' in the settings";
            findings.push(graph_cx.place_of(call).at("/data/graph").error("C007", message).fix(fix));
        }
    }
}
