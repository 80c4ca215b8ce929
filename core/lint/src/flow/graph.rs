//! The structure of graphs: entries, edge endpoints and fallbacks. (G001–G003, G005, G013, G016)

use std::collections::BTreeMap;

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::{FallbackOn, GraphKind, NodeKind};

use super::context::{FlowContext, GraphContext};

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    check_roots(context, findings);
    let graphs_by_node = graphs_by_node(context);
    for graph_cx in &context.graphs {
        check_entry(graph_cx, findings);
        check_endpoints(graph_cx, &graphs_by_node, findings);
        check_fallbacks(graph_cx, findings);
    }
}

fn check_roots(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let roots: Vec<&GraphContext<'_>> = context.graphs.iter().filter(|it| it.is_kind(GraphKind::Root)).collect();
    let named = context.root_graph();
    if named.is_none_or(|it| !it.is_kind(GraphKind::Root)) {
        let id = &context.flow.document.root;
        let fix = "set 'root' to the id of the only graph of the kind 'root'";
        let location = super::context::Location { path: "/root".to_owned(), ..Default::default() };
        findings.push(location.error("G001", format!("'{id}' is not a graph of the kind 'root', so no session can start")).with_fix(fix));
    }
    for other in roots.iter().filter(|root| roots.len() > 1 && root.definition.id != context.flow.document.root) {
        let message = format!("'{}' is a second root, but a document has only one", other.definition.id);
        findings.push(other.location().join("/kind").error("G001", message).with_fix("change its kind to 'subflow' or 'intent'"));
    }
}

fn check_entry(graph_cx: &GraphContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let entry = graph_cx.entry_index().and_then(|entry| graph_cx.definition.nodes.get(entry));
    let location = graph_cx.location().join("/entry");
    let Some(entry) = entry else {
        let message = format!("the entry '{}' is not a node of the graph", graph_cx.definition.entry);
        findings.push(location.error("G002", message).with_fix("set 'entry' to the id of the first node"));
        return;
    };
    let expected = match graph_cx.definition.kind {
        GraphKind::Intent => "intent",
        GraphKind::Subflow => "start",
        // A root may begin with any node.
        GraphKind::Root => return,
    };
    if entry.type_name != expected {
        let message = format!("the entry '{}' is not a node of the type '{expected}'", entry.name);
        findings.push(location.error("G002", message).with_fix(format!("begin with a node of the type '{expected}'")));
    }
}

/// Returns the first graph with a node of each id.
fn graphs_by_node<'g>(context: &FlowContext<'g>) -> BTreeMap<&'g str, &'g str> {
    let mut graphs_by_node = BTreeMap::new();
    for graph_cx in &context.graphs {
        for node in &graph_cx.definition.nodes {
            graphs_by_node.entry(node.id.as_str()).or_insert(graph_cx.definition.id.as_str());
        }
    }
    graphs_by_node
}

fn check_endpoints(graph_cx: &GraphContext<'_>, graphs_by_node: &BTreeMap<&str, &str>, findings: &mut Vec<DocumentIssue>) {
    for (at, edge) in graph_cx.definition.edges.iter().enumerate() {
        let location = graph_cx.edge_location(at);
        for (member, id, end) in [("/source", &edge.source, "source"), ("/target", &edge.target, "target")] {
            if graph_cx.node_index(id).is_some() {
                continue;
            }
            let message = format!("the {end} '{id}' of the edge is not a node of the graph");
            findings.push(location.join(member).error("G003", message).with_fix("remove the edge, or use the id of a node of the graph"));
            if let Some(other) = graphs_by_node.get(id.as_str()) {
                let message = format!("the {end} '{id}' of the edge is in the graph '{other}', but edges cannot cross graphs");
                findings.push(
                    location.join(member).warning("G016", message).with_fix(format!("call '{other}' with a node of the type 'subflow'")),
                );
            }
        }
        let target = graph_cx.node_index(&edge.target).and_then(|node| graph_cx.definition.nodes.get(node));
        if let Some(target) = target.filter(|target| target.traits().is_entry) {
            let message = format!("the edge leads to '{}', which is an entry and cannot have incoming edges", target.name);
            findings.push(location.join("/target").error("G005", message).with_fix("connect it to the next node"));
        }
    }
}

/// Checks that there is at most one fallback for each case.
fn check_fallbacks(graph_cx: &GraphContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let mut seen: Vec<(FallbackOn, &str)> = Vec::new();
    for (at, node) in graph_cx.definition.nodes.iter().enumerate() {
        let NodeKind::Fallback(data) = &node.kind else { continue };
        if node.disabled {
            continue;
        }
        match seen.iter().find(|it| it.0 == data.on) {
            Some((_, first)) => {
                let message = format!("'{first}' is a fallback for the same case, so this one is never entered");
                findings.push(graph_cx.node_location(at).error("G013", message).with_fix("remove one of them, or use a different 'match'"));
            }
            None => seen.push((data.on, &node.name)),
        }
    }
}
