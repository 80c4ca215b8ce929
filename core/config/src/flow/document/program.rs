//! Nodes of workflow graphs that run another document. (docs/spec/flows.md#9)

use std::collections::BTreeMap;

use convengine_text::variable_path::VariablePath;

use super::ValueTemplate;
use super::fields::{self, Fields};

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
    /// Its variables that are returned, each with the variable that stores it.
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

impl ProgramData {
    pub(super) fn read(kind: ProgramKind, id: &str, fields: Fields<'_>) -> ProgramData {
        let outputs = fields.members("outputs");
        ProgramData {
            kind,
            id: fields.string(id),
            version: fields.string_or("version", "latest"),
            inputs: fields.json_template("inputs"),
            outputs: outputs.map(|(name, it)| (name.clone(), fields::parse_path(it.as_str().unwrap_or_default()))).collect(),
        }
    }
}
