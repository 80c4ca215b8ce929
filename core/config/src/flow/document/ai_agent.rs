//! Reads an AI agent as a document with one graph: the agent, the person who takes over, and the end. (docs/spec/flows.md#10.6)

use convengine_text::phrase::Phrase;
use convengine_text::variable_path::VariablePath;
use serde_json::{Value, json};

use super::fields::Fields;
use super::guardrail::{Guardrail, GuardrailKind};
use super::knowledge::KnowledgeData;
use super::{Document, FlowTool};

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
#[derive(Debug, Clone)]
pub struct AgentTask {
    /// Its id.
    pub id: String,
    /// Messages that lead to it.
    pub examples: Vec<Phrase>,
    /// Variables that it needs.
    pub needs: Vec<String>,
    /// The tools that are offered for it.
    pub tool_names: Vec<String>,
    /// Its flag.
    pub flag: TaskFlag,
}

/// The flag of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TaskFlag {
    /// None.
    #[default]
    None,
    /// Its tools need a verified user.
    Sensitive,
    /// It applies when no other task does.
    Fallback,
}

/// A value that an AI agent may remember.
#[derive(Debug, Clone)]
pub struct MemorySlot {
    /// Its key.
    pub key: String,
    /// Its description.
    pub label: String,
}

impl MemorySlot {
    /// The variable that stores the value.
    pub fn variable(&self) -> VariablePath {
        super::fields::parse_path(&format!("memory.{}", self.key))
    }
}

impl AgentPolicy {
    fn read(fields: Fields<'_>) -> AgentPolicy {
        let memory = fields.object_or_empty("memory");
        let is_remembering = memory.flag("enabled", true);
        let slot = |it: Fields<'_>| MemorySlot { key: it.string("key"), label: it.string("label") };
        let sources = fields.strings("knowledge");
        AgentPolicy {
            persona: read_persona(fields.object_or_empty("persona")),
            memory_guidance: if is_remembering { memory.string("guidance") } else { String::new() },
            memory_slots: if is_remembering { memory.list("slots", slot) } else { Vec::new() },
            tool_names: fields.strings("tool_names"),
            tasks: fields.list("tasks", AgentTask::read),
            guardrails: fields.list("guardrails", Guardrail::read).into_iter().flatten().collect(),
            knowledge: (!sources.is_empty()).then(|| KnowledgeData { sources: Some(sources), ..KnowledgeData::for_fallback(None) }),
            max_llm_steps: fields.count_u32("max_llm_steps_per_conv"),
            max_tool_calls: fields.count_u32("max_tool_calls_per_turn"),
        }
    }

    /// Returns a task by id.
    pub fn task(&self, id: &str) -> Option<&AgentTask> {
        self.tasks.iter().find(|it| it.id == id)
    }

    /// Whether calls of a tool need a verified user.
    pub fn is_protected(&self, tool: &FlowTool) -> bool {
        let is_of_task = |it: &AgentTask| it.flag == TaskFlag::Sensitive && it.tool_names.contains(&tool.id);
        tool.sensitive || self.tasks.iter().any(is_of_task)
    }

    /// Whether a guardrail masks parts of replies.
    pub fn masks_replies(&self) -> bool {
        self.guardrails.iter().any(|it| matches!(it.kind, GuardrailKind::Redact(_)))
    }

    /// Whether a guardrail verifies the user.
    pub fn verifies_user(&self) -> bool {
        self.guardrails.iter().any(|it| matches!(it.kind, GuardrailKind::Auth(_)))
    }
}

impl AgentTask {
    fn read(fields: Fields<'_>) -> AgentTask {
        let flags = [("SENSITIVE", TaskFlag::Sensitive), ("FALLBACK", TaskFlag::Fallback)];
        AgentTask {
            id: fields.string("id"),
            examples: fields.strings("examples").iter().map(|it| Phrase::without_accents(it)).collect(),
            needs: fields.strings("needs"),
            tool_names: fields.strings("tool_names"),
            flag: fields.keyword("flag", &flags).unwrap_or_default(),
        }
    }
}

fn read_persona(fields: Fields<'_>) -> String {
    let list = |name: &str, separator: &str| Some(fields.strings(name).join(separator)).filter(|it| !it.trim().is_empty());
    let title = fields.text("title").filter(|it| !it.trim().is_empty()).map(|it| format!("Your role: {it}"));
    let tone = list("tone", ", ").map(|it| format!("Your tone: {it}"));
    let voice = fields.text("voice").filter(|it| !it.trim().is_empty()).map(|it| format!("Your voice: {it}"));
    let boundaries = list("boundaries", "\n- ").map(|it| format!("Your boundaries:\n- {it}"));
    [title, tone, voice, boundaries].into_iter().flatten().collect::<Vec<_>>().join("\n")
}

impl Document {
    /// Reads an AI agent whose structure has been checked.
    pub fn read_agent(source: &Value) -> Document {
        let fields = Fields(source);
        let id = fields.string("id");
        let base = json!({
            "id": id, "name": fields.string("name"), "root": id, "graphs": [agent_graph(source)], "tools": fields.value("tools"),
            "default_time_zone": fields.value("default_time_zone"),
        });
        let mut document = Document::read(&base);
        document.settings.daily_spend_cap_cents = fields.count("daily_spend_cap_cents");
        Document { agent: Some(Box::new(AgentPolicy::read(fields))), ..document }
    }
}

/// Returns the graph of an AI agent as it would be written in a document.
pub fn agent_graph(source: &Value) -> Value {
    let fields = Fields(source);
    let tools: Vec<Value> = fields.list("tools", |it| json!({"tool": it.string("id")}));
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
