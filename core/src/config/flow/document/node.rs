//! Nodes: one kind each, with its data.

use serde::Deserialize;
use serde_json::Value;

use super::message::{Block, Button};
use super::service::ServiceData;
use super::text::{Condition, Filling, Formula, LocalizedText, Template};
use crate::text::path::Path;
use crate::turn::Map;

/// A node of a graph.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "RawNode")]
pub struct Node {
    /// Its id.
    pub id: String,
    /// Its name, which traces show.
    pub name: String,
    /// Its type as it is written.
    pub type_name: String,
    /// What it does.
    pub kind: NodeKind,
    /// Whether it is passed through.
    pub disabled: bool,
    /// What follows when it fails.
    pub on_error: OnError,
}

#[derive(Deserialize)]
struct RawNode {
    id: String,
    #[serde(rename = "type")]
    type_name: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    data: Value,
    #[serde(default)]
    disabled: bool,
    #[serde(default)]
    on_error: OnError,
}

/// What follows when a node fails. (`convoship.md` 2.3)
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// Its failure port, or a fallback.
    #[default]
    Port,
    /// Its default port.
    Continue,
    /// The error message.
    Stop,
}

/// What a node does.
#[derive(Debug, Clone)]
pub enum NodeKind {
    /// Where a graph begins.
    Start(StartData),
    /// Where it ends.
    End(EndData),
    /// Where an intent begins.
    Intent(IntentData),
    /// Says something.
    Message(MessageData),
    /// Asks for a value.
    Entity(Box<EntityData>),
    /// Branches in two.
    Decision,
    /// Branches in many.
    Router,
    /// Calls a service.
    Service(Box<ServiceData>),
    /// Changes variables.
    Set(SetData),
    /// What happens when nothing else does.
    Fallback(FallbackData),
    /// Runs another graph.
    Subflow(SubflowData),
    /// Lets a model talk and call tools.
    InstructionAgent(Box<AgentData>),
    /// A type that drafts may hold and that cannot run yet.
    Unavailable,
}

/// Data of `start`.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct StartData {
    /// Variables that are written where they are not defined.
    #[serde(default)]
    pub init: Map,
}

/// Data of `end`.
#[derive(Debug, Clone, Deserialize)]
pub struct EndData {
    /// The port of the caller.
    #[serde(default = "out")]
    pub exit: String,
    /// What is said at the end.
    pub final_message: Option<LocalizedText>,
    /// Whether the session ends.
    pub end_session: Option<bool>,
    /// What a subflow returns.
    pub outputs: Option<Filling>,
}

/// Data of `intent`.
#[derive(Debug, Clone, Deserialize)]
pub struct IntentData {
    /// The intent.
    pub intent_id: String,
}

/// How one of several variants is chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Selection {
    /// The first.
    #[default]
    First,
    /// One after the other.
    Sequence,
    /// By the session's seed.
    SeededRandom,
}

/// What a message waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Await {
    /// Nothing.
    None,
    /// One of its buttons.
    Button,
    /// Whatever comes.
    Any,
}

/// Data of `message`.
#[derive(Debug, Clone, Deserialize)]
pub struct MessageData {
    /// What is said.
    pub blocks: Vec<Block>,
    /// Which of the variants.
    #[serde(default)]
    pub selection: Selection,
    /// What it waits for.
    #[serde(rename = "await")]
    pub waits: Option<Await>,
    /// For how long typing is shown, in milliseconds.
    pub typing_ms: Option<u64>,
}

/// A rule that a value has to keep.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Validation {
    /// The least value.
    pub min: Option<Value>,
    /// The greatest value.
    pub max: Option<Value>,
    /// The fewest characters.
    pub min_length: Option<usize>,
    /// The most characters.
    pub max_length: Option<usize>,
    /// A pattern.
    pub pattern: Option<String>,
    /// A condition on `value`.
    pub expr: Option<Condition>,
    /// What is said of a value that breaks it.
    pub message: Option<LocalizedText>,
}

