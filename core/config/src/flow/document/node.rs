//! Nodes and the data of each kind.

use std::collections::BTreeMap;

use convengine_text::variable_path::VariablePath;
use convengine_turn::Map;
use serde_json::Value;

use super::assignment::{Assignment, SetData};
use super::fields::{self, Fields};
use super::handoff::HandoffData;
use super::knowledge::KnowledgeData;
use super::message::Block;
use super::program::{ProgramData, ProgramKind};
use super::python::PythonData;
use super::service::ServiceData;
use super::slot::EntityData;
use super::text::{FlowCondition, FlowTemplate, LocalizedText, ValueTemplate};

/// A node of a graph.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its id.
    pub id: String,
    /// Its name in traces.
    pub name: String,
    /// Its type as written.
    pub type_name: String,
    /// Its kind, with its data.
    pub kind: NodeKind,
    /// Whether it is skipped.
    pub disabled: bool,
    /// What happens when it fails.
    pub on_error: OnError,
}

/// What happens when a node fails. (docs/spec/flows.md#2.3)
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnError {
    /// Continue at its failure port, or at a fallback.
    #[default]
    Port,
    /// Continue at its default port.
    Continue,
    /// Send the error message.
    Stop,
}

/// The kind of a node, with its data.
#[derive(Debug, Clone)]
pub enum NodeKind {
    /// Entry of a graph.
    Start(StartData),
    /// End of a graph.
    End(EndData),
    /// Entry of an intent.
    Intent(IntentData),
    /// Sends a message.
    Message(MessageData),
    /// Collects a value.
    Entity(Box<EntityData>),
    /// Branches on a condition.
    Decision,
    /// Branches on several conditions.
    Router,
    /// Calls a service.
    Service(Box<ServiceData>),
    /// Changes variables.
    Set(SetData),
    /// Handles what no other node handles.
    Fallback(FallbackData),
    /// Calls another graph.
    Subflow(SubflowData),
    /// Lets a model converse and call tools.
    InstructionAgent(Box<AgentData>),
    /// Searches the knowledge base.
    Knowledge(Box<KnowledgeData>),
    /// Runs a script.
    Python(Box<PythonData>),
    /// Transfers the conversation to a person.
    Handoff(Box<HandoffData>),
    /// Runs another document.
    Program(Box<ProgramData>),
    /// A type that only drafts of workflow graphs may hold.
    Draft,
}

/// Data of `start`.
#[derive(Debug, Clone, Default)]
pub struct StartData {
    /// Initial values of undefined variables.
    pub init: Map,
}

/// Data of `end`.
#[derive(Debug, Clone)]
pub struct EndData {
    /// The exit port of the calling node.
    pub exit: String,
    /// The last message.
    pub final_message: Option<LocalizedText>,
    /// Whether the session ends.
    pub end_session: Option<bool>,
    /// The return values of a subflow.
    pub outputs: Option<ValueTemplate>,
}

/// Data of `intent`.
#[derive(Debug, Clone)]
pub struct IntentData {
    /// The id of the intent.
    pub intent_id: String,
}

/// How one of several variants is chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Selection {
    /// The first.
    #[default]
    First,
    /// The next one each time.
    Sequence,
    /// At random, by the seed of the session.
    SeededRandom,
}

/// The input that a message waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Await {
    /// None.
    None,
    /// A press of one of its buttons.
    Button,
    /// Any input.
    Any,
}

/// Data of `message`.
#[derive(Debug, Clone)]
pub struct MessageData {
    /// Its blocks.
    pub blocks: Vec<Block>,
    /// How a variant is chosen.
    pub selection: Selection,
    /// The input that it waits for.
    pub await_mode: Option<Await>,
    /// Duration of the typing indicator, in milliseconds.
    pub typing_ms: Option<u64>,
}

/// Data of `fallback`.
#[derive(Debug, Clone)]
pub struct FallbackData {
    /// The failures that it handles.
    pub on: FallbackOn,
}

/// The failures that a fallback handles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FallbackOn {
    /// No edge matches.
    NoEdge,
    /// A node failed.
    Error,
    /// No intent matched.
    NoIntent,
    /// All failures.
    #[default]
    Any,
}

