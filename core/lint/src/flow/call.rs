//! Calls of graphs. (C001–C004, C007, C008; the ports check has C005 and C006)

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::{NodeKind, SubflowData};

use super::context::{FlowContext, GraphContext, Location, find_reachable, set};
use super::cycle::find_components;
use super::wait::{Waits, called_graph};

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    for (graph_cx, at, node) in context.nodes() {
        let NodeKind::Subflow(data) = &node.kind else { continue };
        let location = graph_cx.node_location(at).join("/data");
        match context.graph(&data.graph) {
            None => {
                let message = format!("unknown graph '{}'", data.graph);
                findings.push(location.join("/graph").error("C001", message).with_fix("use the id of a graph of the document"));
            }
            Some(callee) => check_arguments(data, callee, &location, findings),
        }
    }
    check_recursion(context, findings);
    check_depth(context, findings);
}

/// Checks the inputs and outputs of a call.
fn check_arguments(data: &SubflowData, callee: &GraphContext<'_>, location: &Location, findings: &mut Vec<DocumentIssue>) {
    let empty = serde_json::Map::new();
    let inputs = data.inputs.as_ref().and_then(|it| it.source.as_object()).unwrap_or(&empty);
    let (params, returns) = (&callee.definition.params, &callee.definition.returns);
    let is_given = |name: &str| inputs.get(name).is_some_and(|input| !input.is_null());
    for param in params.iter().filter(|param| param.required && param.default.is_none() && !is_given(param.name.first_name())) {
        let location = if data.inputs.is_some() { location.join("/inputs") } else { location.clone() };
        let message = format!("the graph '{}' requires the parameter '{}'", data.graph, param.name);
        findings.push(location.error("C002", message).with_fix(format!("add '{}' to 'inputs'", param.name)));
    }
    // A graph without parameters and returns shares the variables of its callers, and inputs write to them.
    let is_shared = params.is_empty() && returns.is_empty();
    for name in inputs.keys().filter(|name| !is_shared && !params.iter().any(|param| param.name.first_name() == *name)) {
        let message = format!("the graph '{}' has no parameter '{name}'", data.graph);
        findings.push(
            location.join(&format!("/inputs/{}", escape_pointer(name))).error("C002", message).with_fix("remove it, or correct its name"),
        );
    }
    let ends =
        callee.definition.nodes.iter().filter_map(|node| if let NodeKind::End(end) = &node.kind { end.outputs.as_ref() } else { None });
    let output_names: Vec<&String> = ends.filter_map(|it| it.source.as_object()).flat_map(|it| it.keys()).collect();
    let returned =
        |name: &String| returns.iter().any(|output| output.name.to_string() == *name) || returns.is_empty() && output_names.contains(&name);
    for name in data.outputs.keys().filter(|it| !returned(it)) {
        let message = format!("the graph '{}' does not return '{name}'", data.graph);
        let fix = format!("declare it in 'returns' of the graph '{}'", data.graph);
        findings.push(location.join(&format!("/outputs/{}", escape_pointer(name))).error("C008", message).with_fix(fix));
    }
}

