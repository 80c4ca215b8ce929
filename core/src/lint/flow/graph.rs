//! The shape of graphs: their entries, and where edges may begin and end. (G001–G003, G005, G013, G016)

use std::collections::BTreeMap;

use super::ground::{Chart, Ground};
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::{FallbackOn, GraphKind, NodeKind};

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    roots(ground, found);
    let homes = homes(ground);
    for chart in &ground.charts {
        entry(chart, found);
        ends(chart, &homes, found);
        fallbacks(chart, found);
    }
}

fn roots(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    let roots: Vec<&Chart<'_>> = ground.charts.iter().filter(|it| it.is(GraphKind::Root)).collect();
    let named = ground.root();
    if named.is_none_or(|it| !it.is(GraphKind::Root)) {
        let id = &ground.flow.document.root;
        let fix = "let 'root' name the one graph of the kind 'root'";
        let place = super::ground::Place { path: "/root".to_owned(), ..Default::default() };
        found.push(place.error("G001", format!("'{id}' is no graph of the kind 'root', so no session can begin")).fix(fix));
    }
    for other in roots.iter().filter(|it| roots.len() > 1 && it.form.id != ground.flow.document.root) {
        let message = format!("'{}' is a second root, and a document has one", other.form.id);
        found.push(other.place().at("/kind").error("G001", message).fix("make it a 'subflow' or an 'intent'"));
    }
}

fn entry(chart: &Chart<'_>, found: &mut Vec<DocumentIssue>) {
    let entry = chart.entry().and_then(|it| chart.form.nodes.get(it));
    let place = chart.place().at("/entry");
    let Some(entry) = entry else {
        let message = format!("the entry '{}' is no node of the graph", chart.form.entry);
        found.push(place.error("G002", message).fix("name the node at which the graph begins"));
        return;
    };
    let wanted = match chart.form.kind {
        GraphKind::Intent => "intent",
        GraphKind::Subflow => "start",
        // A root may begin with whatever it likes.
        GraphKind::Root => return,
    };
    if entry.type_name != wanted {
        let message = format!("the graph begins at '{}', which is no node of the type '{wanted}'", entry.name);
        found.push(place.error("G002", message).fix(format!("begin with a node of the type '{wanted}'")));
    }
}

/// The graphs that have a node of an id; of several the first.
fn homes<'g>(ground: &Ground<'g>) -> BTreeMap<&'g str, &'g str> {
    let mut homes = BTreeMap::new();
    for chart in &ground.charts {
        for node in &chart.form.nodes {
            homes.entry(node.id.as_str()).or_insert(chart.form.id.as_str());
        }
    }
    homes
}

fn ends(chart: &Chart<'_>, homes: &BTreeMap<&str, &str>, found: &mut Vec<DocumentIssue>) {
    for (at, edge) in chart.form.edges.iter().enumerate() {
        let place = chart.edge(at);
        for (member, id, way) in [("/source", &edge.source, "from"), ("/target", &edge.target, "to")] {
            if chart.number(id).is_some() {
                continue;
            }
            let message = format!("the edge leads {way} '{id}', which is no node of the graph");
            found.push(place.at(member).error("G003", message).fix("remove the edge, or let it name a node of the graph"));
            if let Some(home) = homes.get(id.as_str()) {
                let message = format!("the edge leads {way} '{id}' of the graph '{home}', and edges do not cross graphs");
                found.push(place.at(member).warning("G016", message).fix(format!("call '{home}' by a node of the type 'subflow'")));
            }
        }
        let target = chart.number(&edge.target).and_then(|it| chart.form.nodes.get(it));
        if let Some(target) = target.filter(|it| matches!(it.kind, NodeKind::Start(_) | NodeKind::Intent(_))) {
            let message = format!("the edge leads to '{}', at which graphs only begin", target.name);
            found.push(place.at("/target").error("G005", message).fix("lead it to the node behind"));
        }
    }
}

/// At most one for each case.
fn fallbacks(chart: &Chart<'_>, found: &mut Vec<DocumentIssue>) {
    let mut seen: Vec<(FallbackOn, &str)> = Vec::new();
    for (at, node) in chart.form.nodes.iter().enumerate() {
        let NodeKind::Fallback(data) = &node.kind else { continue };
        if node.disabled {
            continue;
        }
        match seen.iter().find(|it| it.0 == data.on) {
            Some((_, first)) => {
                let message = format!("'{first}' is a fallback for the same, so this one is never entered");
                found.push(chart.place_of(at).error("G013", message).fix("remove one of them, or give it another 'match'"));
            }
            None => seen.push((data.on, &node.name)),
        }
    }
}
