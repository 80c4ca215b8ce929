//! The input of the checks: the document with indexes over its graphs.

use std::collections::BTreeMap;

use convengine_config::flow::document::{GraphDef, GraphKind, Node, NodeKind, ProgramKind};
use convengine_config::flow::{DocumentIssue, Flow, GraphRef};
use serde_json::Value;

use super::PublishTarget;
use super::source_text::{self, SourceText};
use super::variable_writes::Writes;

/// A document with its indexes.
pub(super) struct FlowContext<'g> {
    pub source: &'g Value,
    pub flow: &'g Flow,
    pub target: &'g PublishTarget<'g>,
    /// Its graphs, in document order.
    pub graphs: Vec<GraphContext<'g>>,
    /// Templates and expressions outside of graphs.
    pub document_texts: Vec<SourceText<'g>>,
    pub writes: Writes,
    /// The nodes that call a graph, each with the index of its own graph.
    calls_by_graph: BTreeMap<&'g str, Vec<(usize, &'g Node)>>,
    /// Indexes of graphs by id.
    graph_indexes: BTreeMap<&'g str, usize>,
}

/// A graph with its indexes. Nodes and edges are identified by their position in the document.
pub(super) struct GraphContext<'g> {
    pub definition: &'g GraphDef,
    pub graph: GraphRef<'g>,
    /// The JSON of its nodes.
    pub node_values: Vec<&'g Value>,
    /// The JSON of its edges.
    pub edge_values: Vec<&'g Value>,
    /// The outgoing edges of each node.
    pub outgoing_edges: Vec<Vec<usize>>,
    /// The successors of each node.
    pub successors: Vec<Vec<usize>>,
    /// Whether each node is reachable from the entry or from a fallback.
    pub reachable_nodes: Vec<bool>,
    /// Templates and expressions of each node and of its outgoing edges.
    pub texts: Vec<Vec<SourceText<'g>>>,
    position: usize,
    name: Option<&'g str>,
    node_indexes: BTreeMap<&'g str, usize>,
}

/// The location that an issue reports.
#[derive(Debug, Clone, Default)]
pub(super) struct Location {
    pub path: String,
    pub graph: Option<String>,
    pub node: Option<String>,
    pub name: Option<String>,
}

