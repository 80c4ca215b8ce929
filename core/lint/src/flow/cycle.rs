//! Paths without waiting for the user: cycles, and paths that are too long. (G010, G011, G014, G015)

use convengine_config::flow::DocumentIssue;

use super::context::{FlowContext, GraphContext, set};
use super::live_edges::{excludes_itself, live_successors};
use super::path_length;
use super::wait::{self, Waits};

/// The length of a path above which it is a warning.
const LONG_PATH: usize = 48;

/// The maximum number of nodes that a turn may enter.
const MAX_PATH: usize = 64;

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let waits = Waits::new(context);
    let changing = ChangingNodes::new(context);
    let mut lengths: Vec<Option<usize>> = vec![None; context.graphs.len()];
    for (number, graph_cx) in context.graphs.iter().enumerate() {
        check_cycles(context, graph_cx, number, &waits, &changing, findings);
        let length = path_length::longest_path(context, &waits, &mut lengths, number);
        let location = graph_cx.location();
        let message =
            || format!("a path through the graph '{}' enters {length} nodes without waiting for the user", graph_cx.definition.id);
        if length > MAX_PATH {
            let fix = format!("shorten the path, or wait for the user: a turn enters at most {MAX_PATH} nodes");
            findings.push(location.error("G015", message()).with_fix(fix));
        } else if length > LONG_PATH {
            findings
                .push(location.warning("G014", message()).with_fix(format!("shorten the path: a turn enters at most {MAX_PATH} nodes")));
        }
    }
}

fn check_cycles(
    context: &FlowContext<'_>,
    graph_cx: &GraphContext<'_>,
    number: usize,
    waits: &Waits,
    changing: &ChangingNodes,
    findings: &mut Vec<DocumentIssue>,
) {
    let successors = live_successors(context, graph_cx);
    let is_candidate = |at: usize| graph_cx.is_reachable(at) && !waits.can_wait(number, at);
    let certain = find_components(&successors, |at| is_candidate(at) && !changing.is_changing(number, at));
    for cycle in certain.iter().filter(|cycle| is_cycle(&successors, cycle) && !excludes_itself(context, graph_cx, cycle)) {
        let Some(first) = cycle.iter().min() else { continue };
        let message =
            format!("{} form an endless loop: nothing in it waits for the user or changes a variable", node_names(graph_cx, cycle));
        findings.push(
            graph_cx.node_location(*first).error("G010", message).with_fix("add an edge that leaves the loop, or wait for the user in it"),
        );
    }
    for cycle in find_components(&successors, is_candidate).iter().filter(|it| is_cycle(&successors, it)) {
        let Some(first) = cycle.iter().filter(|it| changing.is_changing(number, **it)).min() else { continue };
        let message = format!("{} form a loop that does not wait for the user", node_names(graph_cx, cycle));
        let fix = "make sure that a condition ends the loop: a turn enters at most 64 nodes";
        findings.push(graph_cx.node_location(*first).warning("G011", message).with_fix(fix));
    }
}

fn is_cycle(successors: &[Vec<usize>], component: &[usize]) -> bool {
    match component {
        [only] => successors.get(*only).is_some_and(|it| it.contains(only)),
        _ => true,
    }
}

/// Returns the names of the nodes of a cycle, at most five.
fn node_names(graph_cx: &GraphContext<'_>, cycle: &[usize]) -> String {
    let mut cycle = cycle.to_vec();
    cycle.sort_unstable();
    let more = if cycle.len() > 5 { " and others" } else { "" };
    let names: Vec<String> =
        cycle.iter().take(5).filter_map(|node| graph_cx.definition.nodes.get(*node)).map(|it| format!("'{}'", it.name)).collect();
    names.join(", ") + more
}

/// The nodes that can change variables, directly or in graphs that they call.
struct ChangingNodes(Vec<Vec<bool>>);

impl ChangingNodes {
    fn new(context: &FlowContext<'_>) -> ChangingNodes {
        let mut nodes: Vec<Vec<bool>> = context
            .graphs
            .iter()
            .map(|graph_cx| graph_cx.definition.nodes.iter().map(|node| !node.disabled && node.traits().changes_variables).collect())
            .collect();
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        for (caller, graph_cx) in context.graphs.iter().enumerate() {
            for callee in graph_cx.definition.nodes.iter().filter_map(|it| wait::called_graph(context, it)) {
                if let Some(callers) = callers.get_mut(callee) {
                    callers.push(caller);
                }
            }
        }
        let changing = nodes.iter().enumerate().filter(|it| it.1.contains(&true)).map(|it| it.0).collect::<Vec<_>>();
        let graphs = super::context::find_reachable(&callers, changing);
        for (graph_cx, nodes) in context.graphs.iter().zip(&mut nodes) {
            for (node, changes) in graph_cx.definition.nodes.iter().zip(nodes) {
                *changes |= wait::called_graph(context, node).is_some_and(|callee| graphs.get(callee).copied().unwrap_or_default());
            }
        }
        ChangingNodes(nodes)
    }

    fn is_changing(&self, graph: usize, node: usize) -> bool {
        self.0.get(graph).and_then(|it| it.get(node)).copied().unwrap_or_default()
    }
}

/// Returns the strongly connected components of some nodes in reverse topological order (Tarjan's algorithm, without recursion).
pub(super) fn find_components(next: &[Vec<usize>], includes: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
    let mut search =
        ComponentSearch { index: vec![None; next.len()], low: vec![0; next.len()], stack: Vec::new(), on_stack: vec![false; next.len()] };
    let (mut count, mut result) = (0, Vec::new());
    for begin in (0..next.len()).filter(|it| includes(*it)) {
        if search.index.get(begin).copied().flatten().is_some() {
            continue;
        }
        let mut calls = vec![(begin, 0)];
        while let Some((node, edge)) = calls.pop() {
            if edge == 0 {
                search.enter(node, count);
                count += 1;
            }
            let target = next.get(node).and_then(|it| it.get(edge)).copied();
            let Some(target) = target else {
                result.extend(search.leave(node));
                if let Some((parent, _)) = calls.last() {
                    search.lower(*parent, search.low.get(node).copied().unwrap_or_default());
                }
                continue;
            };
            calls.push((node, edge + 1));
            match search.index.get(target).copied().flatten() {
                None if includes(target) => calls.push((target, 0)),
                Some(index) if search.on_stack.get(target) == Some(&true) => search.lower(node, index),
                None | Some(_) => {}
            }
        }
    }
    result
}

struct ComponentSearch {
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    stack: Vec<usize>,
    on_stack: Vec<bool>,
}

impl ComponentSearch {
    fn enter(&mut self, node: usize, count: usize) {
        set(&mut self.index, node, Some(count));
        set(&mut self.low, node, count);
        set(&mut self.on_stack, node, true);
        self.stack.push(node);
    }

    fn lower(&mut self, node: usize, to: usize) {
        if let Some(low) = self.low.get_mut(node) {
            *low = to.min(*low);
        }
    }

    /// Returns the component whose root is a node, if there is one.
    fn leave(&mut self, node: usize) -> Option<Vec<usize>> {
        if self.index.get(node).copied().flatten() != self.low.get(node).copied() {
            return None;
        }
        let from = self.stack.iter().rposition(|it| *it == node)?;
        let component = self.stack.split_off(from);
        for member in &component {
            set(&mut self.on_stack, *member, false);
        }
        Some(component)
    }
}
