//! The longest paths through graphs without waiting for the user.

use super::context::{FlowContext, GraphContext, set};
use super::cycle::find_components;
use super::wait::{self, Waits};

/// The approximate maximum of edges to follow within a component, in each direction.
const MAX_EFFORT: usize = 200_000;

/// Returns the number of nodes on a long path through a graph without a node that always waits, including the nodes of called graphs.
///
/// The longest simple path of a cyclic graph is hard to find: there, the result is a lower bound. A recursive call counts as one node.
pub(super) fn longest_path(context: &FlowContext<'_>, waits: &Waits, known: &mut [Option<usize>], graph: usize) -> usize {
    // Callees come first; an explicit stack avoids recursion.
    let mut stack = vec![(graph, false)];
    while let Some((graph, callees_done)) = stack.pop() {
        let Some(graph_cx) = context.graphs.get(graph) else { continue };
        if callees_done {
            let length = longest_path_of_graph(context, graph_cx, graph, waits, known);
            set(known, graph, Some(length));
        } else if known.get(graph).is_some_and(Option::is_none) {
            set(known, graph, Some(0));
            stack.push((graph, true));
            stack.extend(graph_cx.definition.nodes.iter().filter_map(|it| wait::called_graph(context, it)).map(|it| (it, false)));
        }
    }
    known.get(graph).copied().flatten().unwrap_or_default()
}

fn longest_path_of_graph(
    context: &FlowContext<'_>,
    graph_cx: &GraphContext<'_>,
    graph: usize,
    waits: &Waits,
    known: &[Option<usize>],
) -> usize {
    let callee = |at: usize| graph_cx.definition.nodes.get(at).and_then(|node| wait::called_graph(context, node));
    let size = |at: usize| 1 + callee(at).and_then(|callee| known.get(callee).copied().flatten()).unwrap_or_default();
    let components = find_components(&graph_cx.successors, |at| graph_cx.is_reachable(at) && !waits.always_waits(graph, at));
    let mut paths = PathSearch {
        successors: &graph_cx.successors,
        sizes: (0..graph_cx.successors.len()).map(size).collect(),
        component_of_node: vec![None; graph_cx.successors.len()],
        lengths: vec![0; graph_cx.successors.len()],
        visited_round: vec![0; graph_cx.successors.len()],
        round: 0,
    };
    for (number, nodes) in components.iter().enumerate() {
        for node in nodes {
            set(&mut paths.component_of_node, *node, Some(number));
        }
    }
    let mut is_entered: Vec<bool> = (0..graph_cx.successors.len()).map(|node| graph_cx.entry_index() == Some(node)).collect();
    for (from, targets) in graph_cx.successors.iter().enumerate() {
        for target in targets.iter().filter(|target| paths.component_of(**target) != paths.component_of(from)) {
            set(&mut is_entered, *target, true);
        }
    }
    // The successors of a component come before it.
    for (number, mut begins) in components.into_iter().enumerate() {
        let edges: usize = begins.iter().filter_map(|it| graph_cx.successors.get(*it)).map(|targets| targets.len() + 1).sum();
        // Paths enter a component at nodes with edges from outside, which come first; beyond the effort limit, nodes only lead out.
        begins.sort_unstable_by_key(|node| (!is_entered.get(*node).copied().unwrap_or_default(), *node));
        for (at, node) in begins.into_iter().enumerate() {
            let follows = at * edges < MAX_EFFORT;
            let length = paths.search_from(node, number, follows, false).max(paths.search_from(node, number, follows, true));
            set(&mut paths.lengths, node, length);
        }
    }
    paths.lengths.into_iter().max().unwrap_or_default()
}

/// The search for long paths through the components of a graph.
struct PathSearch<'g> {
    successors: &'g [Vec<usize>],
    /// The number of nodes that a node counts as.
    sizes: Vec<usize>,
    component_of_node: Vec<Option<usize>>,
    /// The length of the longest known path from a node.
    lengths: Vec<usize>,
    /// The last round that visited a node.
    visited_round: Vec<usize>,
    round: usize,
}

impl PathSearch<'_> {
    fn component_of(&self, node: usize) -> Option<usize> {
        self.component_of_node.get(node).copied().flatten()
    }

    /// Returns the longest path of a depth-first search from a node of a component, including what follows the component. The search
    /// visits no node twice, so the result depends on the order of edges.
    fn search_from(&mut self, begin: usize, component: usize, follows: bool, backwards: bool) -> usize {
        self.round += 1;
        let (mut longest, mut stack) = (0, vec![(begin, 0, 0)]);
        while let Some((node, edge, before)) = stack.pop() {
            let here = before + self.sizes.get(node).copied().unwrap_or_default();
            if edge == 0 {
                set(&mut self.visited_round, node, self.round);
                longest = longest.max(here);
            }
            let Some(targets) = self.successors.get(node).filter(|targets| edge < targets.len()) else { continue };
            stack.push((node, edge + 1, before));
            let Some(target) = targets.get(if backwards { targets.len() - 1 - edge } else { edge }).copied() else { continue };
            match self.component_of(target) {
                Some(other) if other != component => longest = longest.max(here + self.lengths.get(target).copied().unwrap_or_default()),
                Some(_) if follows && self.visited_round.get(target) != Some(&self.round) => stack.push((target, 0, here)),
                Some(_) | None => {}
            }
        }
        longest
    }
}