impl<'g> FlowContext<'g> {
    /// Indexes a document.
    pub fn new(source: &'g Value, flow: &'g Flow, target: &'g PublishTarget<'g>) -> FlowContext<'g> {
        let of_graph = |(at, definition): (usize, &'g GraphDef)| {
            let graph = flow.graph(&definition.id)?;
            Some(GraphContext::new(at, definition, graph, source, flow.kind))
        };
        let graphs: Vec<_> = flow.document.graphs.iter().enumerate().filter_map(of_graph).collect();
        let writes = Writes::new(source, flow, &graphs);
        let mut calls_by_graph: BTreeMap<&str, Vec<(usize, &Node)>> = BTreeMap::new();
        for (number, graph_cx) in graphs.iter().enumerate() {
            for node in &graph_cx.definition.nodes {
                if let NodeKind::Subflow(data) = &node.kind {
                    calls_by_graph.entry(data.graph.as_str()).or_default().push((number, node));
                }
            }
        }
        let graph_indexes = graphs.iter().enumerate().map(|(at, graph_cx)| (graph_cx.definition.id.as_str(), at)).collect();
        FlowContext {
            source,
            flow,
            target,
            graphs,
            document_texts: source_text::document_texts(flow.kind, source),
            writes,
            calls_by_graph,
            graph_indexes,
        }
    }

    /// Returns a graph by id.
    pub fn graph(&self, id: &str) -> Option<&GraphContext<'g>> {
        self.graphs.get(*self.graph_indexes.get(id)?)
    }

    /// Returns the nodes that call a graph, with their graphs.
    pub fn callers(&self, id: &str) -> impl Iterator<Item = (&GraphContext<'g>, &'g Node)> {
        self.calls_by_graph.get(id).into_iter().flatten().filter_map(|(at, node)| Some((self.graphs.get(*at)?, *node)))
    }

    /// Returns the index of a graph.
    pub fn graph_index(&self, id: &str) -> Option<usize> {
        self.graph_indexes.get(id).copied()
    }

    /// Returns the root graph.
    pub fn root_graph(&self) -> Option<&GraphContext<'g>> {
        self.graph(&self.flow.document.root)
    }

    /// Returns all nodes with their graphs.
    pub fn nodes(&self) -> impl Iterator<Item = (&GraphContext<'g>, usize, &'g Node)> {
        self.graphs.iter().flat_map(|graph_cx| graph_cx.definition.nodes.iter().enumerate().map(move |(at, node)| (graph_cx, at, node)))
    }

    /// Returns all templates and expressions with their locations.
    pub fn all_texts(&self) -> impl Iterator<Item = (Location, &SourceText<'g>)> {
        let of_graphs = self.graphs.iter().flat_map(|graph_cx| {
            graph_cx.texts.iter().enumerate().flat_map(move |(at, texts)| {
                texts.iter().map(move |text| (Location { path: text.path.clone(), ..graph_cx.node_location(at) }, text))
            })
        });
        let of_document = self
            .document_texts
            .iter()
            .map(|text| (Location { path: text.path.clone(), name: text.owner_name.clone(), ..Location::default() }, text));
        of_document.chain(of_graphs)
    }

    /// Returns the location of an item of a top-level list.
    pub fn item_location(&self, list: &str, at: usize) -> Location {
        let path = format!("/{list}/{at}");
        let value = self.source.pointer(&path);
        let text = |name: &str| value.and_then(|value| value.get(name)).and_then(Value::as_str).map(str::to_owned);
        Location { name: text("name").or_else(|| text("id")), path, ..Location::default() }
    }
}

