//! A compiled flow document, with its graphs, nodes, edges and entities indexed by id.

use std::collections::BTreeMap;

use convengine_text::expr::Expr;
use convengine_text::marked_phrase::{MarkedPhrase, without_marks};
use convengine_text::phrase::Phrase;
use convengine_text::variable_path::VariablePath;
use convengine_understanding::entity::Entity;
use convengine_understanding::lexical::LazyClassifier;
use serde_json::Value;

use super::bound::{BoundFlow, Bundle, read_document};
use super::document::{
    Await, Document, EdgeCondition, EdgeDef, EntityData, EntityDef, FlowCondition, FlowTool, GraphDef, IntentDef, Node, NodeKind,
    ProgramData, ProgramKind,
};
use super::redaction;

/// Codes of issues that make a document unreadable, so that even a draft is rejected. (docs/spec/flows-http.md#2) All others are for
/// publishing: a draft with them compiles.
pub const UNREADABLE_CODES: [&str; 5] = ["D001", "D002", "D004", "D005", "D006"];

/// A compiled flow document, workflow graph or AI agent, with its indexes. Turns borrow from it, so it is shared with its
/// [`Config`](crate::Config).
///
/// ```
/// use convengine_config::flow::Flow;
/// use serde_json::json;
///
/// let document = json!({
///     "schema_version": "1.0", "doc": "conversation_flow", "id": "hello", "name": "Hello", "root": "root",
///     "graphs": [{
///         "id": "root", "kind": "root", "entry": "start",
///         "nodes": [
///             {"id": "start", "type": "start", "name": "Start", "data": {}},
///             {"id": "end", "type": "end", "name": "End", "data": {"final_message": "Bye."}},
///         ],
///         "edges": [{"id": "e1", "source": "start", "target": "end"}],
///     }],
/// });
/// let flow = Flow::compile(&document)?;
/// let graph = flow.graph("root").ok_or("no graph")?;
/// let targets: Vec<&str> = graph.edges("start", "out").map(|edge| edge.target.as_str()).collect();
/// assert_eq!(targets, ["end"], "an edge without a port leaves by 'out'");
/// assert!(flow.node("root", "end").is_some() && flow.node("root", "fin").is_none());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone)]
pub struct Flow {
    /// The kind of the document.
    pub kind: ProgramKind,
    /// The document.
    pub document: Document,
    /// The documents that it runs, directly or not.
    bound: Vec<BoundFlow>,
    /// Graphs by id.
    graphs: BTreeMap<String, GraphIndex>,
    /// Entities by id; `None` for one that does not compile.
    entities: BTreeMap<String, Option<Entity>>,
    /// Phrases of each intent, in document order.
    pub phrases: Vec<IntentPhrases>,
    /// Patterns of each small talk entry, in document order.
    pub small_talk_patterns: Vec<Vec<Phrase>>,
    /// Variables whose values are redacted in logs.
    redacted: Vec<VariablePath>,
    /// The classifier of the intents.
    pub(super) classifier: LazyClassifier,
}

/// The index of a graph.
#[derive(Debug, Clone)]
pub struct GraphIndex {
    position: usize,
    nodes: BTreeMap<String, usize>,
    /// Edges by node and port, in evaluation order.
    edges: BTreeMap<String, BTreeMap<String, Vec<usize>>>,
}

/// The compiled phrases of an intent.
#[derive(Debug, Clone)]
pub struct IntentPhrases {
    /// Phrases that match the intent, without their marks.
    pub positive: Vec<Phrase>,
    /// The marks of these phrases, if they have any.
    pub marked: Vec<Option<MarkedPhrase>>,
    /// Phrases that rule the intent out.
    pub negative: Vec<Phrase>,
}

/// A graph of a document with its index.
#[derive(Debug, Clone, Copy)]
pub struct GraphRef<'f> {
    /// The graph.
    pub definition: &'f GraphDef,
    index: &'f GraphIndex,
}

/// Returns the variable of an agent's memory, by the place of its node.
pub fn agent_memory_variable_of(place: &str) -> String {
    format!("_agent_memory_{place}")
}

impl Flow {
    /// Compiles a document, alone or with those that it is bound to: `{"root", "bound": [{"version"?, "document"}], "tools"}`. Only issues
    /// that make it unreadable are errors; publishing reports the others.
    ///
    /// # Errors
    /// The first issue that makes a document unreadable.
    pub fn compile(source: &Value) -> Result<Flow, String> {
        let bundle = Bundle::new(source);
        let mut flow = Flow::compile_document(bundle.root, bundle.tools)?;
        for (version, document) in bundle.bound {
            flow.bound.push(BoundFlow { version, flow: Flow::compile_document(document, bundle.tools)? });
        }
        Ok(flow)
    }

