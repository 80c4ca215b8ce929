//! Nodes: one kind each, with its data.

use serde_json::Value;

use super::assign::{Assign, SetData};
use super::message::Block;
use super::read::{self, Of};
use super::service::ServiceData;
use super::slot::EntityData;
use super::text::{Condition, Filling, LocalizedText, Template};
use crate::text::path::Path;
use crate::turn::Map;

/// A node of a graph.
#[derive(Debug, Clone)]
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

/// What follows when a node fails. (`convoship.md` 2.3)
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
#[derive(Debug, Clone, Default)]
pub struct StartData {
    /// Variables that are written where they are not defined.
    pub init: Map,
}

/// Data of `end`.
#[derive(Debug, Clone)]
pub struct EndData {
    /// The port of the caller.
    pub exit: String,
    /// What is said at the end.
    pub final_message: Option<LocalizedText>,
    /// Whether the session ends.
    pub end_session: Option<bool>,
    /// What a subflow returns.
    pub outputs: Option<Filling>,
}

/// Data of `intent`.
#[derive(Debug, Clone)]
pub struct IntentData {
    /// The intent.
    pub intent_id: String,
}

/// How one of several variants is chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Await {
    /// Nothing.
    None,
    /// One of its buttons.
    Button,
    /// Whatever comes.
    Any,
}

/// Data of `message`.
#[derive(Debug, Clone)]
pub struct MessageData {
    /// What is said.
    pub blocks: Vec<Block>,
    /// Which of the variants.
    pub selection: Selection,
    /// What it waits for.
    pub waits: Option<Await>,
    /// For how long typing is shown, in milliseconds.
    pub typing_ms: Option<u64>,
}

/// Data of `fallback`.
#[derive(Debug, Clone)]
pub struct FallbackData {
    /// What it is for.
    pub on: FallbackOn,
}

/// What a fallback is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
#[derive(Debug, Clone)]
pub struct SubflowData {
    /// The graph.
    pub graph: String,
    /// Whether it takes the place of this one.
    pub mode: CallMode,
    /// Its parameters.
    pub inputs: Option<Filling>,
    /// Variables that take what it returns.
    pub outputs: std::collections::BTreeMap<String, Path>,
}

/// How a graph is entered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallMode {
    /// It returns.
    #[default]
    Call,
    /// It does not.
    Goto,
}

/// Data of `instruction_agent`.
#[derive(Debug, Clone)]
pub struct AgentData {
    /// What the model is to do.
    pub instructions: Template,
    /// The tools that it may call.
    pub tools: Vec<AgentTool>,
    /// The alias of the model.
    pub model: Option<String>,
    /// How freely it writes.
    pub temperature: Option<f64>,
    /// Calls of the model in a turn.
    pub max_steps: u32,
    /// What is said first.
    pub greeting: Option<LocalizedText>,
    /// When it is done.
    pub exit_when: Option<Condition>,
    /// Messages of the user.
    pub max_turns: u32,
    /// What it remembers.
    pub memory: AgentMemory,
    /// What it leaves.
    pub output: Option<AgentOutput>,
}

/// A tool of an agent.
#[derive(Debug, Clone)]
pub struct AgentTool {
    /// The tool.
    pub tool: String,
    /// When a person has to say yes.
    pub approval: Option<Approval>,
}

/// When a person has to say yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// Never.
    Never,
    /// Before each call.
    Always,
    /// Before calls that do more than read.
    Write,
}

/// What an agent remembers.
#[derive(Debug, Clone)]
pub struct AgentMemory {
    /// Messages that are kept.
    pub max_messages: usize,
    /// Characters that are kept.
    pub max_chars: usize,
    /// When it forgets.
    pub reset: MemoryReset,
}

/// When an agent forgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryReset {
    /// Never.
    Never,
    /// When it is entered.
    OnEnter,
    /// When it is left.
    OnExit,
}

/// What an agent leaves.
#[derive(Debug, Clone)]
pub struct AgentOutput {
    /// Where it goes.
    pub variable: Path,
    /// JSON Schema that it has to keep.
    pub schema: Option<Value>,
}

