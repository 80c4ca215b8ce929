//! Which nodes wait for the user, and which graphs can be passed without.

use super::ground::{Chart, Ground, reachable};
use crate::config::flow::document::{Await, CallMode, EntityForParameter, Node, NodeKind};
use crate::text::path::Path;

/// What is known of the nodes of each graph; calls are followed into what they call.
pub(super) struct Waits {
    /// Whether a node can wait, by graph and node.
    may: Vec<Vec<bool>>,
    /// Whether a node always waits.
    must: Vec<Vec<bool>>,
}

impl Waits {
    /// Where a document waits.
    pub fn of(ground: &Ground<'_>) -> Waits {
        let own: Vec<Vec<bool>> = ground.charts.iter().map(|chart| of_chart(ground, chart)).collect();
        let calls: Vec<Vec<Option<usize>>> = ground.charts.iter().map(|chart| of_calls(ground, chart)).collect();
        let mut may = own.clone();
        // A graph that can wait makes its callers wait, and these theirs.
        let mut callers = vec![Vec::new(); calls.len()];
        for (caller, callees) in calls.iter().enumerate() {
            callees.iter().flatten().for_each(|it| callers.get_mut(*it).into_iter().for_each(|all: &mut Vec<usize>| all.push(caller)));
        }
        let waiting = own.iter().enumerate().filter(|(at, nodes)| nodes.iter().zip(reached(ground, *at)).any(|it| *it.0 && it.1));
        let waiting = reachable(&callers, waiting.map(|it| it.0));
        for (nodes, calls) in may.iter_mut().zip(&calls) {
            for (may, callee) in nodes.iter_mut().zip(calls) {
                *may |= callee.is_some_and(|it| waiting.get(it).copied().unwrap_or_default());
            }
        }
        let mut must = own;
        let mut passes: Vec<Option<bool>> = vec![None; calls.len()];
        for at in 0..calls.len() {
            passable(ground, &calls, &mut must, &mut passes, at);
        }
        Waits { may, must }
    }

    /// Whether a node can wait.
    pub fn may(&self, graph: usize, node: usize) -> bool {
        at(&self.may, graph, node)
    }

    /// Whether a node always waits.
    pub fn must(&self, graph: usize, node: usize) -> bool {
        at(&self.must, graph, node)
    }
}

/// The graph that a node calls and comes back from.
pub(super) fn callee(ground: &Ground<'_>, node: &Node) -> Option<usize> {
    let NodeKind::Subflow(data) = &node.kind else { return None };
    ground.number(&data.graph).filter(|_| data.mode == CallMode::Call && !node.disabled)
}

/// The parameters of an intent that no node of its graph asks for itself.
pub(super) fn open_parameters<'g>(ground: &Ground<'g>, chart: &Chart<'g>, intent: &str) -> Vec<&'g EntityForParameter> {
    ground.flow.intent(intent).into_iter().flat_map(|it| &it.parameters).filter(|it| !asks(chart, &it.variable)).collect()
}

/// Whether a node of a graph asks for a variable.
pub(super) fn asks(chart: &Chart<'_>, variable: &Path) -> bool {
    chart.form.nodes.iter().any(|node| matches!(&node.kind, NodeKind::Entity(data) if data.variable == *variable))
}

fn at(of: &[Vec<bool>], graph: usize, node: usize) -> bool {
    of.get(graph).and_then(|it| it.get(node)).copied().unwrap_or_default()
}

fn reached(ground: &Ground<'_>, graph: usize) -> Vec<bool> {
    ground.charts.get(graph).map(|it| it.reached.clone()).unwrap_or_default()
}

fn of_chart(ground: &Ground<'_>, chart: &Chart<'_>) -> Vec<bool> {
    let waits = |node: &Node| match &node.kind {
        _ if node.disabled => false,
        NodeKind::Message(_) => chart.awaits(node) != Await::None,
        NodeKind::Entity(_) | NodeKind::InstructionAgent(_) => true,
        NodeKind::Intent(data) => !open_parameters(ground, chart, &data.intent_id).is_empty(),
        NodeKind::Unavailable => node.type_name == "handoff",
        NodeKind::Start(_)
        | NodeKind::End(_)
        | NodeKind::Decision
        | NodeKind::Router
        | NodeKind::Service(_)
        | NodeKind::Set(_)
        | NodeKind::Fallback(_)
        | NodeKind::Subflow(_) => false,
    };
    chart.form.nodes.iter().map(waits).collect()
}

fn of_calls(ground: &Ground<'_>, chart: &Chart<'_>) -> Vec<Option<usize>> {
    chart.form.nodes.iter().map(|it| callee(ground, it)).collect()
}

/// Whether a graph can be passed without waiting; marks the calls of those that cannot. Recursion counts as passable.
fn passable(ground: &Ground<'_>, calls: &[Vec<Option<usize>>], must: &mut [Vec<bool>], passes: &mut [Option<bool>], graph: usize) -> bool {
    // Callees come first. Graphs call each other as deep as they like, so that the calls wait on a list and not on the stack.
    let mut open = vec![(graph, false)];
    while let Some((graph, callees_done)) = open.pop() {
        let callees = calls.get(graph).map(Vec::as_slice).unwrap_or_default();
        if callees_done {
            if let Some(nodes) = must.get_mut(graph) {
                for (must, callee) in nodes.iter_mut().zip(callees) {
                    *must |= callee.and_then(|it| passes.get(it).copied().flatten()) == Some(false);
                }
            }
            let ends = ground.charts.get(graph).zip(must.get(graph)).is_none_or(|(chart, must)| ends_without(chart, must));
            passes.get_mut(graph).into_iter().for_each(|it| *it = Some(ends));
            continue;
        }
        if passes.get(graph).is_some_and(Option::is_some) {
            continue;
        }
        // Until it is known.
        passes.get_mut(graph).into_iter().for_each(|it| *it = Some(true));
        open.push((graph, true));
        open.extend(callees.iter().flatten().map(|it| (*it, false)));
    }
    passes.get(graph).copied().flatten().unwrap_or(true)
}

/// Whether an end can be reached from the entry past the nodes that always wait.
fn ends_without(chart: &Chart<'_>, must: &[bool]) -> bool {
    let open = |it: &usize| !must.get(*it).copied().unwrap_or_default();
    let next: Vec<Vec<usize>> = chart.next.iter().map(|to| to.iter().copied().filter(open).collect()).collect();
    let reached = reachable(&next, chart.entry().filter(open));
    let leaves = |node: &Node| match &node.kind {
        NodeKind::End(_) => true,
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
    };
    chart.form.nodes.iter().zip(reached).any(|(node, reached)| reached && leaves(node))
}
