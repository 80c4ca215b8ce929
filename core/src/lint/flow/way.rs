//! The longest ways on which nobody is waited for.

use super::cycle::components;
use super::ground::{Chart, Ground};
use super::wait::{self, Waits};

/// Edges within a component that are followed in each direction, or nearly so.
const EFFORT: usize = 200_000;

/// The nodes on a long way through a graph on which nobody is certainly waited for, with those of the graphs that it calls.
///
/// The longest way that enters no node twice is hard to find where ways lead back: the one that is told there may not be the longest,
/// but it is there. A call of a graph that is being looked at already counts as one node.
pub(super) fn length(ground: &Ground<'_>, waits: &Waits, known: &mut [Option<usize>], graph: usize) -> usize {
    // Callees come first, on a list and not on the stack.
    let mut open = vec![(graph, false)];
    while let Some((graph, callees_done)) = open.pop() {
        let Some(chart) = ground.charts.get(graph) else { continue };
        if callees_done {
            let length = longest(ground, chart, graph, waits, known);
            known.get_mut(graph).into_iter().for_each(|it| *it = Some(length));
        } else if known.get(graph).is_some_and(Option::is_none) {
            known.get_mut(graph).into_iter().for_each(|it| *it = Some(0));
            open.push((graph, true));
            open.extend(chart.form.nodes.iter().filter_map(|it| wait::callee(ground, it)).map(|it| (it, false)));
        }
    }
    known.get(graph).copied().flatten().unwrap_or_default()
}

fn longest(ground: &Ground<'_>, chart: &Chart<'_>, graph: usize, waits: &Waits, known: &[Option<usize>]) -> usize {
    let callee = |at: usize| chart.form.nodes.get(at).and_then(|it| wait::callee(ground, it));
    let size = |at: usize| 1 + callee(at).and_then(|it| known.get(it).copied().flatten()).unwrap_or_default();
    let components = components(&chart.next, |at| chart.is_reached(at) && !waits.must(graph, at));
    let mut ways = Ways {
        next: &chart.next,
        sizes: (0..chart.next.len()).map(size).collect(),
        component: vec![None; chart.next.len()],
        lengths: vec![0; chart.next.len()],
        seen: vec![0; chart.next.len()],
        round: 0,
    };
    for (number, nodes) in components.iter().enumerate() {
        nodes.iter().for_each(|it| ways.component.get_mut(*it).into_iter().for_each(|of| *of = Some(number)));
    }
    let mut is_entered: Vec<bool> = (0..chart.next.len()).map(|it| chart.entry() == Some(it)).collect();
    for (from, targets) in chart.next.iter().enumerate() {
        for target in targets.iter().filter(|it| ways.of(**it) != ways.of(from)) {
            is_entered.get_mut(*target).into_iter().for_each(|it| *it = true);
        }
    }
    // What a component leads to comes before it.
    for (number, mut begins) in components.into_iter().enumerate() {
        let edges: usize = begins.iter().filter_map(|it| chart.next.get(*it)).map(|it| it.len() + 1).sum();
        // Ways come in where others lead to; where there are too many of these, the rest is taken to lead out at once.
        begins.sort_unstable_by_key(|it| (!is_entered.get(*it).copied().unwrap_or_default(), *it));
        for (at, node) in begins.into_iter().enumerate() {
            let follows = at * edges < EFFORT;
            let length = ways.from(node, number, follows, false).max(ways.from(node, number, follows, true));
            ways.lengths.get_mut(node).into_iter().for_each(|it| *it = length);
        }
    }
    ways.lengths.into_iter().max().unwrap_or_default()
}

/// Ways within and behind the components of a graph.
struct Ways<'g> {
    next: &'g [Vec<usize>],
    /// What a node counts.
    sizes: Vec<usize>,
    component: Vec<Option<usize>>,
    /// The longest way that is known to begin at a node.
    lengths: Vec<usize>,
    /// The round in which a node was entered last.
    seen: Vec<usize>,
    round: usize,
}

impl Ways<'_> {
    fn of(&self, node: usize) -> Option<usize> {
        self.component.get(node).copied().flatten()
    }

    /// The longest way that a search in depth takes from a node of a component, with what is behind the component. It enters no node
    /// twice; which edge comes first decides what it finds.
    fn from(&mut self, begin: usize, component: usize, follows: bool, backwards: bool) -> usize {
        self.round += 1;
        let (mut longest, mut open) = (0, vec![(begin, 0, 0)]);
        while let Some((node, edge, before)) = open.pop() {
            let here = before + self.sizes.get(node).copied().unwrap_or_default();
            if edge == 0 {
                self.seen.get_mut(node).into_iter().for_each(|it| *it = self.round);
                longest = longest.max(here);
            }
            let Some(targets) = self.next.get(node).filter(|it| edge < it.len()) else { continue };
            open.push((node, edge + 1, before));
            let Some(target) = targets.get(if backwards { targets.len() - 1 - edge } else { edge }).copied() else { continue };
            match self.of(target) {
                Some(of) if of != component => longest = longest.max(here + self.lengths.get(target).copied().unwrap_or_default()),
                Some(_) if follows && self.seen.get(target) != Some(&self.round) => open.push((target, 0, here)),
                Some(_) | None => {}
            }
        }
        longest
    }
}
