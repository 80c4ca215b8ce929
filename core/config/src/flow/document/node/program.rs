//! `flow-agent`, `agent` and `workflow`: nodes of workflow graphs that run another document. (docs/spec/flows.md#9)

use std::collections::BTreeMap;

use convengine_derive::Described;
use convengine_text::variable_path::VariablePath;

use super::super::Document;
use super::super::text::ValueTemplate;
use super::NodeKind;
use super::traits::{NodeData, NodeGroup, NodeTraits, VariableWrite, Waiting};

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

/// Data of `flow-agent`.
#[derive(Debug, Clone, Described)]
pub struct FlowAgentData {
    /// The assistant.
    #[member(required, shape = NON_EMPTY, meaning = Names(Assistant))]
    assistant_id: String,
    /// The call of it.
    #[member(flatten)]
    call: ProgramCall,
}

/// Data of `agent`.
#[derive(Debug, Clone, Described)]
pub struct AgentCallData {
    /// The AI agent.
    #[member(required, shape = NON_EMPTY, meaning = Names(Agent))]
    agent_id: String,
    /// The call of it.
    #[member(flatten)]
    call: ProgramCall,
}

/// Data of `workflow`.
#[derive(Debug, Clone, Described)]
pub struct WorkflowCallData {
    /// The workflow graph.
    #[member(required, shape = NON_EMPTY, meaning = Names(Workflow))]
    workflow_id: String,
    /// The call of it.
    #[member(flatten)]
    call: ProgramCall,
}

/// How a node runs another document.
#[derive(Debug, Clone, Described)]
struct ProgramCall {
    /// The number of its version, or `latest`.
    #[member(shape = NON_EMPTY, default = "latest")]
    version: String,
    /// Values of its variables.
    #[member(shape = AnyObject, meaning = Template(Text))]
    inputs: Option<ValueTemplate>,
    /// Returned variables, each mapped to the variable that stores it.
    #[member(meaning = Writes)]
    outputs: BTreeMap<String, VariablePath>,
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

impl From<FlowAgentData> for NodeKind {
    fn from(data: FlowAgentData) -> NodeKind {
        data.call.into_node(ProgramKind::Assistant, data.assistant_id)
    }
}

impl From<AgentCallData> for NodeKind {
    fn from(data: AgentCallData) -> NodeKind {
        data.call.into_node(ProgramKind::Agent, data.agent_id)
    }
}

impl From<WorkflowCallData> for NodeKind {
    fn from(data: WorkflowCallData) -> NodeKind {
        data.call.into_node(ProgramKind::Workflow, data.workflow_id)
    }
}

impl ProgramCall {
    fn into_node(self, kind: ProgramKind, id: String) -> NodeKind {
        let ProgramCall { version, inputs, outputs } = self;
        NodeKind::Program(Box::new(ProgramData { kind, id, version, inputs, outputs }))
    }
}

impl NodeData for ProgramData {
    fn traits(&self) -> NodeTraits<'_> {
        let own_ports: &[&str] = if self.kind == ProgramKind::Agent { &["handoff"] } else { &[] };
        NodeTraits {
            own_ports,
            waiting: Waiting::InCall,
            is_goal: true,
            finalizes_slots: true,
            group: NodeGroup::Graph,
            ..NodeTraits::CALLING
        }
    }

    fn writes(&self, _: &Document) -> Option<Vec<VariableWrite>> {
        Some(VariableWrite::of_any(self.outputs.values()))
    }
}