impl<'g> GraphContext<'g> {
    fn new(at: usize, definition: &'g GraphDef, graph: GraphRef<'g>, source: &'g Value, kind: ProgramKind) -> GraphContext<'g> {
        let list = |name: &str| source.pointer(&format!("/graphs/{at}/{name}")).and_then(Value::as_array);
        let sources: Vec<&Value> = list("nodes").into_iter().flatten().collect();
        let edges: Vec<&Value> = list("edges").into_iter().flatten().collect();
        let numbers: BTreeMap<&str, usize> = definition.nodes.iter().enumerate().map(|(at, it)| (it.id.as_str(), at)).collect();
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); definition.nodes.len()];
        let mut leaving = next.clone();
        let mut texts: Vec<Vec<SourceText<'g>>> = sources
            .iter()
            .enumerate()
            .map(|(node, source)| source_text::node_texts(kind, source, &format!("/graphs/{at}/nodes/{node}")))
            .collect();
        for (number, edge) in definition.edges.iter().enumerate() {
            let Some(from) = numbers.get(edge.source.as_str()) else { continue };
            if let Some(leaving) = leaving.get_mut(*from) {
                leaving.push(number);
            }
            if let (Some(to), Some(next)) = (numbers.get(edge.target.as_str()), next.get_mut(*from)) {
                next.push(*to);
            }
            let condition = edges.get(number).and_then(|it| it.pointer("/condition/expr"));
            if let (Some(texts), Some(condition)) = (texts.get_mut(*from), condition.and_then(Value::as_str)) {
                let path = format!("/graphs/{at}/edges/{number}/condition/expr");
                texts.push(SourceText::from_edge(path, condition, kind));
            }
        }
        let name = source.pointer(&format!("/graphs/{at}/name")).and_then(Value::as_str);
        let mut graph_cx = GraphContext {
            definition,
            graph,
            node_values: sources,
            edge_values: edges,
            outgoing_edges: leaving,
            successors: next,
            reachable_nodes: Vec::new(),
            texts,
            position: at,
            name,
            node_indexes: numbers,
        };
        let fallbacks = definition.nodes.iter().enumerate().filter(|(_, node)| matches!(node.kind, NodeKind::Fallback(_))).map(|it| it.0);
        graph_cx.reachable_nodes = graph_cx.reachable_from(graph_cx.entry_index().into_iter().chain(fallbacks));
        graph_cx
    }

    /// Returns the index of the entry node.
    pub fn entry_index(&self) -> Option<usize> {
        self.node_index(&self.definition.entry)
    }

    /// Returns the index of a node.
    pub fn node_index(&self, id: &str) -> Option<usize> {
        self.node_indexes.get(id).copied()
    }

    /// Returns which nodes are reachable from some nodes, including these.
    pub fn reachable_from(&self, begin: impl IntoIterator<Item = usize>) -> Vec<bool> {
        find_reachable(&self.successors, begin)
    }

    /// Whether a node is reachable.
    pub fn is_reachable(&self, node: usize) -> bool {
        self.reachable_nodes.get(node).copied().unwrap_or_default()
    }

    /// Returns the location of the graph.
    pub fn location(&self) -> Location {
        let name = self.name.unwrap_or(&self.definition.id).to_owned();
        Location { path: format!("/graphs/{}", self.position), graph: Some(self.definition.id.clone()), node: None, name: Some(name) }
    }

    /// Returns the location of a node.
    pub fn node_location(&self, node: usize) -> Location {
        let definition = self.definition.nodes.get(node);
        Location {
            path: format!("/graphs/{}/nodes/{node}", self.position),
            graph: Some(self.definition.id.clone()),
            node: definition.map(|it| it.id.clone()),
            name: definition.map(|it| it.name.clone()),
        }
    }

    /// Returns the location of an edge, which reports its source node.
    pub fn edge_location(&self, number: usize) -> Location {
        let source = self.definition.edges.get(number).and_then(|it| self.node_index(&it.source));
        Location {
            path: format!("/graphs/{}/edges/{number}", self.position),
            ..source.map_or_else(|| self.location(), |it| self.node_location(it))
        }
    }

    /// Returns the JSON of a `data` member of a node.
    pub fn node_data(&self, node: usize, name: &str) -> Option<&'g Value> {
        self.node_values.get(node)?.get("data")?.get(name)
    }

    /// Whether a port is connected.
    pub fn is_wired(&self, node: &Node, port: &str) -> bool {
        self.graph.is_wired(&node.id, port)
    }

    /// Whether the graph is of a kind.
    pub fn is_kind(&self, kind: GraphKind) -> bool {
        self.definition.kind == kind
    }
}

impl Location {
    /// Returns the location at a JSON Pointer suffix.
    pub fn join(&self, rest: &str) -> Location {
        Location { path: format!("{}{rest}", self.path), ..self.clone() }
    }

    /// Creates an error at this location.
    pub fn error(self, code: &'static str, message: impl Into<String>) -> DocumentIssue {
        let issue = DocumentIssue::error(code, "", message);
        self.attach(issue)
    }

    /// Creates a warning at this location.
    pub fn warning(self, code: &'static str, message: impl Into<String>) -> DocumentIssue {
        let issue = DocumentIssue::warning(code, "", message);
        self.attach(issue)
    }

    /// Creates an informational issue at this location.
    pub fn info(self, code: &'static str, message: impl Into<String>) -> DocumentIssue {
        let issue = DocumentIssue::info(code, "", message);
        self.attach(issue)
    }

    fn attach(self, issue: DocumentIssue) -> DocumentIssue {
        DocumentIssue { path: self.path, graph: self.graph, node: self.node, name: self.name, ..issue }
    }
}

/// Returns which nodes are reachable from some nodes, including these.
pub(super) fn find_reachable(next: &[Vec<usize>], begin: impl IntoIterator<Item = usize>) -> Vec<bool> {
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

/// Sets the entry of a graph or a node in a list that has one for each.
pub(super) fn set<T>(entries: &mut [T], index: usize, value: T) {
    if let Some(entry) = entries.get_mut(index) {
        *entry = value;
    }
}
