//! The types of nodes that workflow graphs have instead of those of assistants. (docs/spec/flows.md#9)

use std::collections::BTreeMap;

use convengine_derive::Described;
use convengine_text::variable_path::VariablePath;
use convengine_turn::EffectClass;
use serde_json::Value;

use super::super::super::shape::{Absent, Described, Fields, MemberShape, Members, Shape, Unread};
use super::super::service::{OutputMapping, Retry};
use super::super::text::{FlowTemplate, ValueTemplate};
use super::traits::{NodeData, NodeTraits};
use super::{
    AgentData, DecisionData, EndData, KnowledgeData, NodeKind, NodeTypes, ProgramData, ProgramKind, RouterData, ServiceData, StartData,
};

/// Types that only drafts may hold.
pub const DRAFT_TYPES: [&str; 6] = ["script", "datastore", "set", "human", "parallel", "wait"];

/// The kind of a node of a workflow graph, with its data as written.
#[derive(Debug, Clone, Described)]
#[described(tag = "type", content = "data")]
pub enum WorkflowNodeKind {
    /// Entry of the graph.
    Trigger(TriggerData),
    /// Lets a model converse and call tools.
    InstructionAgent(Box<AgentData>),
    /// Runs an assistant.
    #[kind("flow-agent")]
    FlowAgent(FlowAgentData),
    /// Runs an AI agent.
    Agent(AgentCallData),
    /// Searches the knowledge base.
    Knowledge(Box<KnowledgeData>),
    /// Branches on several conditions.
    Router(RouterData),
    /// Branches on a condition.
    Decision(DecisionData),
    /// Calls a tool of the workspace.
    Tool(ToolData),
    /// Runs another workflow graph.
    Workflow(WorkflowCallData),
    /// End of the graph.
    End(EndData),
    /// Only in drafts.
    #[kind(name = "script", optional)]
    #[kind(name = "set", optional)]
    #[kind(name = "human", optional)]
    #[kind(name = "parallel", optional)]
    #[kind(name = "wait", optional)]
    #[kind(name = "datastore", optional)]
    Draft(DraftData),
}

/// Data of `trigger`.
#[derive(Debug, Clone, Described)]
pub struct TriggerData {
    /// What starts it.
    #[member(shape = Enum(&["manual", "channel", "api"]))]
    pub kind: Option<Unread<String>>,
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

/// Data of `tool`.
#[derive(Debug, Clone, Described)]
pub struct ToolData {
    /// The id of the tool.
    #[member(required, shape = ID, meaning = Names(Tool))]
    tool_name: String,
    /// The variable `args` of the templates of the tool.
    #[member(shape = AnyObject, meaning = Template(Text))]
    args: Option<ValueTemplate>,
    /// Mappings of the response to variables, in addition to those of the tool.
    #[member(roots("args"))]
    outputs: Vec<OutputMapping>,
    /// Time limit of an attempt.
    #[member(shape = Integer(100, 60_000), codes("V006", "V006"), documented_default = "10000")]
    timeout_ms: Option<u32>,
    /// When to try again; without it reads are tried 3 times, writes once.
    retry: Option<Retry>,
    /// Statuses that count as success; 200 to 299 without it.
    #[member(each = Integer(100, 599))]
    success: Vec<u16>,
    /// Key that makes a repeated write one write; only writes with a key are retried.
    idempotency_key: Option<FlowTemplate>,
    /// Larger responses fail with `response_too_large`.
    #[member(default = 262144)]
    max_response_bytes: u32,
    /// What repeating the call does; that of the tool without it.
    effect_class: Option<EffectClass>,
}

/// Data of a type that only drafts may hold: any object.
#[derive(Debug, Clone, Copy)]
pub struct DraftData;

impl Described for DraftData {
    const SHAPE: Shape = Shape::AnyObject;

    fn read(_: &Value) -> Option<DraftData> {
        Some(DraftData)
    }
}

impl Members for DraftData {
    const LISTS: &'static [&'static [MemberShape]] = &[];

    fn read_members(_: Fields<'_>) -> Option<DraftData> {
        Some(DraftData)
    }
}

impl Absent for DraftData {
    fn absent() -> DraftData {
        DraftData
    }
}

impl NodeTypes for WorkflowNodeKind {
    const DEFINITION: &'static str = "WorkflowNode";
}

impl NodeData for DraftData {
    fn traits(&self) -> NodeTraits<'_> {
        NodeTraits::CALLING
    }
}

impl ProgramCall {
    fn into_program(self, kind: ProgramKind, id: String) -> NodeKind {
        let ProgramCall { version, inputs, outputs } = self;
        NodeKind::Program(Box::new(ProgramData { kind, id, version, inputs, outputs }))
    }
}

impl From<WorkflowNodeKind> for NodeKind {
    fn from(kind: WorkflowNodeKind) -> NodeKind {
        match kind {
            WorkflowNodeKind::Trigger(_) => NodeKind::Start(StartData::default()),
            WorkflowNodeKind::InstructionAgent(data) => NodeKind::InstructionAgent(data),
            WorkflowNodeKind::FlowAgent(data) => data.call.into_program(ProgramKind::Assistant, data.assistant_id),
            WorkflowNodeKind::Agent(data) => data.call.into_program(ProgramKind::Agent, data.agent_id),
            WorkflowNodeKind::Knowledge(data) => NodeKind::Knowledge(data),
            WorkflowNodeKind::Router(data) => NodeKind::Router(data),
            WorkflowNodeKind::Decision(data) => NodeKind::Decision(data),
            WorkflowNodeKind::Tool(data) => NodeKind::Service(Box::new(ServiceData {
                tool_id: Some(data.tool_name),
                request: None,
                args: data.args,
                outputs: data.outputs,
                timeout_ms: data.timeout_ms,
                retry: data.retry,
                success: data.success,
                idempotency_key: data.idempotency_key,
                max_response_bytes: data.max_response_bytes,
                effect_class: data.effect_class,
            })),
            WorkflowNodeKind::Workflow(data) => data.call.into_program(ProgramKind::Workflow, data.workflow_id),
            WorkflowNodeKind::End(data) => NodeKind::End(data),
            WorkflowNodeKind::Draft(data) => NodeKind::Draft(data),
        }
    }
}
