//! What the checks of a document look at.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Around;
use super::spot::{self, Spot};
use super::variables::Writes;
use crate::config::flow::document::{Await, GraphForm, GraphKind, Node, NodeKind};
use crate::config::flow::{DocumentIssue, Flow, GraphRef};

/// A document with what is known of it.
pub(super) struct Ground<'g> {
    pub source: &'g Value,
    pub flow: &'g Flow,
    pub around: &'g Around<'g>,
    /// Its graphs, in their order.
    pub charts: Vec<Chart<'g>>,
    /// Templates and expressions outside of its graphs.
    pub spots: Vec<Spot<'g>>,
    pub writes: Writes,
    /// The nodes that call a graph, each with the number of its own graph.
    calls: BTreeMap<&'g str, Vec<(usize, &'g Node)>>,
    /// The numbers of graphs by their ids.
    numbers: BTreeMap<&'g str, usize>,
}

/// A graph with what is known of it.
pub(super) struct Chart<'g> {
    pub form: &'g GraphForm,
    pub graph: GraphRef<'g>,
    /// Its nodes as they are written.
    pub sources: Vec<&'g Value>,
    /// Its edges as they are written.
    pub edges: Vec<&'g Value>,
    /// The numbers of the edges that leave a node.
    pub leaving: Vec<Vec<usize>>,
    /// Where the edges of a node lead, by the numbers of nodes.
    pub next: Vec<Vec<usize>>,
    /// Whether a node can be reached from the entry, or from a fallback.
    pub reached: Vec<bool>,
    /// Templates and expressions of a node and of the edges that leave it.
    pub spots: Vec<Vec<Spot<'g>>>,
    at: usize,
    name: Option<&'g str>,
    numbers: BTreeMap<&'g str, usize>,
}

/// Where an issue is.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    pub path: String,
    pub graph: Option<String>,
    pub node: Option<String>,
    pub name: Option<String>,
}

impl<'g> Ground<'g> {
    /// What the checks of a document stand on.
    pub fn of(source: &'g Value, flow: &'g Flow, around: &'g Around<'g>) -> Ground<'g> {
        let of_graph = |(at, form): (usize, &'g GraphForm)| {
            let graph = flow.graph(&form.id)?;
            Some(Chart::of(at, form, graph, source))
        };
        let charts: Vec<_> = flow.document.graphs.iter().enumerate().filter_map(of_graph).collect();
        let writes = Writes::of(source, flow, &charts);
        let mut calls: BTreeMap<&str, Vec<(usize, &Node)>> = BTreeMap::new();
        for (number, chart) in charts.iter().enumerate() {
            for node in &chart.form.nodes {
                if let NodeKind::Subflow(data) = &node.kind {
                    calls.entry(data.graph.as_str()).or_default().push((number, node));
                }
            }
        }
        let numbers = charts.iter().enumerate().map(|(at, it)| (it.form.id.as_str(), at)).collect();
        Ground { source, flow, around, charts, spots: spot::of_document(source), writes, calls, numbers }
    }

    /// A graph by its id.
    pub fn chart(&self, id: &str) -> Option<&Chart<'g>> {
        self.charts.get(*self.numbers.get(id)?)
    }

    /// The nodes that call a graph, with their graphs.
    pub fn callers(&self, id: &str) -> impl Iterator<Item = (&Chart<'g>, &'g Node)> {
        self.calls.get(id).into_iter().flatten().filter_map(|(at, node)| Some((self.charts.get(*at)?, *node)))
    }

    /// The number of a graph.
    pub fn number(&self, id: &str) -> Option<usize> {
        self.numbers.get(id).copied()
    }

    /// The graph in which sessions begin.
    pub fn root(&self) -> Option<&Chart<'g>> {
        self.chart(&self.flow.document.root)
    }

    /// All nodes with their graphs.
    pub fn nodes(&self) -> impl Iterator<Item = (&Chart<'g>, usize, &'g Node)> {
        self.charts.iter().flat_map(|chart| chart.form.nodes.iter().enumerate().map(move |(at, node)| (chart, at, node)))
    }

    /// All templates and expressions with their places.
    pub fn texts(&self) -> impl Iterator<Item = (Place, &Spot<'g>)> {
        let of_graphs =
            self.charts.iter().flat_map(|chart| {
                chart.spots.iter().enumerate().flat_map(move |(at, spots)| {
                    spots.iter().map(move |spot| (Place { path: spot.path.clone(), ..chart.place_of(at) }, spot))
                })
            });
        let of_document =
            self.spots.iter().map(|spot| (Place { path: spot.path.clone(), name: spot.name.clone(), ..Place::default() }, spot));
        of_document.chain(of_graphs)
    }

    /// An element of a list of the document.
    pub fn listed(&self, list: &str, at: usize) -> Place {
        let path = format!("/{list}/{at}");
        let value = self.source.pointer(&path);
        let text = |name: &str| value.and_then(|it| it.get(name)).and_then(Value::as_str).map(str::to_owned);
        Place { name: text("name").or_else(|| text("id")), path, ..Place::default() }
    }
}

