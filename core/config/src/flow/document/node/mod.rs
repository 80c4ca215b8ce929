//! The types of nodes, a file each: the data of the type, and what the engine knows of it. (docs/spec/flows.md#4)

mod decision;
mod draft;
mod end;
mod entity;
mod fallback;
mod handoff;
mod instruction_agent;
mod intent;
mod knowledge;
mod message;
mod program;
mod python;
mod router;
mod service;
mod set;
mod start;
mod subflow;
mod tool;
mod traits;
mod trigger;

pub use decision::DecisionData;
pub use draft::DraftData;
pub use end::EndData;
pub use entity::{Ask, EntityData, Take, Validation};
pub use fallback::{FallbackData, FallbackOn};
pub use handoff::{HandoffData, HandoffMode};
pub use instruction_agent::{AgentData, AgentMemory, AgentOutput, AgentTool, Approval, MemoryReset};
pub use intent::IntentData;
pub use knowledge::{Citations, KnowledgeData, QueryPart};
pub use message::{Await, Block, Button, Card, ListItem, MessageData, Selection};
pub use program::{AgentCallData, FlowAgentData, ProgramData, ProgramKind, WorkflowCallData};
pub use python::{PythonData, Script};
pub use router::RouterData;
pub use service::ServiceData;
pub use set::{AssignOp, Assignment, SetData};
pub use start::StartData;
pub use subflow::{CallMode, SubflowData};
pub use tool::ToolData;
pub use traits::{Branching, Failing, NodeData, NodeGroup, NodeTraits, VariableWrite, Waiting};
pub use trigger::TriggerData;

use convengine_derive::Described;

use super::super::shape::{Kinds, Unread};

/// A node of a graph.
pub type Node = NodeOf<NodeKind>;

/// A node of a document whose nodes have these types.
#[derive(Debug, Clone, Described)]
#[described(definition = K::DEFINITION, role = Node)]
pub struct NodeOf<K: NodeTypes> {
    /// Unique id within the graph.
    #[member(required, shape = ID)]
    pub id: String,
    /// Display name, shown in traces.
    #[member(required, shape = NAME)]
    pub name: String,
    /// Place in editors; no effect.
    position: Option<Unread<Position>>,
    /// Text for authors; no effect.
    notes: Option<Unread<String>>,
    /// Skips the node: it is left by its default port at once.
    pub disabled: bool,
    /// `port`: by the failure port, else a `fallback` node; `continue`: by the default port; `stop`: sends the error message.
    pub on_error: OnError,
    /// What the node does.
    #[member(name = "type", tag)]
    pub type_name: String,
    /// Its kind, with its data.
    #[member(kinds)]
    pub kind: K,
}

/// The types of nodes of a kind of documents.
pub trait NodeTypes: Kinds {
    /// The name of such nodes in the published schema.
    const DEFINITION: &'static str;
}

/// A place on the canvas.
#[derive(Debug, Clone, Described)]
struct Position {
    /// Horizontal place.
    #[member(required)]
    #[expect(dead_code, reason = "the engine keeps it for the canvas")]
    x: f64,
    /// Vertical place.
    #[member(required)]
    #[expect(dead_code, reason = "the engine keeps it for the canvas")]
    y: f64,
}

/// What happens when a node fails. (docs/spec/flows.md#2.3)
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum OnError {
    /// Continue at its failure port, or at a fallback.
    #[default]
    Port,
    /// Continue at its default port.
    Continue,
    /// Send the error message.
    Stop,
}

/// The kind of a node, with its data. A new one is a variant here, in [`WorkflowNodeKind`] if workflow graphs have it, and a file beside
/// this one.
#[derive(Debug, Clone, Described)]
#[described(tag = "type", content = "data", data = NodeData)]
pub enum NodeKind {
    /// The entry of the root graph or of a subflow.
    Start(StartData),
    /// The end of a graph. In the root graph it completes the session, elsewhere it returns to the caller or to the graph below.
    End(EndData),
    /// The entry of an intent's graph. It collects the intent's parameters before it continues.
    Intent(IntentData),
    /// Sends a message, and waits if `await` says so. Before a `service` node it is the text to show while the call runs: with
    /// `?stream=true` it is sent as the event `message` before the call begins; without a stream it comes in the same answer as the
    /// messages after the call.
    Message(MessageData),
    /// Asks for a value and stores it in a variable. The text of the user is read as the [entity](entities.md).
    Entity(Box<EntityData>),
    /// Takes the first edge whose condition is true. Where none is and one has no value, it leaves by `error` if that is connected.
    Decision(DecisionData),
    /// Takes the first edge whose condition is true; the same as `decision` with more than two ways.
    Router(RouterData),
    /// Calls a [tool](#tool) or an HTTP service of its own and stores what it returns. After a call the variable `response_status` is
    /// the status and `response_body` the body, also of a failed call. `timeout_ms` and `retry` of the node win over those of the tool;
    /// `idempotency_key` belongs to the node alone. A write with a key but without `retry` is made once.
    Service(Box<ServiceData>),
    /// Runs a script that reads and changes variables; see [4.7](../spec/flows.md#4.7).
    Python(Box<PythonData>),
    /// Changes variables: all assignments, or none when one fails.
    Set(SetData),
    /// Transfers the conversation to a person; see [4.9](../spec/flows.md#4.9).
    Handoff(Box<HandoffData>),
    /// Where the graph continues when nothing else handles a case. It needs no edge that leads to it; a graph has at most one of each
    /// case.
    Fallback(FallbackData),
    /// Runs another graph.
    Subflow(SubflowData),
    /// Answers a question from the [knowledge base](../spec/flows.md#4.12) of the assistant, with citations.
    Knowledge(Box<KnowledgeData>),
    /// A model follows instructions and calls tools until it is done. It can also end by the built-in tools `finish` and
    /// `request_human`.
    InstructionAgent(Box<AgentData>),
    /// Runs another document; only in workflow graphs.
    #[kind(unwritten)]
    Program(Box<ProgramData>),
    /// A type that only drafts of workflow graphs may hold.
    #[kind(unwritten)]
    Draft(DraftData),
}

/// The kind of a node of a workflow graph, with its data as written. It runs as the kind of node into which the data converts.
#[derive(Debug, Clone, Described)]
#[described(tag = "type", content = "data", into = NodeKind)]
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

impl NodeTypes for NodeKind {
    const DEFINITION: &'static str = "Node";
}

impl NodeTypes for WorkflowNodeKind {
    const DEFINITION: &'static str = "WorkflowNode";
}

impl<K: NodeTypes> NodeOf<K> {
    /// The same node with its kind converted.
    pub(super) fn convert<T: NodeTypes + From<K>>(self) -> NodeOf<T> {
        NodeOf {
            id: self.id,
            name: self.name,
            position: self.position,
            notes: self.notes,
            disabled: self.disabled,
            on_error: self.on_error,
            type_name: self.type_name,
            kind: self.kind.into(),
        }
    }
}
