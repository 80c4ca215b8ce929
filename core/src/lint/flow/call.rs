//! Calls of graphs. (C001–C004, C007, C008; C005 and C006 stand with the ports)

use super::cycle::components;
use super::ground::{Chart, Ground, Place, reachable};
use super::wait::{Waits, callee};
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::{NodeKind, SubflowData};

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    for (chart, at, node) in ground.nodes() {
        let NodeKind::Subflow(data) = &node.kind else { continue };
        let place = chart.place_of(at).at("/data");
        match ground.chart(&data.graph) {
            None => {
                let message = format!("there is no graph '{}'", data.graph);
                found.push(place.at("/graph").error("C001", message).fix("name a graph of the document"));
            }
            Some(callee) => given(data, callee, &place, found),
        }
    }
    recursion(ground, found);
    depth(ground, found);
}

/// What a call gives and takes.
fn given(data: &SubflowData, callee: &Chart<'_>, place: &Place, found: &mut Vec<DocumentIssue>) {
    let empty = serde_json::Map::new();
    let inputs = data.inputs.as_ref().and_then(|it| it.source.as_object()).unwrap_or(&empty);
    let (params, returns) = (&callee.form.params, &callee.form.returns);
    let is_given = |name: &str| inputs.get(name).is_some_and(|it| !it.is_null());
    for param in params.iter().filter(|it| it.required && it.default.is_none() && !is_given(it.name.first())) {
        let place = if data.inputs.is_some() { place.at("/inputs") } else { place.clone() };
        let message = format!("'{}' needs '{}'", data.graph, param.name);
        found.push(place.error("C002", message).fix(format!("add '{}' to 'inputs'", param.name)));
    }
    // A graph that declares neither shares the variables of its callers: what it is given is written there.
    let is_shared = params.is_empty() && returns.is_empty();
    for name in inputs.keys().filter(|it| !is_shared && !params.iter().any(|param| param.name.first() == *it)) {
        let message = format!("'{}' has no parameter '{name}'", data.graph);
        found.push(place.at(&format!("/inputs/{}", escaped(name))).error("C002", message).fix("remove it, or correct its name"));
    }
    let ends = callee.form.nodes.iter().filter_map(|it| if let NodeKind::End(end) = &it.kind { end.outputs.as_ref() } else { None });
    let made: Vec<&String> = ends.filter_map(|it| it.source.as_object()).flat_map(|it| it.keys()).collect();
    let returned = |name: &String| returns.iter().any(|it| it.name.to_string() == *name) || returns.is_empty() && made.contains(&name);
    for name in data.outputs.keys().filter(|it| !returned(it)) {
        let message = format!("'{}' does not return '{name}'", data.graph);
        let fix = format!("declare it in 'returns' of '{}'", data.graph);
        found.push(place.at(&format!("/outputs/{}", escaped(name))).error("C008", message).fix(fix));
    }
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Graphs that call themselves, by others or at once.
fn recursion(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    let waits = Waits::of(ground);
    let calls: Vec<Vec<usize>> = ground.charts.iter().map(|chart| calls(ground, chart)).collect();
    let circles = components(&calls, |_| true);
    let is_circle = |circle: &[usize]| circle.len() > 1 || circle.iter().any(|it| calls.get(*it).is_some_and(|to| to.contains(it)));
    let mut of_graph: Vec<usize> = vec![0; calls.len()];
    for (number, circle) in circles.iter().enumerate() {
        circle.iter().for_each(|it| of_graph.get_mut(*it).into_iter().for_each(|of| *of = number));
    }
    let same = |a: usize, b: usize| of_graph.get(a) == of_graph.get(b);
    // Graphs that cannot be left or wait without calling on.
    let trapped: Vec<bool> = (0..calls.len()).map(|graph| is_trapped(ground, &waits, graph, |callee| same(graph, callee))).collect();
    let endless = components(&calls, |it| trapped.get(it).copied().unwrap_or_default());
    let endless: Vec<&Vec<usize>> = endless.iter().filter(|it| is_circle(it)).collect();
    for circle in &endless {
        let message = "calls itself again and again: no way through it waits for the user or leaves without another call";
        found.extend(first_call(ground, circle).map(|(name, place)| {
            place.error("C003", format!("'{name}' {message}")).fix("wait for the user before the call, or let a condition lead past it")
        }));
    }
    for circle in circles.iter().filter(|it| is_circle(it)) {
        if !endless.iter().any(|other| other.iter().any(|it| circle.contains(it))) {
            found
                .extend(first_call(ground, circle).map(|(name, place)| {
                    place.warning("C004", format!("'{name}' calls itself")).fix("make sure that a condition ends it")
                }));
        }
    }
}

/// The graphs that a graph calls or goes on with.
fn calls(ground: &Ground<'_>, chart: &Chart<'_>) -> Vec<usize> {
    let call = |(at, node): (usize, &crate::config::flow::document::Node)| {
        let NodeKind::Subflow(data) = &node.kind else { return None };
        ground.number(&data.graph).filter(|_| chart.is_reached(at) && !node.disabled)
    };
    chart.form.nodes.iter().enumerate().filter_map(call).collect()
}

/// Whether every way through a graph calls some others before it ends or waits.
fn is_trapped(ground: &Ground<'_>, waits: &Waits, graph: usize, is_call: impl Fn(usize) -> bool) -> bool {
    let Some(chart) = ground.charts.get(graph) else { return false };
    let calls = |at: usize| match chart.form.nodes.get(at).map(|it| (&it.kind, it.disabled)) {
        Some((NodeKind::Subflow(data), false)) => ground.number(&data.graph).is_some_and(&is_call),
        _ => false,
    };
    let next: Vec<Vec<usize>> = chart.next.iter().enumerate().map(|(at, to)| if calls(at) { Vec::new() } else { to.clone() }).collect();
    let reached = reachable(&next, chart.entry());
    let is_way_out = |at: usize| {
        let leads_on = chart.next.get(at).is_some_and(|it| !it.is_empty());
        // A call within the circle waits only where one of its graphs does, and these are asked themselves.
        !calls(at) && (waits.may(graph, at) || !leads_on)
    };
    !reached.iter().enumerate().any(|(at, reached)| *reached && is_way_out(at))
}

/// The first call within a circle, and the graph that it is in.
fn first_call<'g>(ground: &Ground<'g>, circle: &[usize]) -> Option<(&'g str, Place)> {
    let graph = circle.iter().min()?;
    let chart = ground.charts.get(*graph)?;
    let call = chart.form.nodes.iter().position(|node| match &node.kind {
        NodeKind::Subflow(data) => ground.number(&data.graph).is_some_and(|it| circle.contains(&it)),
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
    Some((chart.form.id.as_str(), chart.place_of(call).at("/data/graph")))
}

/// Calls within calls, recursion left aside.
fn depth(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    let called = |chart: &Chart<'_>| chart.form.nodes.iter().filter_map(|it| callee(ground, it)).collect::<Vec<_>>();
    let calls: Vec<Vec<usize>> = ground.charts.iter().map(called).collect();
    let mut depths: Vec<Option<usize>> = vec![None; calls.len()];
    // What a component calls comes before it.
    for component in components(&calls, |_| true) {
        let below = component.iter().flat_map(|it| calls.get(*it)).flatten().filter_map(|it| depths.get(*it).copied().flatten());
        let depth = below.max().map_or(0, |it| it + 1);
        component.iter().for_each(|it| depths.get_mut(*it).into_iter().for_each(|of| *of = Some(depth)));
    }
    let most = ground.flow.document.settings.max_call_depth;
    let too_deep = |graph: usize| depths.get(graph).copied().flatten().unwrap_or_default() > most;
    // Told where the calls begin.
    let is_called = |graph: usize| calls.iter().enumerate().any(|(caller, to)| caller != graph && to.contains(&graph) && too_deep(caller));
    for (graph, chart) in ground.charts.iter().enumerate().filter(|it| too_deep(it.0)) {
        let deep = |it: usize| depths.get(it).copied().flatten().unwrap_or_default() >= most;
        let call = chart.form.nodes.iter().position(|it| callee(ground, it).is_some_and(deep));
        if let Some(call) = call.filter(|_| !is_called(graph)) {
            let message = format!("graphs call each other more than {most} deep from '{}' on", chart.form.id);
            let fix = "call less deep, or raise 'max_call_depth' in the settings";
            found.push(chart.place_of(call).at("/data/graph").error("C007", message).fix(fix));
        }
    }
}
