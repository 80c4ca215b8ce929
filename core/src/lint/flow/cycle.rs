//! Ways on which nobody is waited for: circles, and ways that are too long. (G010, G011, G014, G015)

use super::ground::{Chart, Ground};
use super::wait::{self, Waits};
use super::way;
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::{Node, NodeKind};

/// Nodes on a way from which on it is told of.
const LONG: usize = 48;

/// Nodes that a turn may enter.
const MOST: usize = 64;

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    let waits = Waits::of(ground);
    let changing = Changing::of(ground);
    let mut lengths: Vec<Option<usize>> = vec![None; ground.charts.len()];
    for (number, chart) in ground.charts.iter().enumerate() {
        circles(chart, number, &waits, &changing, found);
        let length = way::length(ground, &waits, &mut lengths, number);
        let place = chart.place();
        let message = || format!("a way of {length} nodes leads through '{}' without waiting for the user", chart.form.id);
        if length > MOST {
            let fix = format!("shorten it, or wait for the user between: a turn enters {MOST} nodes at most");
            found.push(place.error("G015", message()).fix(fix));
        } else if length > LONG {
            found.push(place.warning("G014", message()).fix(format!("shorten it: a turn enters {MOST} nodes at most")));
        }
    }
}

fn circles(chart: &Chart<'_>, number: usize, waits: &Waits, changing: &Changing, found: &mut Vec<DocumentIssue>) {
    let free = |at: usize| chart.is_reached(at) && !waits.may(number, at);
    let certain = components(&chart.next, |at| free(at) && !changing.is(number, at));
    for circle in certain.iter().filter(|it| is_circle(chart, it)) {
        let Some(first) = circle.iter().min() else { continue };
        let message = format!("{} lead round and round: nothing on this way waits for the user or changes anything", names(chart, circle));
        found.push(chart.place_of(*first).error("G010", message).fix("lead out of the circle, or wait for the user in it"));
    }
    for circle in components(&chart.next, free).iter().filter(|it| is_circle(chart, it)) {
        let Some(first) = circle.iter().filter(|it| changing.is(number, **it)).min() else { continue };
        let message = format!("{} lead round and round without waiting for the user", names(chart, circle));
        let fix = "make sure that a condition ends it: a turn enters 64 nodes at most";
        found.push(chart.place_of(*first).warning("G011", message).fix(fix));
    }
}

fn is_circle(chart: &Chart<'_>, component: &[usize]) -> bool {
    match component {
        [only] => chart.next.get(*only).is_some_and(|it| it.contains(only)),
        _ => true,
    }
}

/// The names of a circle's nodes, of a long one the first.
fn names(chart: &Chart<'_>, circle: &[usize]) -> String {
    let mut circle = circle.to_vec();
    circle.sort_unstable();
    let more = if circle.len() > 5 { " and others" } else { "" };
    let names: Vec<String> = circle.iter().take(5).filter_map(|it| chart.form.nodes.get(*it)).map(|it| format!("'{}'", it.name)).collect();
    names.join(", ") + more
}

/// Which nodes change what conditions look at, calls followed into what they call.
struct Changing(Vec<Vec<bool>>);

impl Changing {
    fn of(ground: &Ground<'_>) -> Changing {
        let own = |node: &Node| match &node.kind {
            NodeKind::Start(data) => !data.init.is_empty(),
            NodeKind::Entity(_) | NodeKind::Service(_) | NodeKind::Set(_) | NodeKind::InstructionAgent(_) | NodeKind::Unavailable => true,
            // What it returns or is given is written.
            NodeKind::Subflow(data) => !data.outputs.is_empty() || data.inputs.is_some(),
            NodeKind::End(_)
            | NodeKind::Intent(_)
            | NodeKind::Message(_)
            | NodeKind::Decision
            | NodeKind::Router
            | NodeKind::Fallback(_) => false,
        };
        let mut nodes: Vec<Vec<bool>> =
            ground.charts.iter().map(|it| it.form.nodes.iter().map(|node| !node.disabled && own(node)).collect()).collect();
        let mut callers = vec![Vec::new(); nodes.len()];
        for (caller, chart) in ground.charts.iter().enumerate() {
            for callee in chart.form.nodes.iter().filter_map(|it| wait::callee(ground, it)) {
                callers.get_mut(callee).into_iter().for_each(|it: &mut Vec<usize>| it.push(caller));
            }
        }
        let changing = nodes.iter().enumerate().filter(|it| it.1.contains(&true)).map(|it| it.0).collect::<Vec<_>>();
        let graphs = super::ground::reachable(&callers, changing);
        for (chart, nodes) in ground.charts.iter().zip(&mut nodes) {
            for (node, changes) in chart.form.nodes.iter().zip(nodes) {
                *changes |= wait::callee(ground, node).is_some_and(|it| graphs.get(it).copied().unwrap_or_default());
            }
        }
        Changing(nodes)
    }

    fn is(&self, graph: usize, node: usize) -> bool {
        self.0.get(graph).and_then(|it| it.get(node)).copied().unwrap_or_default()
    }
}

/// The strongly connected components of some nodes, each behind those that it leads to. (Tarjan, without recursion)
pub(super) fn components(next: &[Vec<usize>], takes: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
    let mut search =
        Search { index: vec![None; next.len()], low: vec![0; next.len()], stack: Vec::new(), on_stack: vec![false; next.len()] };
    let (mut count, mut found) = (0, Vec::new());
    for begin in (0..next.len()).filter(|it| takes(*it)) {
        if search.index.get(begin).copied().flatten().is_some() {
            continue;
        }
        let mut open = vec![(begin, 0)];
        while let Some((node, edge)) = open.pop() {
            if edge == 0 {
                search.enter(node, count);
                count += 1;
            }
            let target = next.get(node).and_then(|it| it.get(edge)).copied();
            let Some(target) = target else {
                found.extend(search.leave(node));
                if let Some((parent, _)) = open.last() {
                    search.lower(*parent, search.low.get(node).copied().unwrap_or_default());
                }
                continue;
            };
            open.push((node, edge + 1));
            match search.index.get(target).copied().flatten() {
                None if takes(target) => open.push((target, 0)),
                Some(index) if search.on_stack.get(target) == Some(&true) => search.lower(node, index),
                None | Some(_) => {}
            }
        }
    }
    found
}

struct Search {
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    stack: Vec<usize>,
    on_stack: Vec<bool>,
}

impl Search {
    fn enter(&mut self, node: usize, count: usize) {
        self.index.get_mut(node).into_iter().for_each(|it| *it = Some(count));
        self.low.get_mut(node).into_iter().for_each(|it| *it = count);
        self.on_stack.get_mut(node).into_iter().for_each(|it| *it = true);
        self.stack.push(node);
    }

    fn lower(&mut self, node: usize, to: usize) {
        self.low.get_mut(node).into_iter().for_each(|it| *it = (*it).min(to));
    }

    /// The component that begins with a node, when one does.
    fn leave(&mut self, node: usize) -> Option<Vec<usize>> {
        if self.index.get(node).copied().flatten() != self.low.get(node).copied() {
            return None;
        }
        let from = self.stack.iter().rposition(|it| *it == node)?;
        let component = self.stack.split_off(from);
        component.iter().for_each(|it| self.on_stack.get_mut(*it).into_iter().for_each(|on| *on = false));
        Some(component)
    }
}
