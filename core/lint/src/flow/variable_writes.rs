//! The writes of variables in a document, and their types.

use std::collections::BTreeMap;

use convengine_config::flow::Flow;
use convengine_config::flow::document::{FlowTool, OutputMapping, ValueType};
use convengine_text::variable_path::VariablePath;
use serde_json::Value;

use super::context::GraphContext;

/// Roots that are not variables.
const OTHER_ROOTS: [&str; 4] = ["event", "system", "user", "intent"];

/// The type of a variable of which nothing is known.
const UNKNOWN_TYPE: Option<ValueType> = None;

/// A write of a variable.
#[derive(Debug, Clone)]
pub(super) struct Write {
    /// The index of the graph; `None` if it can happen at any time.
    pub graph: Option<usize>,
    /// The index of the node; `None` if it happens at the start of the graph.
    pub node: Option<usize>,
    /// The type of the value, if it is certain.
    pub kind: Option<ValueType>,
    path: VariablePath,
}

/// All writes of a document, by the first name of their paths.
#[derive(Debug, Default)]
pub(super) struct Writes {
    by_name: BTreeMap<String, Vec<Write>>,
    /// Whether a script may write variables that it does not declare.
    pub has_undeclared: bool,
}

impl Writes {
    /// Collects the writes of a document.
    pub fn new(source: &Value, flow: &Flow, graphs: &[GraphContext<'_>]) -> Writes {
        let mut writes = Writes::default();
        let returns = graphs.iter().flat_map(|it| &it.node_values).any(|node| node.pointer("/data/mode") == Some(&Value::from("return")));
        for (at, variable) in flow.document.variables.iter().enumerate() {
            // Variables of the scope `user` may have values from earlier sessions.
            let is_user_scoped = || source.pointer(&format!("/variables/{at}/scope")).and_then(Value::as_str) == Some("user");
            if variable.default.is_some() || returns || is_user_scoped() || is_input(source, at) {
                writes.insert(&variable.name, None, None, Some(variable.kind));
            }
        }
        for path in source.get("inputs").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            if let Ok(path) = VariablePath::parse(path) {
                writes.insert(&path, None, None, UNKNOWN_TYPE);
            }
        }
        for parameter in flow.document.intents.iter().flat_map(|it| &it.parameters) {
            writes.insert(&parameter.variable, None, None, ValueType::of_entity(&parameter.entity));
        }
        for (number, graph_cx) in graphs.iter().enumerate() {
            for param in &graph_cx.definition.params {
                writes.insert(&param.name, Some(number), None, param.kind);
            }
            for (at, node) in graph_cx.definition.nodes.iter().enumerate() {
                match node.kind.data().writes(&flow.document) {
                    Some(written) => written.iter().for_each(|write| writes.insert(&write.variable, Some(number), Some(at), write.kind)),
                    None => writes.has_undeclared = true,
                }
            }
        }
        writes
    }

    fn insert(&mut self, path: &VariablePath, graph: Option<usize>, node: Option<usize>, kind: Option<ValueType>) {
        let write = Write { graph, node, kind, path: path.clone() };
        self.by_name.entry(path.first_name().to_owned()).or_default().push(write);
    }

    /// Returns the writes of a variable, of its parts and of its parents.
    pub fn for_variable<'w>(&'w self, path: &'w VariablePath) -> impl Iterator<Item = &'w Write> {
        self.by_name
            .get(path.first_name())
            .into_iter()
            .flatten()
            .filter(|write| write.path.starts_with(path) || path.starts_with(&write.path))
    }

    /// Returns the type of a variable, if all writes agree.
    pub fn value_type(&self, path: &VariablePath) -> Option<ValueType> {
        let mut kinds = self.for_variable(path).map(|write| if write.path == *path { write.kind } else { UNKNOWN_TYPE });
        let first = kinds.next()??;
        kinds.all(|kind| kind == Some(first)).then_some(first)
    }
}

/// Whether a page sets a declared variable when it starts a session.
fn is_input(source: &Value, at: usize) -> bool {
    let is_marked = source.pointer(&format!("/variables/{at}/input")) == Some(&Value::Bool(true));
    let name = source.pointer(&format!("/variables/{at}/name"));
    let inputs = source.get("inputs").and_then(Value::as_array);
    is_marked || name.is_some_and(|name| inputs.is_some_and(|inputs| inputs.contains(name)))
}

/// Returns the variable that a path reads, given additional roots; `None` if it reads another root or an engine variable.
pub(super) fn variable_of_path(path: &VariablePath, here: &[&str]) -> Option<VariablePath> {
    let first = path.first_name();
    let path = if first == "session" { path.rest()? } else { path.clone() };
    let is_root = first != "session" && (OTHER_ROOTS.contains(&first) || here.contains(&first));
    (!is_root && !path.first_name().starts_with('_')).then_some(path)
}

/// Returns the output mappings of a call: those of the tool, then those of the node.
pub(super) fn output_mappings<'f>(tool: Option<&'f FlowTool>, own: &'f [OutputMapping]) -> impl Iterator<Item = &'f OutputMapping> {
    tool.into_iter().flat_map(|it| &it.outputs).chain(own)
}
