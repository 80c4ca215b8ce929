//! Reads a workflow graph as a document with one graph. (docs/spec/flows.md#9)

use std::collections::BTreeMap;

use convengine_derive::Described;
use convengine_text::expr::Expr;
use convengine_text::variable_path::VariablePath;
use convengine_turn::Map;
use serde_json::Value;

use super::super::shape::{Absent, Described, Unread};
use super::node::{NodeOf, WorkflowNodeKind};
use super::{Document, EdgeDef, FlowSettings, FlowTool, GraphDef, GraphKind, LocalizedText, Node, NodeKind, OnError, Variable};

/// The id of the node at which a graph starts that names no other.
const ROOT_AGENT: &str = "root_agent";

/// The maximum depth of workflows that run one another.
const MAX_DEPTH: usize = 8;

/// A workflow graph.
#[derive(Debug, Clone, Described)]
#[described(definition = "WorkflowGraph")]
pub struct WorkflowDocument {
    /// The version of the format.
    #[member(required, shape = SCHEMA_VERSION)]
    pub schema_version: Unread<String>,
    /// The kind of the document.
    #[member(required, shape = Const("workflow_graph", "D001"))]
    pub doc: Unread<String>,
    /// Its id.
    #[member(required, shape = ID)]
    id: String,
    /// Its name.
    #[member(required, shape = NAME)]
    name: String,
    /// The time zone of sessions without one, by its IANA name.
    #[member(shape = PatternText(Pattern::TimeZone))]
    default_time_zone: Option<String>,
    /// The node at which sessions start when no entry leads to one.
    #[member(shape = ID, default = "root_agent", meaning = Names(Node))]
    root: String,
    /// The nodes at which sessions start; every trigger without it.
    #[member(each = ID, meaning = Names(Node))]
    entries: Option<Vec<String>>,
    /// The declared variables.
    shared_state: Vec<Variable>,
    /// The variables that public sessions may set.
    pub inputs: Unread<Vec<VariablePath>>,
    /// Its settings.
    settings: WorkflowSettings,
    /// Metadata for tools; ignored by the engine.
    pub meta: Option<Unread<Map>>,
    /// Its edges.
    #[member(required, items(0, 2000), unique = Id, codes("D001", "D005"))]
    edges: Vec<EdgeDef>,
    /// Its nodes.
    #[member(required, items(1, 500), unique = IdAndName, codes("D001", "D005"))]
    nodes: Vec<NodeOf<WorkflowNodeKind>>,
}

/// Settings of a workflow graph.
#[derive(Debug, Clone, Described)]
struct WorkflowSettings {
    /// Maximum number of nodes that a turn may enter.
    #[member(shape = Integer(1, 64), codes("D001", "B005"), default = 64)]
    max_steps_per_turn: u32,
    /// Maximum depth of workflows that run one another.
    #[member(shape = Integer(1, 8), default = 8)]
    max_depth: usize,
    /// The message for unhandled failures.
    error_message: Option<LocalizedText>,
}

impl Document {
    /// Reads a workflow graph whose structure has been checked; `tools` are those of the workspace.
    pub fn read_workflow(source: &Value, tools: &[Value]) -> Document {
        let workflow = WorkflowDocument::read(source).unwrap_or_else(WorkflowDocument::absent);
        let mut edges = workflow.edges;
        for condition in edges.iter_mut().filter_map(|it| it.condition.as_mut()) {
            condition.expr.compiled = Expr::parse_workflow(&condition.expr.source);
        }
        let mut nodes: Vec<Node> = workflow.nodes.into_iter().map(NodeOf::convert).collect();
        // They fail, whatever they say.
        for node in nodes.iter_mut().filter(|node| matches!(node.kind, NodeKind::Draft(_))) {
            (node.disabled, node.on_error) = (false, OnError::default());
        }
        let entry = find_entry(&workflow.root, workflow.entries, &nodes, &edges);
        let id = workflow.id;
        let mut tools = Vec::<FlowTool>::read(&Value::from(tools)).unwrap_or_default();
        tools.iter_mut().for_each(FlowTool::normalize);
        let base = Document::absent();
        Document {
            graphs: vec![GraphDef { id: id.clone(), kind: GraphKind::Root, entry, nodes, edges, ..GraphDef::absent() }],
            tools,
            root: id.clone(),
            id,
            name: workflow.name,
            default_time_zone: workflow.default_time_zone,
            variables: workflow.shared_state,
            settings: FlowSettings {
                max_call_depth: workflow.settings.max_depth.min(MAX_DEPTH),
                max_steps_per_turn: workflow.settings.max_steps_per_turn,
                error_message: workflow.settings.error_message,
                ..base.settings
            },
            ..base
        }
    }
}

/// The node at which sessions start: the first entry that leads to a node that runs, else the root; empty without one. Every trigger is an
/// entry where none is named.
fn find_entry(root: &str, entries: Option<Vec<String>>, nodes: &[Node], edges: &[EdgeDef]) -> String {
    let by_id: BTreeMap<&str, &Node> = nodes.iter().map(|it| (it.id.as_str(), it)).collect();
    let leads_on = |entry: &String| {
        let mut at = by_id.get(entry.as_str());
        // Triggers may be connected in a circle.
        for _ in 0..nodes.len() {
            let Some(node) = at.filter(|node| matches!(node.kind, NodeKind::Start(_))) else { break };
            at = edges.iter().find(|edge| edge.source == node.id).and_then(|edge| by_id.get(edge.target.as_str()));
        }
        at.is_some_and(|node| !matches!(node.kind, NodeKind::Start(_)))
    };
    let root = [root, ROOT_AGENT].into_iter().find(|it| by_id.contains_key(it)).unwrap_or_default();
    let triggers = || nodes.iter().filter(|node| matches!(node.kind, NodeKind::Start(_))).map(|node| node.id.clone()).collect();
    entries.unwrap_or_else(triggers).into_iter().find(leads_on).unwrap_or_else(|| root.to_owned())
}