/// Data of `subflow`.
#[derive(Debug, Clone)]
pub struct SubflowData {
    /// The id of the graph.
    pub graph: String,
    /// Whether the graph returns.
    pub mode: CallMode,
    /// Values of its parameters.
    pub inputs: Option<ValueTemplate>,
    /// Variables that store its return values.
    pub outputs: BTreeMap<String, VariablePath>,
}

/// How a graph is entered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallMode {
    /// As a call, which returns.
    #[default]
    Call,
    /// As a jump, which does not return.
    Goto,
}

/// Data of `instruction_agent`.
#[derive(Debug, Clone)]
pub struct AgentData {
    /// The instructions of the model.
    pub instructions: FlowTemplate,
    /// The tools that it may call.
    pub tools: Vec<AgentTool>,
    /// The alias of the model.
    pub model: Option<String>,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// Maximum model calls in a turn.
    pub max_steps: u32,
    /// The first message.
    pub greeting: Option<LocalizedText>,
    /// The condition under which it finishes.
    pub exit_when: Option<FlowCondition>,
    /// Maximum user messages.
    pub max_turns: u32,
    /// Its memory.
    pub memory: AgentMemory,
    /// Its output.
    pub output: Option<AgentOutput>,
}

/// A tool that an agent may call.
#[derive(Debug, Clone)]
pub struct AgentTool {
    /// The id of the tool.
    pub tool: String,
    /// When a call requires approval.
    pub approval: Option<Approval>,
}

/// When a call of a tool that a model plans requires approval: of an agent's tool, of `spec` in `cv_tool_spec`, or of a row of `cv_mcp_tool`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// Never.
    Never,
    /// Before each call.
    Always,
    /// Before calls that write.
    Write,
}

impl Approval {
    /// Parses a spelling of a document or row.
    pub fn parse(text: &str) -> Option<Approval> {
        match text {
            "always" => Some(Approval::Always),
            "write" => Some(Approval::Write),
            "never" => Some(Approval::Never),
            _ => None,
        }
    }
}

/// The memory of an agent.
#[derive(Debug, Clone)]
pub struct AgentMemory {
    /// Maximum messages.
    pub max_messages: usize,
    /// Maximum characters.
    pub max_chars: usize,
    /// When it is cleared.
    pub reset: MemoryReset,
}

/// When the memory of an agent is cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryReset {
    /// Never.
    Never,
    /// When the agent is entered.
    OnEnter,
    /// When the agent is left.
    OnExit,
}

/// The output of an agent.
#[derive(Debug, Clone)]
pub struct AgentOutput {
    /// The variable that stores it.
    pub variable: VariablePath,
    /// The JSON Schema of the output.
    pub schema: Option<Value>,
}

impl Node {
    /// Reads a node; `None` for an unknown type, which the structure check reports.
    pub(super) fn read(fields: Fields<'_>) -> Option<Node> {
        let type_name = fields.string("type");
        let data = fields.object_or_empty("data");
        Some(Node {
            id: fields.string("id"),
            name: fields.string("name"),
            kind: NodeKind::read(&type_name, data)?,
            type_name,
            disabled: fields.flag("disabled", false),
            on_error: fields.keyword("on_error", &[("continue", OnError::Continue), ("stop", OnError::Stop)]).unwrap_or_default(),
        })
    }
}

