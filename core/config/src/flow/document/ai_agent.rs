//! Reads an AI agent as a document with one graph: the agent, the person who takes over, and the end. (docs/spec/flows.md#10.6)

use convengine_derive::Described;
use convengine_text::phrase::Phrase;
use convengine_text::variable_path::VariablePath;
use convengine_turn::Map;
use serde_json::{Value, json};

use super::super::shape::{Absent, Described, Fields, STRING, Shape, Unread, parse_path};
use super::guardrail::{Guardrail, GuardrailKind};
use super::{Document, FlowTool, KnowledgeData};

/// The variable with the reason for which an agent requests a person.
pub const HANDOFF_REASON: &str = "_handoff_reason";

/// What an AI agent has in addition to a node that lets a model converse.
#[derive(Debug, Clone, Default)]
pub struct AgentPolicy {
    /// Its role and manner, as text for the model.
    pub persona: String,
    /// How it uses its memory, as text for the model.
    pub memory_guidance: String,
    /// The values that it may remember.
    pub memory_slots: Vec<MemorySlot>,
    /// The tools of the workspace that it has beside its own.
    pub tool_names: Vec<String>,
    /// Its tasks.
    pub tasks: Vec<AgentTask>,
    /// Its enabled guardrails.
    pub guardrails: Vec<Guardrail>,
    /// The knowledge that it may search.
    pub knowledge: Option<KnowledgeData>,
    /// Maximum model calls in a conversation.
    pub max_llm_steps: Option<u32>,
    /// Maximum tool calls after a message of the user.
    pub max_tool_calls: Option<u32>,
}

/// A task of an AI agent.
#[derive(Debug, Clone, Described)]
#[described(definition = "Task", role = Item)]
pub struct AgentTask {
    /// Its id.
    #[member(required, shape = ID)]
    pub id: String,
    /// Messages that lead to it.
    #[member(shape = Items(&List::new(NON_EMPTY)))]
    pub examples: Vec<Phrase>,
    /// Variables that it needs.
    #[member(each = NON_EMPTY)]
    pub needs: Vec<String>,
    /// The tools that are offered for it.
    #[member(each = ID, meaning = Names(Tool))]
    pub tool_names: Vec<String>,
    /// What is special about it.
    pub flag: TaskFlag,
}

/// The flag of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum TaskFlag {
    /// None.
    #[default]
    #[kind("NONE")]
    None,
    /// Its tools need a verified user.
    #[kind("SENSITIVE")]
    Sensitive,
    /// It applies when no other task does.
    #[kind("FALLBACK")]
    Fallback,
}

/// A value that an AI agent may remember.
#[derive(Debug, Clone, Described)]
pub struct MemorySlot {
    /// Its key.
    #[member(required, shape = ID)]
    pub key: String,
    /// Its description.
    pub label: String,
}

/// A phrase that is compared without accents.
impl Described for Phrase {
    const SHAPE: Shape = STRING;

    fn read(value: &Value) -> Option<Phrase> {
        value.as_str().map(Phrase::without_accents)
    }
}

impl MemorySlot {
    /// The variable that stores the value.
    pub fn variable(&self) -> VariablePath {
        parse_path(&format!("memory.{}", self.key))
    }
}

impl AgentPolicy {
    /// Returns a task by id.
    pub fn task(&self, id: &str) -> Option<&AgentTask> {
        self.tasks.iter().find(|it| it.id == id)
    }

    /// Whether calls of a tool need a verified user.
    pub fn is_protected(&self, tool: &FlowTool) -> bool {
        let is_of_task = |task: &AgentTask| task.flag == TaskFlag::Sensitive && task.tool_names.contains(&tool.id);
        tool.sensitive || self.tasks.iter().any(is_of_task)
    }

    /// Whether a guardrail masks parts of replies.
    pub fn masks_replies(&self) -> bool {
        self.guardrails.iter().any(|guardrail| matches!(guardrail.kind, GuardrailKind::Redact(_)))
    }

    /// Whether a guardrail verifies the user.
    pub fn verifies_user(&self) -> bool {
        self.guardrails.iter().any(|guardrail| matches!(guardrail.kind, GuardrailKind::Auth(_)))
    }
}

/// An AI agent.
#[derive(Debug, Clone, Described)]
#[described(definition = "AiAgent")]
pub struct AgentDocument {
    /// The version of the format.
    #[member(required, shape = SCHEMA_VERSION)]
    pub schema_version: Unread<String>,
    /// The kind of the document.
    #[member(required, shape = Const("ai_agent", "D001"))]
    pub doc: Unread<String>,
    /// Its id.
    #[member(required, shape = ID)]
    pub id: Unread<String>,
    /// Its name.
    #[member(required, shape = NAME)]
    pub name: Unread<String>,
    /// The time zone of sessions without one, by its IANA name.
    #[member(shape = PatternText(Pattern::TimeZone))]
    pub default_time_zone: Option<Unread<String>>,
    /// What it is for, as instructions of the model.
    #[member(required, shape = TEMPLATE)]
    pub mission: Unread<String>,
    /// Its role and manner.
    persona: Persona,
    /// The alias of the model.
    #[member(shape = NON_EMPTY, meaning = Names(Model))]
    pub model: Option<Unread<String>>,
    /// The sampling temperature.
    #[member(shape = Number(0, 2))]
    pub temperature: Option<Unread<f64>>,
    /// Its own tools.
    #[member(shape = Items(&List { item: <FlowTool as Described>::SHAPE, min: 0, max: NO_MAX_LENGTH, keys: UniqueBy::Id }))]
    pub tools: Unread<Vec<FlowTool>>,
    /// The tools of the workspace that it has beside its own.
    #[member(each = ID, meaning = Names(Tool))]
    tool_names: Vec<String>,
    /// Its tasks.
    #[member(unique = Id)]
    tasks: Vec<AgentTask>,
    /// Its guardrails.
    #[member(unique = Id)]
    guardrails: Vec<Guardrail>,
    /// What it remembers.
    memory: MemoryDef,
    /// The sources of knowledge that it may search.
    #[member(each = NON_EMPTY, meaning = Names(Source))]
    knowledge: Vec<String>,
    /// The channels on which it is offered.
    #[member(shape = Items(&List::new(NON_EMPTY)))]
    pub channels: Option<Unread<Vec<String>>>,
    /// Maximum model calls in a conversation.
    #[member(shape = COUNT)]
    max_llm_steps_per_conv: Option<u32>,
    /// Maximum tool calls after a message of the user.
    #[member(shape = COUNT)]
    max_tool_calls_per_turn: Option<u32>,
    /// What it may spend on models in a day, in cents.
    #[member(shape = COUNT)]
    daily_spend_cap_cents: Option<u64>,
    /// Questions with the answers that are expected.
    pub evals: Option<Unread<Vec<Eval>>>,
    /// Metadata for tools; ignored by the engine.
    pub meta: Option<Unread<Map>>,
}