/// Data of `entity`; a parameter of an intent is one as well.
#[derive(Debug, Clone, Deserialize)]
pub struct EntityData {
    /// Where the value goes.
    pub variable: Path,
    /// A system type or an entity of the document.
    pub entity: String,
    /// What is asked.
    #[serde(default)]
    pub prompt: LocalizedText,
    /// What is asked again.
    #[serde(default)]
    pub reprompt: Vec<LocalizedText>,
    /// How many invalid answers end it.
    #[serde(default = "three")]
    pub max_attempts: u32,
    /// Whether it fails then.
    #[serde(default = "yes")]
    pub required: bool,
    /// The value that it has otherwise.
    #[serde(default)]
    pub default: Value,
    /// Whether it is asked when there is a value.
    #[serde(default)]
    pub ask: Ask,
    /// Whether the message that began the intent may hold it.
    #[serde(default = "yes")]
    pub prefill_from_trigger: bool,
    /// What the value has to keep.
    #[serde(default)]
    pub validation: Vec<Validation>,
    /// Answers to press.
    #[serde(default)]
    pub buttons: Vec<Button>,
    /// Whether a model may look for it.
    #[serde(default)]
    pub llm_extract: bool,
    /// Whether another intent may come between.
    #[serde(default = "yes")]
    pub interruptible: bool,
    /// Whether the user has to confirm it.
    #[serde(default)]
    pub confirm: bool,
    /// Whether it stays out of logs.
    #[serde(default)]
    pub redact: bool,
    /// Milliseconds until nobody has answered.
    pub no_input_ms: Option<u64>,
}

/// When a value is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// When there is none.
    #[default]
    IfEmpty,
    /// Every time.
    Always,
}

/// Data of `set`.
#[derive(Debug, Clone, Deserialize)]
pub struct SetData {
    /// What is changed, in this order.
    pub assign: Vec<Assign>,
}

/// A change of a variable.
#[derive(Debug, Clone, Deserialize)]
pub struct Assign {
    /// The variable.
    pub variable: Path,
    /// How it changes.
    #[serde(default)]
    pub op: AssignOp,
    /// The value.
    pub value: Option<Filling>,
    /// Or what makes it.
    pub expr: Option<Formula>,
}

/// How a variable changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AssignOp {
    /// It becomes the value.
    #[default]
    Set,
    /// It goes.
    Unset,
    /// The value is added to it.
    Increment,
    /// The value is added at its end.
    Append,
    /// The members of the value are put into it.
    Merge,
}

/// Data of `fallback`.
#[derive(Debug, Clone, Deserialize)]
pub struct FallbackData {
    /// What it is for.
    #[serde(rename = "match", default)]
    pub on: FallbackOn,
}

/// What a fallback is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FallbackOn {
    /// No edge leads on.
    NoEdge,
    /// A node failed.
    Error,
    /// No intent matched.
    NoIntent,
    /// All of them.
    #[default]
    Any,
}

/// Data of `subflow`.
#[derive(Debug, Clone, Deserialize)]
pub struct SubflowData {
    /// The graph.
    pub graph: String,
    /// Whether it takes the place of this one.
    #[serde(default)]
    pub mode: CallMode,
    /// Its parameters.
    pub inputs: Option<Filling>,
    /// Variables that take what it returns.
    #[serde(default)]
    pub outputs: std::collections::BTreeMap<String, Path>,
}

/// How a graph is entered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallMode {
    /// It returns.
    #[default]
    Call,
    /// It does not.
    Goto,
}

/// Data of `instruction_agent`.
#[derive(Debug, Clone, Deserialize)]
pub struct AgentData {
    /// What the model is to do.
    pub instructions: Template,
    /// The tools that it may call.
    #[serde(default)]
    pub tools: Vec<AgentTool>,
    /// The alias of the model.
    pub model: Option<String>,
    /// How freely it writes.
    pub temperature: Option<f64>,
    /// Calls of the model in a turn.
    #[serde(default = "eight")]
    pub max_steps: u32,
    /// What is said first.
    pub greeting: Option<LocalizedText>,
    /// When it is done.
    pub exit_when: Option<Condition>,
    /// Messages of the user.
    #[serde(default = "twenty")]
    pub max_turns: u32,
    /// What it remembers.
    #[serde(default)]
    pub memory: AgentMemory,
    /// What it leaves.
    pub output: Option<AgentOutput>,
}

/// A tool of an agent.
#[derive(Debug, Clone, Deserialize)]
pub struct AgentTool {
    /// The tool.
    pub tool: String,
    /// When a person has to say yes.
    pub approval: Option<Approval>,
}