    pub(super) fn compile_document(source: &Value, tools: &[Value]) -> Result<Flow, String> {
        let issues = match super::document_kind(source) {
            Some(ProgramKind::Workflow) => super::check_workflow_structure(source),
            Some(ProgramKind::Agent) => super::check_agent_structure(source),
            Some(ProgramKind::Assistant) | None => super::check_structure(source),
        };
        if let Some(issue) = issues.into_iter().find(|it| UNREADABLE_CODES.contains(&it.code)) {
            return Err(issue.to_string());
        }
        let (kind, mut document) = read_document(source, tools);
        document.graphs.iter_mut().for_each(normalize_decision_ports);
        let locale = document.default_locale.clone();
        let phrases = |texts: &[String]| texts.iter().map(|text| Phrase::new(text, &locale)).collect::<Vec<_>>();
        let of_intent = |intent: &IntentDef| IntentPhrases {
            positive: intent.phrases.iter().map(|phrase| Phrase::new(&without_marks(phrase), &locale)).collect(),
            marked: intent.phrases.iter().map(|phrase| MarkedPhrase::parse(phrase, &locale)).collect(),
            negative: phrases(&intent.negative_phrases),
        };
        Ok(Flow {
            kind,
            bound: Vec::new(),
            graphs: document.graphs.iter().enumerate().map(|(at, graph)| (graph.id.clone(), GraphIndex::new(at, graph))).collect(),
            entities: document
                .entities
                .iter()
                .map(|entity| (entity.id.clone(), compile_entity(entity, &document.default_locale)))
                .collect(),
            phrases: document.intents.iter().map(of_intent).collect(),
            small_talk_patterns: document.small_talk.iter().map(|it| phrases(&it.patterns)).collect(),
            redacted: redaction::redacted_variables(&document),
            classifier: LazyClassifier::default(),
            document,
        })
    }

    /// Returns the variables whose values are redacted in logs.
    pub fn redacted_variables(&self) -> &[VariablePath] {
        &self.redacted
    }

    /// Returns the documents that it runs, directly or not.
    pub fn bound(&self) -> &[BoundFlow] {
        &self.bound
    }

    /// Returns the document that a node of it, or of one that it runs, is bound to.
    pub fn find_bound(&self, data: &ProgramData) -> Option<&Flow> {
        self.bound.iter().find(|it| it.is_target(data)).map(|it| &it.flow)
    }

    /// Returns a graph by id.
    pub fn graph(&self, id: &str) -> Option<GraphRef<'_>> {
        let index = self.graphs.get(id)?;
        Some(GraphRef { definition: self.document.graphs.get(index.position)?, index })
    }

    /// Returns a node by graph and id.
    pub fn node(&self, graph: &str, id: &str) -> Option<&Node> {
        self.graph(graph)?.node(id)
    }

    /// Returns the variable of an agent's memory: by the node's id where only one graph has it, else also by the graph's.
    pub fn agent_memory_variable(&self, graph: &str, node: &str) -> String {
        let is_unique = self.graphs.values().filter(|it| it.nodes.contains_key(node)).count() <= 1;
        if is_unique { agent_memory_variable_of(node) } else { agent_memory_variable_of(&format!("{graph}/{node}")) }
    }

    /// Returns an intent by id.
    pub fn intent(&self, id: &str) -> Option<&IntentDef> {
        self.document.intents.iter().find(|it| it.id == id)
    }

    /// Returns a system entity, or an entity of the document that compiles.
    pub fn compile_entity(&self, name: &str) -> Option<Entity> {
        Entity::from_system_name(name).or_else(|| self.entities.get(name).cloned().flatten())
    }

    /// Returns the type of a slot's values.
    pub fn compile_slot_entity(&self, slot: &EntityData) -> Option<Entity> {
        let entity = self.compile_entity(&slot.entity)?.with_day_options(slot.day_options);
        Some(if slot.multiple { entity.several() } else { entity })
    }

    /// Returns a tool by id.
    pub fn tool(&self, id: &str) -> Option<&FlowTool> {
        self.document.tools.iter().find(|it| it.id == id)
    }
}