fn escape_pointer(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Reports direct and indirect recursion.
fn check_recursion(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let waits = Waits::new(context);
    let calls: Vec<Vec<usize>> = context.graphs.iter().map(|graph_cx| called_graphs(context, graph_cx)).collect();
    let groups = find_components(&calls, |_| true);
    let is_cycle = |cycle: &[usize]| cycle.len() > 1 || cycle.iter().any(|graph| calls.get(*graph).is_some_and(|to| to.contains(graph)));
    let mut group_of_graphs: Vec<usize> = vec![0; calls.len()];
    for (number, group) in groups.iter().enumerate() {
        for graph in group {
            set(&mut group_of_graphs, *graph, number);
        }
    }
    let same = |a: usize, b: usize| group_of_graphs.get(a) == group_of_graphs.get(b);
    // Graphs that call another graph of their cycle on every path before they wait or end.
    let trapped: Vec<bool> = (0..calls.len()).map(|graph| is_trapped(context, &waits, graph, |callee| same(graph, callee))).collect();
    let endless = find_components(&calls, |graph| trapped.get(graph).copied().unwrap_or_default());
    let endless: Vec<&Vec<usize>> = endless.iter().filter(|it| is_cycle(it)).collect();
    for cycle in &endless {
        let message = "recurses forever: every path calls it again before it waits for the user or ends";
        findings.extend(find_first_call(context, cycle).map(|(name, location)| {
            location
                .error("C003", format!("'{name}' {message}"))
                .with_fix("wait for the user before the call, or make the call conditional")
        }));
    }
    for cycle in groups.iter().filter(|it| is_cycle(it)) {
        if !endless.iter().any(|other| other.iter().any(|graph| cycle.contains(graph))) {
            findings.extend(find_first_call(context, cycle).map(|(name, location)| {
                location.warning("C004", format!("'{name}' calls itself")).with_fix("make sure that a condition ends the recursion")
            }));
        }
    }
}

/// Returns the graphs that a graph calls or jumps to.
fn called_graphs(context: &FlowContext<'_>, graph_cx: &GraphContext<'_>) -> Vec<usize> {
    let call = |(at, node): (usize, &convengine_config::flow::document::Node)| {
        let NodeKind::Subflow(data) = &node.kind else { return None };
        context.graph_index(&data.graph).filter(|_| graph_cx.is_reachable(at) && !node.disabled)
    };
    graph_cx.definition.nodes.iter().enumerate().filter_map(call).collect()
}

/// Whether every path through a graph calls certain graphs before it ends or waits.
fn is_trapped(context: &FlowContext<'_>, waits: &Waits, graph: usize, is_call: impl Fn(usize) -> bool) -> bool {
    let Some(graph_cx) = context.graphs.get(graph) else { return false };
    let calls = |at: usize| match graph_cx.definition.nodes.get(at).map(|node| (&node.kind, node.disabled)) {
        Some((NodeKind::Subflow(data), false)) => context.graph_index(&data.graph).is_some_and(&is_call),
        _ => false,
    };
    let next: Vec<Vec<usize>> =
        graph_cx.successors.iter().enumerate().map(|(at, to)| if calls(at) { Vec::new() } else { to.clone() }).collect();
    let reached = find_reachable(&next, graph_cx.entry_index());
    let is_exit = |at: usize| {
        let has_next = graph_cx.successors.get(at).is_some_and(|successors| !successors.is_empty());
        // A call within the cycle waits only if one of its graphs does, and each of them is checked itself.
        !calls(at) && (waits.can_wait(graph, at) || !has_next)
    };
    !reached.iter().enumerate().any(|(at, reached)| *reached && is_exit(at))
}

/// Returns the id of the first graph of a cycle that calls another one, and the location of the call.
fn find_first_call<'g>(context: &FlowContext<'g>, cycle: &[usize]) -> Option<(&'g str, Location)> {
    let graph = cycle.iter().min()?;
    let graph_cx = context.graphs.get(*graph)?;
    let is_call = |id: &str| context.graph_index(id).is_some_and(|graph| cycle.contains(&graph));
    let call = graph_cx.definition.nodes.iter().position(|node| node.traits().called_graph.is_some_and(is_call))?;
    Some((graph_cx.definition.id.as_str(), graph_cx.node_location(call).join("/data/graph")))
}

/// Checks the nesting depth of calls, ignoring recursion.
fn check_depth(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let called =
        |graph_cx: &GraphContext<'_>| graph_cx.definition.nodes.iter().filter_map(|node| called_graph(context, node)).collect::<Vec<_>>();
    let calls: Vec<Vec<usize>> = context.graphs.iter().map(called).collect();
    let mut depths: Vec<Option<usize>> = vec![None; calls.len()];
    // The callees of a component come before it.
    for component in find_components(&calls, |_| true) {
        let below = component.iter().flat_map(|it| calls.get(*it)).flatten().filter_map(|callee| depths.get(*callee).copied().flatten());
        let depth = below.max().map_or(0, |it| it + 1);
        for graph in component {
            set(&mut depths, graph, Some(depth));
        }
    }
    let max_depth = context.flow.document.settings.max_call_depth;
    let too_deep = |graph: usize| depths.get(graph).copied().flatten().unwrap_or_default() > max_depth;
    // Reported at the outermost graph.
    let is_called = |graph: usize| calls.iter().enumerate().any(|(caller, to)| caller != graph && to.contains(&graph) && too_deep(caller));
    for (graph, graph_cx) in context.graphs.iter().enumerate().filter(|it| too_deep(it.0)) {
        let deep = |callee: usize| depths.get(callee).copied().flatten().unwrap_or_default() >= max_depth;
        let call = graph_cx.definition.nodes.iter().position(|node| called_graph(context, node).is_some_and(deep));
        if let Some(call) = call.filter(|_| !is_called(graph)) {
            let message = format!("calls from the graph '{}' nest more than {max_depth} levels", graph_cx.definition.id);
            let fix = "reduce the nesting, or increase 'max_call_depth' in the settings";
            findings.push(graph_cx.node_location(call).join("/data/graph").error("C007", message).with_fix(fix));
        }
    }
}
