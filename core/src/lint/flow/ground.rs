//! The input of the checks: the document with indexes over its graphs.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Around;
use super::spot::{self, Spot};
use super::variables::Writes;
use crate::config::flow::document::{Await, GraphForm, GraphKind, Node, NodeKind};
use crate::config::flow::{DocumentIssue, Flow, GraphRef};

/// A document with its indexes.
pub(super) struct Ground<'g> {
    pub source: &'g Value,
    pub flow: &'g Flow,
    pub around: &'g Around<'g>,
    /// Its graphs, in document order.
    pub graphs: Vec<Chart<'g>>,
    /// Templates and expressions outside of graphs.
    pub document_texts: Vec<Spot<'g>>,
    pub writes: Writes,
    /// The nodes that call a graph, each with the index of its own graph.
    calls: BTreeMap<&'g str, Vec<(usize, &'g Node)>>,
    /// Indexes of graphs by id.
    numbers: BTreeMap<&'g str, usize>,
}

/// A graph with its indexes. Nodes and edges are identified by their position in the document.
pub(super) struct Chart<'g> {
    pub form: &'g GraphForm,
    pub graph: GraphRef<'g>,
    /// The JSON of its nodes.
    pub sources: Vec<&'g Value>,
    /// The JSON of its edges.
    pub edges: Vec<&'g Value>,
    /// The outgoing edges of each node.
    pub leaving: Vec<Vec<usize>>,
    /// The successors of each node.
    pub next: Vec<Vec<usize>>,
    /// Whether each node is reachable from the entry or from a fallback.
    pub reached: Vec<bool>,
    /// Templates and expressions of each node and of its outgoing edges.
    pub texts: Vec<Vec<Spot<'g>>>,
    at: usize,
    name: Option<&'g str>,
    numbers: BTreeMap<&'g str, usize>,
}

/// The location that an issue reports.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    pub path: String,
    pub graph: Option<String>,
    pub node: Option<String>,
    pub name: Option<String>,
}