impl NodeKind {
    fn read(type_name: &str, fields: Fields<'_>) -> Option<NodeKind> {
        Some(match type_name {
            "start" => NodeKind::Start(StartData { init: fields.map("init") }),
            "end" => NodeKind::End(EndData {
                exit: fields.string_or("exit", "out"),
                final_message: fields.localized("final_message"),
                end_session: fields.value("end_session").and_then(Value::as_bool),
                outputs: fields.json_template("outputs"),
            }),
            "intent" => NodeKind::Intent(IntentData { intent_id: fields.string("intent_id") }),
            "message" => NodeKind::Message(MessageData {
                blocks: fields.list("blocks", Block::read).into_iter().flatten().collect(),
                selection: fields
                    .keyword("selection", &[("sequence", Selection::Sequence), ("seeded_random", Selection::SeededRandom)])
                    .unwrap_or_default(),
                await_mode: fields.keyword("await", &[("none", Await::None), ("button", Await::Button), ("any", Await::Any)]),
                typing_ms: fields.count("typing_ms"),
            }),
            "entity" => NodeKind::Entity(Box::new(EntityData::read(fields))),
            "decision" => NodeKind::Decision,
            "router" => NodeKind::Router,
            "service" => NodeKind::Service(Box::new(ServiceData::read(fields))),
            "set" => NodeKind::Set(SetData { assignments: fields.list("assign", Assignment::read) }),
            "fallback" => NodeKind::Fallback(FallbackData { on: FallbackOn::read(fields) }),
            "subflow" => NodeKind::Subflow(SubflowData {
                graph: fields.string("graph"),
                mode: fields.keyword("mode", &[("goto", CallMode::Goto)]).unwrap_or_default(),
                inputs: fields.json_template("inputs"),
                outputs: fields
                    .members("outputs")
                    .map(|(name, it)| (name.clone(), fields::parse_path(it.as_str().unwrap_or_default())))
                    .collect(),
            }),
            "instruction_agent" => NodeKind::InstructionAgent(Box::new(AgentData::read(fields))),
            "knowledge" => NodeKind::Knowledge(Box::new(KnowledgeData::read(fields))),
            "python" => NodeKind::Python(Box::new(PythonData::read(fields))),
            "handoff" => NodeKind::Handoff(Box::new(HandoffData::read(fields))),
            "trigger" => NodeKind::Start(StartData::default()),
            "tool" => NodeKind::Service(Box::new(ServiceData::read_tool(fields))),
            "flow-agent" => NodeKind::Program(Box::new(ProgramData::read(ProgramKind::Assistant, "assistant_id", fields))),
            "workflow" => NodeKind::Program(Box::new(ProgramData::read(ProgramKind::Workflow, "workflow_id", fields))),
            "agent" => NodeKind::Program(Box::new(ProgramData::read(ProgramKind::Agent, "agent_id", fields))),
            _ => return None,
        })
    }
}

impl FallbackOn {
    fn read(fields: Fields<'_>) -> FallbackOn {
        let words = [("no_edge", FallbackOn::NoEdge), ("error", FallbackOn::Error), ("no_intent", FallbackOn::NoIntent)];
        fields.keyword("match", &words).unwrap_or_default()
    }
}

impl Approval {
    /// Reads the member `approval`.
    pub(super) fn read(fields: Fields<'_>) -> Option<Approval> {
        fields.text("approval").and_then(Approval::parse)
    }
}

impl AgentData {
    fn read(fields: Fields<'_>) -> AgentData {
        let resets = [("never", MemoryReset::Never), ("on_exit", MemoryReset::OnExit)];
        let memory = fields.object_or_empty("memory");
        let size = |name: &str, default: usize| memory.count(name).map_or(default, |it| usize::try_from(it).unwrap_or(usize::MAX));
        AgentData {
            instructions: fields.template("instructions").unwrap_or_default(),
            tools: fields.list("tools", |it| AgentTool { tool: it.string("tool"), approval: Approval::read(it) }),
            model: fields.optional_string("model"),
            temperature: fields.float("temperature"),
            max_steps: fields.count_u32("max_steps").unwrap_or(8),
            greeting: fields.localized("greeting"),
            exit_when: fields.text("exit_when").map(FlowCondition::from),
            max_turns: fields.count_u32("max_turns").unwrap_or(20),
            memory: AgentMemory {
                max_messages: size("max_messages", 40),
                max_chars: size("max_chars", 24_000),
                reset: memory.keyword("reset", &resets).unwrap_or(MemoryReset::OnEnter),
            },
            output: fields.object("output").map(|it| AgentOutput {
                variable: fields::parse_path(it.text("variable").unwrap_or_default()),
                schema: it.value("schema").cloned(),
            }),
        }
    }
}