/// When a person has to say yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Never.
    Never,
    /// Before each call.
    Always,
    /// Before calls that do more than read.
    Write,
}

/// What an agent remembers.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct AgentMemory {
    /// Messages that are kept.
    pub max_messages: usize,
    /// Characters that are kept.
    pub max_chars: usize,
    /// When it forgets.
    pub reset: MemoryReset,
}

impl Default for AgentMemory {
    fn default() -> Self {
        AgentMemory { max_messages: 40, max_chars: 24_000, reset: MemoryReset::OnEnter }
    }
}

/// When an agent forgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryReset {
    /// Never.
    Never,
    /// When it is entered.
    OnEnter,
    /// When it is left.
    OnExit,
}

/// What an agent leaves.
#[derive(Debug, Clone, Deserialize)]
pub struct AgentOutput {
    /// Where it goes.
    pub variable: Path,
    /// JSON Schema that it has to keep.
    pub schema: Option<Value>,
}

impl TryFrom<RawNode> for Node {
    type Error = String;

    fn try_from(raw: RawNode) -> Result<Node, String> {
        let RawNode { id, type_name, name, data, disabled, on_error } = raw;
        let kind = kind(&type_name, data).map_err(|error| format!("the node '{id}' cannot be read: {error}"))?;
        Ok(Node { id, name, type_name, kind, disabled, on_error })
    }
}

fn kind(type_name: &str, data: Value) -> Result<NodeKind, serde_json::Error> {
    let data = if data.is_null() { Value::Object(Map::new()) } else { data };
    Ok(match type_name {
        "start" => NodeKind::Start(serde_json::from_value(data)?),
        "end" => NodeKind::End(serde_json::from_value(data)?),
        "intent" => NodeKind::Intent(serde_json::from_value(data)?),
        "message" => NodeKind::Message(serde_json::from_value(data)?),
        "entity" => NodeKind::Entity(serde_json::from_value(data)?),
        "decision" => NodeKind::Decision,
        "router" => NodeKind::Router,
        "service" => NodeKind::Service(serde_json::from_value(data)?),
        "set" => NodeKind::Set(serde_json::from_value(data)?),
        "fallback" => NodeKind::Fallback(serde_json::from_value(data)?),
        "subflow" => NodeKind::Subflow(serde_json::from_value(data)?),
        "instruction_agent" => NodeKind::InstructionAgent(serde_json::from_value(data)?),
        _ => NodeKind::Unavailable,
    })
}

impl Node {
    /// The port by which it is left when nothing is special.
    pub fn default_port(&self) -> &'static str {
        match self.kind {
            NodeKind::Service(_) => "success",
            NodeKind::InstructionAgent(_) => "done",
            NodeKind::Start(_)
            | NodeKind::End(_)
            | NodeKind::Intent(_)
            | NodeKind::Message(_)
            | NodeKind::Entity(_)
            | NodeKind::Decision
            | NodeKind::Router
            | NodeKind::Set(_)
            | NodeKind::Fallback(_)
            | NodeKind::Subflow(_)
            | NodeKind::Unavailable => "out",
        }
    }

    /// The port by which it is left when it fails; nothing for a node that cannot fail by itself.
    pub fn failure_port(&self) -> Option<&'static str> {
        match (&self.kind, self.type_name.as_str()) {
            (NodeKind::Intent(_) | NodeKind::Entity(_), _) => Some("failed"),
            (NodeKind::Service(_), _) => Some("failure"),
            (NodeKind::Unavailable, "handoff") => Some("unavailable"),
            (NodeKind::Decision | NodeKind::Router | NodeKind::Set(_) | NodeKind::Subflow(_), _)
            | (NodeKind::InstructionAgent(_) | NodeKind::Unavailable, _) => Some("error"),
            (NodeKind::Start(_) | NodeKind::End(_) | NodeKind::Message(_) | NodeKind::Fallback(_), _) => None,
        }
    }
}

fn out() -> String {
    "out".to_owned()
}

fn yes() -> bool {
    true
}

fn three() -> u32 {
    3
}

fn eight() -> u32 {
    8
}

fn twenty() -> u32 {
    20
}