impl<'g> Ground<'g> {
    /// Indexes a document.
    pub fn of(source: &'g Value, flow: &'g Flow, target: &'g Around<'g>) -> Ground<'g> {
        let of_graph = |(at, form): (usize, &'g GraphForm)| {
            let graph = flow.graph(&form.id)?;
            Some(Chart::of(at, form, graph, source))
        };
        let graphs: Vec<_> = flow.document.graphs.iter().enumerate().filter_map(of_graph).collect();
        let writes = Writes::of(source, flow, &graphs);
        let mut calls: BTreeMap<&str, Vec<(usize, &Node)>> = BTreeMap::new();
        for (number, graph_cx) in graphs.iter().enumerate() {
            for node in &graph_cx.form.nodes {
                if let NodeKind::Subflow(data) = &node.kind {
                    calls.entry(data.graph.as_str()).or_default().push((number, node));
                }
            }
        }
        let numbers = graphs.iter().enumerate().map(|(at, it)| (it.form.id.as_str(), at)).collect();
        Ground { source, flow, around: target, graphs, document_texts: spot::of_document(source), writes, calls, numbers }
    }

    /// Returns a graph by id.
    pub fn chart(&self, id: &str) -> Option<&Chart<'g>> {
        self.graphs.get(*self.numbers.get(id)?)
    }

    /// Returns the nodes that call a graph, with their graphs.
    pub fn callers(&self, id: &str) -> impl Iterator<Item = (&Chart<'g>, &'g Node)> {
        self.calls.get(id).into_iter().flatten().filter_map(|(at, node)| Some((self.graphs.get(*at)?, *node)))
    }

    /// Returns the index of a graph.
    pub fn number(&self, id: &str) -> Option<usize> {
        self.numbers.get(id).copied()
    }

    /// Returns the root graph.
    pub fn root(&self) -> Option<&Chart<'g>> {
        self.chart(&self.flow.document.root)
    }

    /// Returns all nodes with their graphs.
    pub fn nodes(&self) -> impl Iterator<Item = (&Chart<'g>, usize, &'g Node)> {
        self.graphs.iter().flat_map(|graph_cx| graph_cx.form.nodes.iter().enumerate().map(move |(at, node)| (graph_cx, at, node)))
    }

    /// Returns all templates and expressions with their locations.
    pub fn texts(&self) -> impl Iterator<Item = (Place, &Spot<'g>)> {
        let of_graphs =
            self.graphs.iter().flat_map(|graph_cx| {
                graph_cx.texts.iter().enumerate().flat_map(move |(at, texts)| {
                    texts.iter().map(move |text| (Place { path: text.path.clone(), ..graph_cx.place_of(at) }, text))
                })
            });
        let of_document =
            self.document_texts.iter().map(|text| (Place { path: text.path.clone(), name: text.name.clone(), ..Place::default() }, text));
        of_document.chain(of_graphs)
    }

    /// Returns the location of an item of a top-level list.
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
        let mut texts: Vec<Vec<Spot<'g>>> =
            sources.iter().enumerate().map(|(node, it)| spot::of_node(it, &format!("/graphs/{at}/nodes/{node}"))).collect();
        for (number, edge) in form.edges.iter().enumerate() {
            let Some(from) = numbers.get(edge.source.as_str()) else { continue };
            leaving.get_mut(*from).into_iter().for_each(|it: &mut Vec<usize>| it.push(number));
            if let (Some(to), Some(next)) = (numbers.get(edge.target.as_str()), next.get_mut(*from)) {
                next.push(*to);
            }
            let condition = edges.get(number).and_then(|it| it.pointer("/condition/expr"));
            if let (Some(texts), Some(condition)) = (texts.get_mut(*from), condition.and_then(Value::as_str)) {
                texts.push(Spot::condition(format!("/graphs/{at}/edges/{number}/condition/expr"), condition, &[]));
            }
        }
        let name = source.pointer(&format!("/graphs/{at}/name")).and_then(Value::as_str);
        let mut graph_cx = Chart { form, graph, sources, edges, leaving, next, reached: Vec::new(), texts, at, name, numbers };
        let fallbacks = form.nodes.iter().enumerate().filter(|it| matches!(it.1.kind, NodeKind::Fallback(_))).map(|it| it.0);
        graph_cx.reached = graph_cx.from(graph_cx.entry().into_iter().chain(fallbacks));
        graph_cx
    }

    /// Returns the index of the entry node.
    pub fn entry(&self) -> Option<usize> {
        self.number(&self.form.entry)
    }

    /// Returns the index of a node.
    pub fn number(&self, id: &str) -> Option<usize> {
        self.numbers.get(id).copied()
    }

    /// Returns which nodes are reachable from some nodes, including these.
    pub fn from(&self, begin: impl IntoIterator<Item = usize>) -> Vec<bool> {
        reachable(&self.next, begin)
    }

    /// Whether a node is reachable.
    pub fn is_reached(&self, node: usize) -> bool {
        self.reached.get(node).copied().unwrap_or_default()
    }

    /// Returns the location of the graph.
    pub fn place(&self) -> Place {
        let name = self.name.unwrap_or(&self.form.id).to_owned();
        Place { path: format!("/graphs/{}", self.at), graph: Some(self.form.id.clone()), node: None, name: Some(name) }
    }

    /// Returns the location of a node.
    pub fn place_of(&self, node: usize) -> Place {
        let form = self.form.nodes.get(node);
        Place {
            path: format!("/graphs/{}/nodes/{node}", self.at),
            graph: Some(self.form.id.clone()),
            node: form.map(|it| it.id.clone()),
            name: form.map(|it| it.name.clone()),
        }
    }

    /// Returns the location of an edge, which reports its source node.
    pub fn edge(&self, number: usize) -> Place {
        let source = self.form.edges.get(number).and_then(|it| self.number(&it.source));
        Place { path: format!("/graphs/{}/edges/{number}", self.at), ..source.map_or_else(|| self.place(), |it| self.place_of(it)) }
    }

    /// Returns the JSON of a `data` member of a node.
    pub fn data(&self, node: usize, name: &str) -> Option<&'g Value> {
        self.sources.get(node)?.get("data")?.get(name)
    }

    /// Whether a port is connected.
    pub fn wired(&self, node: &Node, port: &str) -> bool {
        self.graph.wired(&node.id, port)
    }

    /// Whether the graph is of a kind.
    pub fn is(&self, kind: GraphKind) -> bool {
        self.form.kind == kind
    }

    /// Returns what a message node waits for.
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
    /// Returns the location at a JSON Pointer suffix.
    pub fn at(&self, rest: &str) -> Place {
        Place { path: format!("{}{rest}", self.path), ..self.clone() }
    }

    /// Creates an error at this location.
    pub fn error(self, code: &'static str, message: impl Into<String>) -> DocumentIssue {
        let issue = DocumentIssue::error(code, "", message);
        self.put(issue)
    }

    /// Creates a warning at this location.
    pub fn warning(self, code: &'static str, message: impl Into<String>) -> DocumentIssue {
        let issue = DocumentIssue::warning(code, "", message);
        self.put(issue)
    }

    /// Creates an informational issue at this location.
    pub fn info(self, code: &'static str, message: impl Into<String>) -> DocumentIssue {
        let issue = DocumentIssue::info(code, "", message);
        self.put(issue)
    }

    fn put(self, issue: DocumentIssue) -> DocumentIssue {
        DocumentIssue { path: self.path, graph: self.graph, node: self.node, name: self.name, ..issue }
    }
}

/// Returns which nodes are reachable from some nodes, including these.
pub(super) fn reachable(next: &[Vec<usize>], begin: impl IntoIterator<Item = usize>) -> Vec<bool> {
    let mut reached = vec![false; next.len()];
    let mut stack: Vec<usize> = begin.into_iter().collect();
    while let Some(node) = stack.pop() {
        if let Some(seen) = reached.get_mut(node).filter(|it| !**it) {
            *seen = true;
            stack.extend(next.get(node).into_iter().flatten());
        }
    }
    reached
}
