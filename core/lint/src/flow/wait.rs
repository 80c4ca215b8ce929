//! Which nodes wait for the user, and which graphs can be run without waiting.

use convengine_config::flow::document::{Await, CallMode, IntentParameter, Node, NodeKind, Waiting};
use convengine_text::variable_path::VariablePath;

use super::context::{FlowContext, GraphContext, find_reachable, set};

/// Whether nodes wait, by graph and node, including waits in called graphs.
pub(super) struct Waits {
    /// Whether a node can wait.
    can_wait: Vec<Vec<bool>>,
    /// Whether a node always waits.
    always_waits: Vec<Vec<bool>>,
}

impl Waits {
    /// Analyzes a document.
    pub fn new(context: &FlowContext<'_>) -> Waits {
        let own: Vec<Vec<bool>> = context.graphs.iter().map(|graph_cx| waiting_nodes(context, graph_cx)).collect();
        let calls: Vec<Vec<Option<usize>>> = context.graphs.iter().map(|graph_cx| called_graphs(context, graph_cx)).collect();
        let mut can_wait = own.clone();
        // Waiting propagates to callers, transitively.
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); calls.len()];
        for (caller, callees) in calls.iter().enumerate() {
            for callee in callees.iter().flatten() {
                if let Some(callers) = callers.get_mut(*callee) {
                    callers.push(caller);
                }
            }
        }
        let waiting = own
            .iter()
            .enumerate()
            .filter(|(at, nodes)| nodes.iter().zip(reachable_nodes(context, *at)).any(|(waits, is_reachable)| *waits && is_reachable));
        let waiting = find_reachable(&callers, waiting.map(|it| it.0));
        for (nodes, calls) in can_wait.iter_mut().zip(&calls) {
            for (may, callee) in nodes.iter_mut().zip(calls) {
                *may |= callee.is_some_and(|callee| waiting.get(callee).copied().unwrap_or_default());
            }
        }
        let mut always_waits = own;
        let mut passes: Vec<Option<bool>> = vec![None; calls.len()];
        for at in 0..calls.len() {
            resolve_passable(context, &calls, &mut always_waits, &mut passes, at);
        }
        Waits { can_wait, always_waits }
    }

    /// Whether a node can wait.
    pub fn can_wait(&self, graph: usize, node: usize) -> bool {
        flag_at(&self.can_wait, graph, node)
    }

    /// Whether a node always waits.
    pub fn always_waits(&self, graph: usize, node: usize) -> bool {
        flag_at(&self.always_waits, graph, node)
    }
}

/// Returns the graph that a node calls and returns from.
pub(super) fn called_graph(context: &FlowContext<'_>, node: &Node) -> Option<usize> {
    let NodeKind::Subflow(data) = &node.kind else { return None };
    context.graph_index(&data.graph).filter(|_| data.mode == CallMode::Call && !node.disabled)
}

/// Returns the parameters of an intent that no node of its graph prompts for.
pub(super) fn open_parameters<'g>(context: &FlowContext<'g>, graph_cx: &GraphContext<'g>, intent: &str) -> Vec<&'g IntentParameter> {
    context.flow.intent(intent).into_iter().flat_map(|it| &it.parameters).filter(|it| !has_prompt_for(graph_cx, &it.variable)).collect()
}

/// Whether a node of a graph prompts for a variable.
pub(super) fn has_prompt_for(graph_cx: &GraphContext<'_>, variable: &VariablePath) -> bool {
    graph_cx.definition.nodes.iter().any(|node| matches!(&node.kind, NodeKind::Entity(data) if data.variable == *variable))
}

fn flag_at(flags: &[Vec<bool>], graph: usize, node: usize) -> bool {
    flags.get(graph).and_then(|it| it.get(node)).copied().unwrap_or_default()
}

fn reachable_nodes(context: &FlowContext<'_>, graph: usize) -> Vec<bool> {
    context.graphs.get(graph).map(|it| it.reachable_nodes.clone()).unwrap_or_default()
}

fn waiting_nodes(context: &FlowContext<'_>, graph_cx: &GraphContext<'_>) -> Vec<bool> {
    let waits = |node: &Node| match node.traits().waiting {
        _ if node.disabled => false,
        // What a graph that it runs waits for is found in that graph.
        Waiting::Nothing | Waiting::InCall => false,
        Waiting::AnswerToMessage => graph_cx.graph.await_mode(node) != Await::None,
        Waiting::Parameters(intent) => !open_parameters(context, graph_cx, intent).is_empty(),
        Waiting::Always => true,
    };
    graph_cx.definition.nodes.iter().map(waits).collect()
}

fn called_graphs(context: &FlowContext<'_>, graph_cx: &GraphContext<'_>) -> Vec<Option<usize>> {
    graph_cx.definition.nodes.iter().map(|it| called_graph(context, it)).collect()
}

/// Whether a graph can end without waiting. Marks the calls of graphs that cannot; recursive calls count as if they could.
fn resolve_passable(
    context: &FlowContext<'_>,
    calls: &[Vec<Option<usize>>],
    must: &mut [Vec<bool>],
    passes: &mut [Option<bool>],
    graph: usize,
) -> bool {
    // Callees come first; an explicit stack avoids recursion, because calls may nest deeply.
    let mut stack = vec![(graph, false)];
    while let Some((graph, callees_done)) = stack.pop() {
        let callees = calls.get(graph).map(Vec::as_slice).unwrap_or_default();
        if callees_done {
            if let Some(nodes) = must.get_mut(graph) {
                for (must, callee) in nodes.iter_mut().zip(callees) {
                    *must |= callee.and_then(|callee| passes.get(callee).copied().flatten()) == Some(false);
                }
            }
            let ends = context.graphs.get(graph).zip(must.get(graph)).is_none_or(|(graph_cx, must)| can_end_without(graph_cx, must));
            set(passes, graph, Some(ends));
            continue;
        }
        if passes.get(graph).is_some_and(Option::is_some) {
            continue;
        }
        // The assumption for recursive calls.
        set(passes, graph, Some(true));
        stack.push((graph, true));
        stack.extend(callees.iter().flatten().map(|it| (*it, false)));
    }
    passes.get(graph).copied().flatten().unwrap_or(true)
}

/// Whether an end is reachable from the entry without the nodes that always wait.
fn can_end_without(graph_cx: &GraphContext<'_>, must: &[bool]) -> bool {
    let is_passable = |node: &usize| !must.get(*node).copied().unwrap_or_default();
    let next: Vec<Vec<usize>> = graph_cx.successors.iter().map(|to| to.iter().copied().filter(is_passable).collect()).collect();
    let reached = find_reachable(&next, graph_cx.entry_index().filter(is_passable));
    graph_cx.definition.nodes.iter().zip(reached).any(|(node, reached)| reached && node.traits().leaves_graph)
}