impl<'f> GraphRef<'f> {
    /// Returns a node by id.
    pub fn node(&self, id: &str) -> Option<&'f Node> {
        self.definition.nodes.get(*self.index.nodes.get(id)?)
    }

    /// Iterates over the edges that leave a port, in evaluation order: by priority, with default edges last.
    pub fn edges(&self, node: &str, port: &str) -> impl Iterator<Item = &'f EdgeDef> + use<'f> {
        let (definition, index) = (self.definition, self.index);
        let at = index.edges.get(node).and_then(|ports| ports.get(port));
        at.into_iter().flatten().filter_map(move |it| definition.edges.get(*it))
    }

    /// Whether any edge leaves a port.
    pub fn is_wired(&self, node: &str, port: &str) -> bool {
        self.edges(node, port).next().is_some()
    }

    /// Iterates over the ports of a node that have edges.
    pub fn ports(&self, node: &str) -> impl Iterator<Item = &'f str> + use<'f> {
        let index = self.index;
        index.edges.get(node).into_iter().flat_map(|ports| ports.keys().map(String::as_str))
    }

    /// What a message node waits for: its buttons also if only its edges say so.
    pub fn await_mode(&self, node: &Node) -> Await {
        let NodeKind::Message(data) = &node.kind else { return Await::None };
        let has_buttons = self.ports(&node.id).any(|it| it.starts_with("btn:"));
        match data.await_mode {
            Some(Await::None) | None if has_buttons => Await::Button,
            None => Await::None,
            Some(waits) => waits,
        }
    }
}

impl GraphIndex {
    fn new(position: usize, definition: &GraphDef) -> GraphIndex {
        let mut edges: BTreeMap<String, BTreeMap<String, Vec<usize>>> = BTreeMap::new();
        for (at, edge) in definition.edges.iter().enumerate() {
            edges.entry(edge.source.clone()).or_default().entry(edge.source_port.clone()).or_default().push(at);
        }
        let order = |at: &usize| definition.edges.get(*at).map(|edge| (edge.is_default(), edge.priority));
        edges.values_mut().flat_map(BTreeMap::values_mut).for_each(|it| it.sort_by_key(order));
        GraphIndex { position, nodes: definition.nodes.iter().enumerate().map(|(at, it)| (it.id.clone(), at)).collect(), edges }
    }
}

impl EdgeDef {
    /// Whether it is the default, taken when no other edge is.
    pub fn is_default(&self) -> bool {
        let always = |condition: &EdgeCondition| condition.expr.compiled.as_ref().is_ok_and(Expr::is_default);
        self.condition.as_ref().is_none_or(always)
    }
}

fn compile_entity(definition: &EntityDef, locale: &str) -> Option<Entity> {
    if definition.kind == "list" {
        let entries: Vec<_> = definition.entries.iter().map(|entry| (entry.value.clone(), entry.other_spellings())).collect();
        return Some(
            Entity::from_entries(&entries, definition.fuzzy.max_edits, locale).with_negative_phrases(&definition.negative_phrases),
        );
    }
    let patterns = Entity::from_patterns(&definition.patterns, definition.group.as_deref(), definition.ignores_case).ok()?;
    Some(patterns.with_negative_phrases(&definition.negative_phrases))
}

/// Rewrites the ports `yes` and `no` of decisions as edges of `out` with the condition and its negation.
fn normalize_decision_ports(graph: &mut GraphDef) {
    for node in graph.nodes.iter().filter(|node| matches!(node.kind, NodeKind::Decision(_))) {
        let of_port = |edge: &EdgeDef, port: &str| edge.source == node.id && edge.source_port == port;
        let conditions = ["yes", "no"].map(|port| {
            graph
                .edges
                .iter()
                .find(|edge| of_port(edge, port))
                .and_then(|edge| edge.condition.as_ref())
                .map(|condition| condition.expr.source.clone())
        });
        for (at, port) in ["yes", "no"].into_iter().enumerate() {
            let other = conditions.get(1 - at).cloned().flatten();
            for edge in graph.edges.iter_mut().filter(|edge| edge.source == node.id && edge.source_port == port) {
                "out".clone_into(&mut edge.source_port);
                if edge.condition.is_none() {
                    let negated =
                        other.as_ref().map(|it| format!("!({it})")).map(|source| FlowCondition { compiled: Expr::parse(&source), source });
                    // Without a condition that can be negated, the edge is the default.
                    edge.condition = negated.filter(|it| it.compiled.is_ok()).map(|expr| EdgeCondition { expr });
                }
            }
        }
    }
}
