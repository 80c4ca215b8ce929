//! What the strings of a document are: its templates, expressions, variables, secrets and the names of other things.
//!
//! Whoever has to find all of a kind (lint, redaction, import, export) walks these instead of knowing where documents have them: the shape
//! of a document says what each string is.

use serde_json::Value;

use super::document::chain::StepDef;
use super::document::{AgentDocument, Document, Node, NodeOf, ProgramKind, WorkflowDocument, WorkflowNodeKind};
use super::shape::{Described, Leaf, Meaning, Shape, Target, walk, walk_names, walk_without};

/// The members that hold graphs, or are one.
const GRAPH_MEMBERS: [&str; 3] = ["graphs", "nodes", "edges"];

/// Returns the strings of a document outside of its graphs.
pub fn document_leaves(kind: ProgramKind, document: &Value) -> Vec<Leaf<'_>> {
    walk_without(&GRAPH_MEMBERS, &shape_of(kind), document, "")
}

/// Returns the strings of a node of a document of a kind; `pointer` is where the node is.
pub fn node_leaves<'v>(kind: ProgramKind, node: &'v Value, pointer: &str) -> Vec<Leaf<'v>> {
    let shape = match kind {
        ProgramKind::Workflow => NodeOf::<WorkflowNodeKind>::SHAPE,
        ProgramKind::Assistant | ProgramKind::Agent => Node::SHAPE,
    };
    walk(&shape, node, pointer)
}

/// Returns the strings of a step of a chain; `pointer` is where the step is.
pub fn step_leaves<'v>(step: &'v Value, pointer: &str) -> Vec<Leaf<'v>> {
    walk(&StepDef::SHAPE, step, pointer)
}

/// Returns the strings by which a document names other things, with what they name, in document order.
///
/// ```
/// use convengine_config::flow::document::ProgramKind;
/// use convengine_config::flow::names_in_document;
/// use convengine_config::flow::shape::Target;
/// use serde_json::json;
///
/// let agent = json!({"doc": "ai_agent", "id": "shop", "tool_names": ["find_order"]});
/// let names = names_in_document(ProgramKind::Agent, &agent);
/// let tool = names.iter().find(|name| name.0 == Target::Tool).ok_or("no tool")?;
/// assert_eq!((tool.1.text, tool.1.pointer.as_str()), ("find_order", "/tool_names/0"));
/// # Ok::<(), &str>(())
/// ```
pub fn names_in_document(kind: ProgramKind, document: &Value) -> Vec<(Target, Leaf<'_>)> {
    let leaves = walk_names(&shape_of(kind), document).into_iter();
    leaves.filter_map(|leaf| if let Meaning::Names(target) = leaf.meaning { Some((target, leaf)) } else { None }).collect()
}

fn shape_of(kind: ProgramKind) -> Shape {
    match kind {
        ProgramKind::Assistant => Document::SHAPE,
        ProgramKind::Workflow => WorkflowDocument::SHAPE,
        ProgramKind::Agent => AgentDocument::SHAPE,
    }
}
