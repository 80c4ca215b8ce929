//! The structure of graphs: entries, edge endpoints and fallbacks. (G001–G003, G005, G013, G016)

use std::collections::BTreeMap;

use super::ground::{Chart, Ground};
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::{FallbackOn, GraphKind, NodeKind};

pub(super) fn check(context: &Ground<'_>, findings: &mut Vec<DocumentIssue>) {
    roots(context, findings);
    let graphs_by_node = homes(context);
    for graph_cx in &context.graphs {
        entry(graph_cx, findings);
        ends(graph_cx, &graphs_by_node, findings);
        fallbacks(graph_cx, findings);
    }
}

fn roots(context: &Ground<'_>, findings: &mut Vec<DocumentIssue>) {
    let roots: Vec<&Chart<'_>> = context.graphs.iter().filter(|it| it.is(GraphKind::Root)).collect();
    let named = context.root();
    if named.is_none_or(|it| !it.is(GraphKind::Root)) {
        let id = &context.flow.document.root;
        let fix = "set 'root' to the id of the only graph of the kind 'root'";
        let location = super::ground::Place { path: "/root".to_owned(), ..Default::default() };
        findings.push(location.error("G001", format!("'{id}' is not a graph of the kind 'root', so no session can start")).fix(fix));
    }
    for other in roots.iter().filter(|it| roots.len() > 1 && it.form.id != context.flow.document.root) {
        let message = format!("'{}' is a second root, but a document has only one", other.form.id);
        findings.push(other.place().at("/kind").error("G001", message).fix("change its kind to 'subflow' or 'intent'"));
    }
}

fn entry(graph_cx: &Chart<'_>, findings: &mut Vec<DocumentIssue>) {
    let entry = graph_cx.entry().and_then(|it| graph_cx.form.nodes.get(it));
    let location = graph_cx.place().at("/entry");
    let Some(entry) = entry else {
        let message = format!("the entry '{}' is not a node of the graph", graph_cx.form.entry);
        findings.push(location.error("G002", message).fix("set 'entry' to the id of the first node"));
        return;
    };
    let expected = match graph_cx.form.kind {
        GraphKind::Intent => "intent",
        GraphKind::Subflow => "start",
        // A root may begin with any node.
        GraphKind::Root => return,
    };
    if entry.type_name != expected {
        let message = format!("the entry '{}' is not a node of the type '{expected}'", entry.name);
        findings.push(location.error("G002", message).fix(format!("begin with a node of the type '{expected}'")));
    }
}

/// Returns the first graph with a node of each id.
fn homes<'g>(context: &Ground<'g>) -> BTreeMap<&'g str, &'g str> {
    let mut graphs_by_node = BTreeMap::new();
    for graph_cx in &context.graphs {
        for node in &graph_cx.form.nodes {
            graphs_by_node.entry(node.id.as_str()).or_insert(graph_cx.form.id.as_str());
        }
    }
    graphs_by_node
}

fn ends(graph_cx: &Chart<'_>, graphs_by_node: &BTreeMap<&str, &str>, findings: &mut Vec<DocumentIssue>) {
    for (at, edge) in graph_cx.form.edges.iter().enumerate() {
        let location = graph_cx.edge(at);
        for (member, id, end) in [("/source", &edge.source, "source"), ("/target", &edge.target, "target")] {
            if graph_cx.number(id).is_some() {
                continue;
            }
            let message = format!("the {end} '{id}' of the edge is not a node of the graph");
            findings.push(location.at(member).error("G003", message).fix("remove the edge, or use the id of a node of the graph"));
            if let Some(other) = graphs_by_node.get(id.as_str()) {
                let message = format!("the {end} '{id}' of the edge is in the graph '{other}', but edges cannot cross graphs");
                findings.push(location.at(member).warning("G016", message).fix(format!("call '{other}' with a node of the type 'subflow'")));
            }
        }
        let target = graph_cx.number(&edge.target).and_then(|it| graph_cx.form.nodes.get(it));
        if let Some(target) = target.filter(|it| matches!(it.kind, NodeKind::Start(_) | NodeKind::Intent(_))) {
            let message = format!("the edge leads to '{}', which is an entry and cannot have incoming edges", target.name);
            findings.push(location.at("/target").error("G005", message).fix("connect it to the next node"));
        }
    }
}

/// Checks that there is at most one fallback for each case.
fn fallbacks(graph_cx: &Chart<'_>, findings: &mut Vec<DocumentIssue>) {
    let mut seen: Vec<(FallbackOn, &str)> = Vec::new();
    for (at, node) in graph_cx.form.nodes.iter().enumerate() {
        let NodeKind::Fallback(data) = &node.kind else { continue };
        if node.disabled {
            continue;
        }
        match seen.iter().find(|it| it.0 == data.on) {
            Some((_, first)) => {
                let message = format!("'{first}' is a fallback for the same case, so this one is never entered");
                findings.push(graph_cx.place_of(at).error("G013", message).fix("remove one of them, or use a different 'match'"));
            }
            None => seen.push((data.on, &node.name)),
        }
    }
}
