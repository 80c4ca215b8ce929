//! `subflow`: calls another graph, or jumps to it. (docs/spec/flows.md#4.11)

use std::collections::BTreeMap;

use convengine_derive::Described;
use convengine_text::variable_path::VariablePath;
use convengine_turn::Map;

use super::super::Document;
use super::super::text::ValueTemplate;
use super::traits::{Failing, NodeData, NodeGroup, NodeTraits, VariableWrite, Waiting};

/// Data of `subflow`.
#[derive(Debug, Clone, Described)]
pub struct SubflowData {
    /// The graph; with `goto` it may also be the graph of an intent.
    #[member(required, shape = ID, meaning = Names(Graph))]
    pub graph: String,
    /// `call` returns to this node, `goto` does not: the node then has no ports.
    pub mode: CallMode,
    /// Values of the graph's parameters, as templates.
    #[member(shape = AnyObject, meaning = Template(Text))]
    pub inputs: Option<ValueTemplate>,
    /// By return name: the variable that takes it.
    #[member(meaning = Writes, shown_if("mode", "call"))]
    pub outputs: BTreeMap<String, VariablePath>,
}

/// How a graph is entered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum CallMode {
    /// As a call, which returns.
    #[default]
    Call,
    /// Jumps without returning.
    Goto,
}

impl NodeData for SubflowData {
    fn traits(&self) -> NodeTraits<'_> {
        NodeTraits {
            ports: if self.mode == CallMode::Goto { &[] } else { &["out", "error"] },
            own_ports: &["EXIT"],
            waiting: Waiting::InCall,
            failing: Failing::ByGraph(&self.graph),
            // Inputs and outputs write variables.
            changes_variables: !self.outputs.is_empty() || self.inputs.is_some(),
            leaves_graph: self.mode == CallMode::Goto,
            called_graph: Some(&self.graph),
            group: NodeGroup::Graph,
            ..NodeTraits::CALLING
        }
    }

    fn writes(&self, _: &Document) -> Option<Vec<VariableWrite>> {
        // A graph without parameters shares the variables of its caller.
        let inputs = self.inputs.as_ref().and_then(|it| it.source.as_object());
        let shared: Vec<_> = inputs.into_iter().flat_map(Map::keys).filter_map(|name| VariablePath::parse(name).ok()).collect();
        Some(VariableWrite::of_any(self.outputs.values().chain(&shared)))
    }
}
