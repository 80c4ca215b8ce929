//! Nodes of workflow graphs that run another document. (docs/spec/flows.md#9)

use std::collections::BTreeMap;

use convengine_text::variable_path::VariablePath;

use super::super::Document;
use super::super::text::ValueTemplate;
use super::traits::{NodeData, NodeTraits, VariableWrite};

/// The kind of a document that runs conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProgramKind {
    /// An assistant.
    Assistant,
    /// A workflow graph.
    Workflow,
    /// An AI agent.
    Agent,
}

/// Data of `flow-agent`, `workflow` and `agent`.
#[derive(Debug, Clone)]
pub struct ProgramData {
    /// The kind of the document.
    pub kind: ProgramKind,
    /// Its id.
    pub id: String,
    /// The number of its version, or `latest`.
    pub version: String,
    /// Values of its variables.
    pub inputs: Option<ValueTemplate>,
    /// Returned variables, each mapped to the variable that stores it.
    pub outputs: BTreeMap<String, VariablePath>,
}

impl ProgramKind {
    /// Its name in stored sessions.
    pub fn name(self) -> &'static str {
        match self {
            ProgramKind::Assistant => "assistant",
            ProgramKind::Workflow => "workflow",
            ProgramKind::Agent => "agent",
        }
    }
}

impl NodeData for ProgramData {
    fn traits(&self) -> NodeTraits<'_> {
        let own_ports: &[&str] = if self.kind == ProgramKind::Agent { &["handoff"] } else { &[] };
        NodeTraits { own_ports, ..NodeTraits::CALLING }
    }

    fn writes(&self, _: &Document) -> Option<Vec<VariableWrite>> {
        Some(VariableWrite::of_any(self.outputs.values()))
    }
}
