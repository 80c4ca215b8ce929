//! Reads a workflow graph as a document with one graph. (docs/spec/flows.md#9)

use std::collections::BTreeMap;

use convengine_text::expr::Expr;
use serde_json::{Value, json};

use super::fields::Fields;
use super::{Document, EdgeDef, FlowTool, GraphDef, GraphKind, Node, NodeKind};

/// Types that only drafts may hold.
pub const DRAFT_TYPES: [&str; 6] = ["script", "datastore", "set", "human", "parallel", "wait"];

/// The id of the node at which a graph starts that names no other.
const ROOT_AGENT: &str = "root_agent";

/// The maximum depth of workflows that run one another.
const MAX_DEPTH: u64 = 8;

impl Document {
    /// Reads a workflow graph whose structure has been checked; `tools` are those of the workspace.
    pub fn read_workflow(source: &Value, tools: &[Value]) -> Document {
        let fields = Fields(source);
        let id = fields.string("id");
        let mut edges = fields.list("edges", EdgeDef::read);
        for condition in edges.iter_mut().filter_map(|it| it.condition.as_mut()) {
            condition.expr.compiled = Expr::parse_workflow(&condition.expr.source);
        }
        let nodes: Vec<Node> = fields.list("nodes", Node::read_of_workflow).into_iter().flatten().collect();
        let entry = find_entry(fields, &nodes, &edges);
        let settings = fields.object_or_empty("settings");
        let depth = settings.count("max_depth").unwrap_or(MAX_DEPTH).min(MAX_DEPTH);
        let members = json!({
            "max_call_depth": depth,
            "max_steps_per_turn": settings.value("max_steps_per_turn"),
            "error_message": settings.value("error_message"),
        });
        let base = json!({
            "id": id, "name": fields.string("name"), "root": id, "settings": members, "variables": fields.value("shared_state"),
            "default_time_zone": fields.value("default_time_zone"),
        });
        let graph = GraphDef { id, kind: GraphKind::Root, entry, nodes, edges, params: Vec::new(), returns: Vec::new(), exits: Vec::new() };
        let tools = tools.iter().map(|it| FlowTool::read(Fields(it))).collect();
        Document { graphs: vec![graph], tools, ..Document::read(&base) }
    }
}

impl Node {
    /// Reads a node of a workflow graph.
    fn read_of_workflow(fields: Fields<'_>) -> Option<Node> {
        let type_name = fields.text("type").unwrap_or_default();
        if DRAFT_TYPES.contains(&type_name) {
            let node = Node::read(Fields(&json!({"type": "decision", "name": fields.string("name"), "id": fields.string("id")})))?;
            return Some(Node { kind: NodeKind::Draft, type_name: type_name.to_owned(), ..node });
        }
        Node::read(fields)
    }
}

/// The node at which sessions start: the first entry that leads to a node that runs, else the root; empty without one. Every trigger is an
/// entry where none is named.
fn find_entry(fields: Fields<'_>, nodes: &[Node], edges: &[EdgeDef]) -> String {
    let by_id: BTreeMap<&str, &Node> = nodes.iter().map(|it| (it.id.as_str(), it)).collect();
    let leads_on = |entry: &String| {
        let mut at = by_id.get(entry.as_str());
        // Triggers may be connected in a circle.
        for _ in 0..nodes.len() {
            let Some(node) = at.filter(|it| matches!(it.kind, NodeKind::Start(_))) else { break };
            at = edges.iter().find(|it| it.source == node.id).and_then(|it| by_id.get(it.target.as_str()));
        }
        at.is_some_and(|it| !matches!(it.kind, NodeKind::Start(_)))
    };
    let root = fields.text("root").unwrap_or(ROOT_AGENT);
    let root = [root, ROOT_AGENT].into_iter().find(|it| by_id.contains_key(it)).unwrap_or_default();
    let triggers = || nodes.iter().filter(|it| matches!(it.kind, NodeKind::Start(_))).map(|it| it.id.clone()).collect();
    let entries = if fields.value("entries").is_some() { fields.strings("entries") } else { triggers() };
    entries.into_iter().find(leads_on).unwrap_or_else(|| root.to_owned())
}