/// The role and manner of an AI agent.
#[derive(Debug, Clone, Described)]
struct Persona {
    /// Its role.
    title: String,
    /// Adjectives for its tone.
    tone: Vec<String>,
    /// How it speaks.
    voice: String,
    /// What it does not do.
    boundaries: Vec<String>,
}

/// What an AI agent remembers.
#[derive(Debug, Clone, Described)]
struct MemoryDef {
    /// Whether it remembers anything.
    #[member(default = true)]
    enabled: bool,
    /// The values that it may remember.
    slots: Vec<MemorySlot>,
    /// How it uses its memory, as text for the model.
    guidance: String,
}

/// A question with the answer that is expected.
#[derive(Debug, Clone, Described)]
pub struct Eval {
    /// Its name.
    #[member(required, shape = NON_EMPTY)]
    pub name: String,
    /// The question.
    #[member(required, shape = NON_EMPTY)]
    pub prompt: String,
    /// The answer.
    #[member(required, shape = NON_EMPTY)]
    pub expected: String,
}

impl AgentDocument {
    fn policy(self) -> AgentPolicy {
        let memory = Some(self.memory).filter(|it| it.enabled);
        let (memory_guidance, memory_slots) = memory.map(|it| (it.guidance, it.slots)).unwrap_or_default();
        AgentPolicy {
            persona: self.persona.text(),
            memory_guidance,
            memory_slots,
            tool_names: self.tool_names,
            tasks: self.tasks,
            guardrails: self.guardrails.into_iter().filter(|it| it.enabled).collect(),
            knowledge: Some(self.knowledge)
                .filter(|it| !it.is_empty())
                .map(|sources| KnowledgeData { sources: Some(sources), ..KnowledgeData::for_fallback(None) }),
            max_llm_steps: self.max_llm_steps_per_conv,
            max_tool_calls: self.max_tool_calls_per_turn,
        }
    }
}

impl Persona {
    /// The text for the model.
    fn text(&self) -> String {
        let lines = [
            ("Your role: ", self.title.clone()),
            ("Your tone: ", self.tone.join(", ")),
            ("Your voice: ", self.voice.clone()),
            ("Your boundaries:\n- ", self.boundaries.join("\n- ")),
        ];
        lines.iter().filter(|(_, text)| !text.trim().is_empty()).map(|it| format!("{}{}", it.0, it.1)).collect::<Vec<_>>().join("\n")
    }
}

impl Document {
    /// Reads an AI agent whose structure has been checked.
    pub fn read_agent(source: &Value) -> Document {
        let fields = Fields::of_object(source).unwrap_or(Fields::EMPTY);
        let id = fields.string("id");
        let base = json!({
            "id": id, "name": fields.string("name"), "root": id, "graphs": [agent_graph(source)], "tools": fields.value("tools"),
            "default_time_zone": fields.value("default_time_zone"),
        });
        let mut document = Document::read(&base);
        let agent = AgentDocument::read(source).unwrap_or_else(AgentDocument::absent);
        document.settings.daily_spend_cap_cents = agent.daily_spend_cap_cents;
        Document { agent: Some(Box::new(agent.policy())), ..document }
    }
}

/// Returns the graph of an AI agent as it would be written in a document.
pub fn agent_graph(source: &Value) -> Value {
    let fields = Fields::of_object(source).unwrap_or(Fields::EMPTY);
    let tools: Vec<Value> = fields.list("tools").map(|tool| json!({"tool": tool.string("id")})).collect();
    let agent = json!({
        "instructions": fields.string("mission"), "tools": tools, "model": fields.value("model"), "temperature": fields.value("temperature"),
        "max_turns": u32::MAX, "memory": {"reset": "never"},
    });
    let person = json!({"reason": format!("{{{{ {HANDOFF_REASON} }}}}")});
    json!({
        "id": fields.string("id"),
        "kind": "root",
        "entry": "agent",
        "nodes": [
            {"id": "agent", "type": "instruction_agent", "name": fields.string("name"), "data": agent},
            {"id": "person", "type": "handoff", "name": "Person", "data": person},
            {"id": "finished", "type": "end", "name": "Finished", "data": {}},
        ],
        "edges": [
            {"id": "finish", "source": "agent", "source_port": "done", "target": "finished"},
            {"id": "request_human", "source": "agent", "source_port": "handoff", "target": "person"},
            {"id": "return", "source": "person", "target": "agent"},
            {"id": "decline", "source": "person", "source_port": "unavailable", "target": "agent"},
        ],
    })
}