impl<'g> Chart<'g> {
    fn of(at: usize, form: &'g GraphForm, graph: GraphRef<'g>, source: &'g Value) -> Chart<'g> {
        let list = |name: &str| source.pointer(&format!("/graphs/{at}/{name}")).and_then(Value::as_array);
        let sources: Vec<&Value> = list("nodes").into_iter().flatten().collect();
        let edges: Vec<&Value> = list("edges").into_iter().flatten().collect();
        let numbers: BTreeMap<&str, usize> = form.nodes.iter().enumerate().map(|(at, it)| (it.id.as_str(), at)).collect();
        let mut next = vec![Vec::new(); form.nodes.len()];
        let mut leaving = next.clone();
        let mut spots: Vec<Vec<Spot<'g>>> =
            sources.iter().enumerate().map(|(node, it)| spot::of_node(it, &format!("/graphs/{at}/nodes/{node}"))).collect();
        for (number, edge) in form.edges.iter().enumerate() {
            let Some(from) = numbers.get(edge.source.as_str()) else { continue };
            leaving.get_mut(*from).into_iter().for_each(|it: &mut Vec<usize>| it.push(number));
            if let (Some(to), Some(next)) = (numbers.get(edge.target.as_str()), next.get_mut(*from)) {
                next.push(*to);
            }
            let condition = edges.get(number).and_then(|it| it.pointer("/condition/expr"));
            if let (Some(spots), Some(condition)) = (spots.get_mut(*from), condition.and_then(Value::as_str)) {
                spots.push(Spot::condition(format!("/graphs/{at}/edges/{number}/condition/expr"), condition, &[]));
            }
        }
        let name = source.pointer(&format!("/graphs/{at}/name")).and_then(Value::as_str);
        let mut chart = Chart { form, graph, sources, edges, leaving, next, reached: Vec::new(), spots, at, name, numbers };
        let fallbacks = form.nodes.iter().enumerate().filter(|it| matches!(it.1.kind, NodeKind::Fallback(_))).map(|it| it.0);
        chart.reached = chart.from(chart.entry().into_iter().chain(fallbacks));
        chart
    }

    /// The number of the entry.
    pub fn entry(&self) -> Option<usize> {
        self.number(&self.form.entry)
    }

    /// The number of a node.
    pub fn number(&self, id: &str) -> Option<usize> {
        self.numbers.get(id).copied()
    }

    /// Which nodes can be reached from some, these among them.
    pub fn from(&self, begin: impl IntoIterator<Item = usize>) -> Vec<bool> {
        reachable(&self.next, begin)
    }

    /// Whether a node can be reached.
    pub fn is_reached(&self, node: usize) -> bool {
        self.reached.get(node).copied().unwrap_or_default()
    }

    /// The graph itself.
    pub fn place(&self) -> Place {
        let name = self.name.unwrap_or(&self.form.id).to_owned();
        Place { path: format!("/graphs/{}", self.at), graph: Some(self.form.id.clone()), node: None, name: Some(name) }
    }

    /// A node.
    pub fn place_of(&self, node: usize) -> Place {
        let form = self.form.nodes.get(node);
        Place {
            path: format!("/graphs/{}/nodes/{node}", self.at),
            graph: Some(self.form.id.clone()),
            node: form.map(|it| it.id.clone()),
            name: form.map(|it| it.name.clone()),
        }
    }

    /// An edge; it belongs to the node that it leaves.
    pub fn edge(&self, number: usize) -> Place {
        let source = self.form.edges.get(number).and_then(|it| self.number(&it.source));
        Place { path: format!("/graphs/{}/edges/{number}", self.at), ..source.map_or_else(|| self.place(), |it| self.place_of(it)) }
    }

    /// A node's member as it is written.
    pub fn data(&self, node: usize, name: &str) -> Option<&'g Value> {
        self.sources.get(node)?.get("data")?.get(name)
    }

    /// Whether a port is wired.
    pub fn wired(&self, node: &Node, port: &str) -> bool {
        self.graph.wired(&node.id, port)
    }

    /// Whether the graph is of a kind.
    pub fn is(&self, kind: GraphKind) -> bool {
        self.form.kind == kind
    }

    /// What a message waits for.
    pub fn awaits(&self, node: &Node) -> Await {
        let NodeKind::Message(data) = &node.kind else { return Await::None };
        let has_buttons = self.graph.ports(&node.id).any(|it| it.starts_with("btn:"));
        match data.waits {
            Some(Await::None) | None if has_buttons => Await::Button,
            None => Await::None,
            Some(waits) => waits,
        }
    }
}

impl Place {
    /// A place within this one.
    pub fn at(&self, rest: &str) -> Place {
        Place { path: format!("{}{rest}", self.path), ..self.clone() }
    }

    /// An error here.
    pub fn error(self, code: &'static str, message: impl Into<String>) -> DocumentIssue {
        let issue = DocumentIssue::error(code, "", message);
        self.put(issue)
    }

    /// A warning here.
    pub fn warning(self, code: &'static str, message: impl Into<String>) -> DocumentIssue {
        let issue = DocumentIssue::warning(code, "", message);
        self.put(issue)
    }

    /// A hint here.
    pub fn info(self, code: &'static str, message: impl Into<String>) -> DocumentIssue {
        let issue = DocumentIssue::info(code, "", message);
        self.put(issue)
    }

    fn put(self, issue: DocumentIssue) -> DocumentIssue {
        DocumentIssue { path: self.path, graph: self.graph, node: self.node, name: self.name, ..issue }
    }
}

/// Which numbers can be reached from some, these among them.
pub(super) fn reachable(next: &[Vec<usize>], begin: impl IntoIterator<Item = usize>) -> Vec<bool> {
    let mut reached = vec![false; next.len()];
    let mut open: Vec<usize> = begin.into_iter().collect();
    while let Some(node) = open.pop() {
        if let Some(seen) = reached.get_mut(node).filter(|it| !**it) {
            *seen = true;
            open.extend(next.get(node).into_iter().flatten());
        }
    }
    reached
}