impl Node {
    pub(super) fn read(of: Of<'_>) -> Node {
        let type_name = of.string("type");
        let data = of.part("data");
        Node {
            id: of.string("id"),
            name: of.string("name"),
            kind: NodeKind::read(&type_name, data),
            type_name,
            disabled: of.flag("disabled", false),
            on_error: of.word("on_error", &[("continue", OnError::Continue), ("stop", OnError::Stop)]).unwrap_or_default(),
        }
    }
}

impl NodeKind {
    fn read(type_name: &str, of: Of<'_>) -> NodeKind {
        match type_name {
            "start" => NodeKind::Start(StartData { init: of.map("init") }),
            "end" => NodeKind::End(EndData {
                exit: of.string_or("exit", "out"),
                final_message: of.localized("final_message"),
                end_session: of.value("end_session").and_then(Value::as_bool),
                outputs: of.filling("outputs"),
            }),
            "intent" => NodeKind::Intent(IntentData { intent_id: of.string("intent_id") }),
            "message" => NodeKind::Message(MessageData {
                blocks: of.list("blocks", Block::read).into_iter().flatten().collect(),
                selection: of
                    .word("selection", &[("sequence", Selection::Sequence), ("seeded_random", Selection::SeededRandom)])
                    .unwrap_or_default(),
                waits: of.word("await", &[("none", Await::None), ("button", Await::Button), ("any", Await::Any)]),
                typing_ms: of.count("typing_ms"),
            }),
            "entity" => NodeKind::Entity(Box::new(EntityData::read(of))),
            "decision" => NodeKind::Decision,
            "router" => NodeKind::Router,
            "service" => NodeKind::Service(Box::new(ServiceData::read(of))),
            "set" => NodeKind::Set(SetData { assign: of.list("assign", Assign::read) }),
            "fallback" => NodeKind::Fallback(FallbackData { on: FallbackOn::read(of) }),
            "subflow" => NodeKind::Subflow(SubflowData {
                graph: of.string("graph"),
                mode: of.word("mode", &[("goto", CallMode::Goto)]).unwrap_or_default(),
                inputs: of.filling("inputs"),
                outputs: of.members("outputs").map(|(name, it)| (name.clone(), read::path(it.as_str().unwrap_or_default()))).collect(),
            }),
            "instruction_agent" => NodeKind::InstructionAgent(Box::new(AgentData::read(of))),
            _ => NodeKind::Unavailable,
        }
    }
}

impl FallbackOn {
    fn read(of: Of<'_>) -> FallbackOn {
        let words = [("no_edge", FallbackOn::NoEdge), ("error", FallbackOn::Error), ("no_intent", FallbackOn::NoIntent)];
        of.word("match", &words).unwrap_or_default()
    }
}

impl AgentData {
    fn read(of: Of<'_>) -> AgentData {
        let approvals = [("never", Approval::Never), ("always", Approval::Always), ("write", Approval::Write)];
        let resets = [("never", MemoryReset::Never), ("on_exit", MemoryReset::OnExit)];
        let memory = of.part("memory");
        let size = |name: &str, usual: usize| memory.count(name).map_or(usual, |it| usize::try_from(it).unwrap_or(usize::MAX));
        AgentData {
            instructions: of.template("instructions").unwrap_or_default(),
            tools: of.list("tools", |it| AgentTool { tool: it.string("tool"), approval: it.word("approval", &approvals) }),
            model: of.maybe("model"),
            temperature: of.real("temperature"),
            max_steps: of.small("max_steps").unwrap_or(8),
            greeting: of.localized("greeting"),
            exit_when: of.text("exit_when").map(Condition::from),
            max_turns: of.small("max_turns").unwrap_or(20),
            memory: AgentMemory {
                max_messages: size("max_messages", 40),
                max_chars: size("max_chars", 24_000),
                reset: memory.word("reset", &resets).unwrap_or(MemoryReset::OnEnter),
            },
            output: of.object("output").map(|it| AgentOutput {
                variable: read::path(it.text("variable").unwrap_or_default()),
                schema: it.value("schema").cloned(),
            }),
        }
    }
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
