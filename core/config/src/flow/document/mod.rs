//! The typed form of a flow document. (docs/spec/flows.md#3)

mod ai_agent;
mod assignment;
pub mod chain;
mod fields;
mod guardrail;
mod handoff;
mod knowledge;
mod message;
mod node;
mod node_traits;
mod program;
mod python;
mod repair;
mod service;
mod slot;
mod text;
mod top_level;
mod workflow;

pub use ai_agent::{AgentPolicy, AgentTask, HANDOFF_REASON, MemorySlot, TaskFlag, agent_graph};
pub use assignment::{AssignOp, Assignment, SetData};
pub use guardrail::{CallLimit, Escalation, Guardrail, GuardrailKind, Refusal, ReplyMask};
pub use handoff::{HandoffData, HandoffMode};
pub use knowledge::{Citations, KnowledgeData, QueryPart};
pub use message::{Block, Button, Card, ListItem};
pub use node::{
    AgentData, AgentMemory, AgentOutput, AgentTool, Approval, Await, CallMode, EndData, FallbackData, FallbackOn, IntentData, MemoryReset,
    MessageData, Node, NodeKind, OnError, Selection, StartData, SubflowData,
};
pub use node_traits::{Branching, Failing, NodeTraits, Waiting};
pub use program::{ProgramData, ProgramKind};
pub use python::PythonData;
pub use repair::{CommandRule, RepairRules, command_name};
pub use service::{
    FINISH, FlowTool, HttpRequestDef, OutputMapping, REMEMBER, REQUEST_HUMAN, Retry, SEARCH_KNOWLEDGE, ServiceData, ValueType, is_built_in,
};
pub use slot::{Ask, EntityData, Validation};
pub use text::{FlowCondition, FlowFormula, FlowTemplate, LocalizedText, ValueTemplate};
pub use workflow::DRAFT_TYPES;

use std::collections::BTreeMap;

use convengine_text::variable_path::VariablePath;
use serde_json::Value;

/// A flow document.
#[derive(Debug, Clone)]
pub struct Document {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The locale of texts without one.
    pub default_locale: String,
    /// The time zone of sessions without one, by its IANA name.
    pub default_time_zone: Option<String>,
    /// The time zones of channels, which come before it.
    pub time_zones: BTreeMap<String, String>,
    /// The declared locales.
    pub locales: Vec<String>,
    /// The id of the graph in which sessions start.
    pub root: String,
    /// Its graphs.
    pub graphs: Vec<GraphDef>,
    /// Its intents.
    pub intents: Vec<IntentDef>,
    /// Its entities.
    pub entities: Vec<EntityDef>,
    /// Its tools.
    pub tools: Vec<FlowTool>,
    /// Its small talk.
    pub small_talk: Vec<SmallTalkDef>,
    /// Replies to events.
    pub events: EventReplies,
    /// Its settings.
    pub settings: FlowSettings,
    /// The declared variables.
    pub variables: Vec<Variable>,
    /// Its string table: by locale and key, or by key alone.
    pub strings: convengine_turn::Map,
    /// Its wording of what the engine says, by name.
    pub engine_texts: Vec<(String, LocalizedText)>,
    /// What it changes of the repair of conversations.
    pub repair: RepairRules,
    /// What only an AI agent has.
    pub agent: Option<Box<AgentPolicy>>,
}

/// A graph.
#[derive(Debug, Clone)]
pub struct GraphDef {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: GraphKind,
    /// The id of the node at which it starts.
    pub entry: String,
    /// Its nodes.
    pub nodes: Vec<Node>,
    /// Its edges.
    pub edges: Vec<EdgeDef>,
    /// Its parameters.
    pub params: Vec<Param>,
    /// Its return values.
    pub returns: Vec<Param>,
    /// The ports by which it may be left, besides `out`.
    pub exits: Vec<String>,
}

/// The kind of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphKind {
    /// The graph in which sessions start.
    Root,
    /// The graph of an intent.
    Intent,
    /// A graph that other graphs call.
    Subflow,
}

/// An edge.
#[derive(Debug, Clone)]
pub struct EdgeDef {
    /// Its id.
    pub id: String,
    /// The source node.
    pub source: String,
    /// The port of the source node.
    pub source_port: String,
    /// The target node.
    pub target: String,
    /// Lower priorities are evaluated first.
    pub priority: i64,
    /// The condition under which it is taken.
    pub condition: Option<EdgeCondition>,
}

/// The condition of an edge.
#[derive(Debug, Clone)]
pub struct EdgeCondition {
    /// The expression.
    pub expr: FlowCondition,
}

/// A parameter or return value of a graph.
#[derive(Debug, Clone)]
pub struct Param {
    /// Its name.
    pub name: VariablePath,
    /// Its type.
    pub kind: Option<ValueType>,
    /// Whether callers must pass it.
    pub required: bool,
    /// Its default.
    pub default: Option<Value>,
}

/// An intent.
#[derive(Debug, Clone)]
pub struct IntentDef {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its name for users; blank when `name` is one.
    pub label: LocalizedText,
    /// Its description.
    pub description: String,
    /// Phrases that match it.
    pub phrases: Vec<String>,
    /// Phrases that rule it out.
    pub negative_phrases: Vec<String>,
    /// The lowest priority wins.
    pub priority: i64,
    /// The id of its graph.
    pub graph: String,
    /// Values that it collects on entry.
    pub parameters: Vec<IntentParameter>,
    /// Whether it applies when no other intent matches.
    pub is_fallback: bool,
    /// Whether it may interrupt an open question.
    pub interrupts: bool,
    /// The knowledge sources of its nodes; all sources when absent.
    pub knowledge_sources: Option<Vec<String>>,
    /// Whether it is enabled.
    pub enabled: bool,
}

/// A value that an intent collects.
#[derive(Debug, Clone)]
pub struct IntentParameter {
    /// The variable that stores the value.
    pub variable: VariablePath,
    /// Its entity type.
    pub entity: String,
    /// Whether the intent fails without it.
    pub required: bool,
    /// Whether the user is asked for it; otherwise it is only extracted from the message that started the intent.
    pub is_prompted: bool,
    /// Whether it keeps what an earlier request has left.
    pub keep: bool,
    /// Whether it takes every text, also what is plainly no answer.
    pub takes_anything: bool,
    /// What answers somebody who asks why.
    pub help: Option<LocalizedText>,
    /// The prompt.
    pub prompt: LocalizedText,
    /// The reprompts.
    pub reprompt: Vec<LocalizedText>,
}

/// An entity of a document.
#[derive(Debug, Clone)]
pub struct EntityDef {
    /// Its id.
    pub id: String,
    /// `list` or `regex`.
    pub kind: String,
    /// The values of a list.
    pub entries: Vec<ListEntry>,
    /// The patterns of a regex.
    pub patterns: Vec<String>,
    /// Whether the patterns match in any case.
    pub ignores_case: bool,
    /// The capture group that holds the value.
    pub group: Option<String>,
    /// Its tolerance for typos.
    pub fuzzy: FuzzyMatching,
    /// Phrases in which no value of it is meant.
    pub negative_phrases: Vec<String>,
    /// Whether its values are redacted in logs.
    pub redact: bool,
}

/// A value of a list.
#[derive(Debug, Clone)]
pub struct ListEntry {
    /// The value.
    pub value: String,
    /// Its synonyms.
    pub synonyms: Vec<String>,
    /// Its name for users; blank when the value is one.
    pub label: LocalizedText,
}

/// The tolerance of a list entity for typos.
#[derive(Debug, Clone, Copy, Default)]
pub struct FuzzyMatching {
    /// Maximum edit distance, at most two.
    pub max_edits: u8,
}

/// A small talk entry.
#[derive(Debug, Clone)]
pub struct SmallTalkDef {
    /// Its id.
    pub id: String,
    /// Patterns of user messages.
    pub patterns: Vec<String>,
    /// Variants of the reply.
    pub responses: Vec<LocalizedText>,
    /// Minimum similarity of a match.
    pub min_score: f64,
    /// What happens after the reply.
    pub after: Continuation,
}

/// What happens after a reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Continuation {
    /// The session continues.
    #[default]
    Continue,
    /// The session ends.
    EndSession,
}

/// Replies to events.
#[derive(Debug, Clone)]
pub struct EventReplies {
    /// On the start of a session.
    pub welcome: EventReply,
    /// When no intent matches.
    pub fallback: EventReply,
    /// When the user does not answer.
    pub no_input: NoInputReply,
}

/// The reply to an event.
#[derive(Debug, Clone, Default)]
pub struct EventReply {
    /// Whether it is enabled.
    pub enabled: bool,
    /// The message.
    pub message: Option<LocalizedText>,
    /// The id of a graph to run.
    pub graph: Option<String>,
}

/// The reply when the user does not answer.
#[derive(Debug, Clone)]
pub struct NoInputReply {
    /// Whether it is enabled.
    pub enabled: bool,
    /// The message.
    pub message: Option<LocalizedText>,
    /// The id of a graph to run.
    pub graph: Option<String>,
    /// Maximum number of times in a row.
    pub max_times: u32,
    /// What happens after the last time.
    pub then: Continuation,
}

/// Settings of a document.
#[derive(Debug, Clone)]
pub struct FlowSettings {
    /// Seconds until the no-input event; 0 for never.
    pub no_input_timeout_s: u64,
    /// Seconds until an idle session expires.
    pub session_timeout_s: u64,
    /// Days for which sessions are retained.
    pub retention_days: Option<u32>,
    /// Monthly budget for model calls, in cents.
    pub monthly_llm_spend_cap_cents: Option<u64>,
    /// Daily budget of an AI agent for model calls, in cents.
    pub daily_spend_cap_cents: Option<u64>,
    /// Minimum confidence of an intent chosen by a model.
    pub intent_min_confidence: f64,
    /// Whether a model verifies intents matched by phrases.
    pub llm_verify: bool,
    /// Whether a model may choose an intent.
    pub llm_match: bool,
    /// How messages are matched with intents without a model.
    pub lexical_match: LexicalMatch,
    /// Whether the knowledge base is queried before the fallback.
    pub knowledge_fallback: bool,
    /// Minimum score of a knowledge base answer.
    pub knowledge_fallback_min_score: Option<f64>,
    /// Number of consecutive fallbacks before the limit graph runs.
    pub fallback_limit: u32,
    /// The id of the limit graph.
    pub fallback_limit_graph: Option<String>,
    /// The message for unhandled failures.
    pub error_message: Option<LocalizedText>,
    /// The webhook that is notified of handoffs.
    pub handoff_webhook_url: Option<FlowTemplate>,
    /// Maximum number of nodes that a turn may enter.
    pub max_steps_per_turn: u32,
    /// Maximum depth of graph calls.
    pub max_call_depth: usize,
    /// The version that running sessions use.
    pub version_policy: VersionPolicy,
    /// Models by alias.
    pub models: BTreeMap<String, String>,
}

/// How messages are matched with intents without a model. (docs/spec/flows.md#5.3)
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LexicalMatch {
    /// Whether they are.
    pub enabled: bool,
    /// The confidence from which on an intent is accepted, and no model asked; the one that the phrases give when absent.
    pub accept_above: Option<f64>,
    /// The user is asked which of two intents is meant when their confidences differ by less.
    pub ask_below_margin: f64,
}

/// The document version that running sessions use. (docs/spec/flows.md#13.2)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionPolicy {
    /// The version on which the session started.
    Pin,
    /// The newest, once the session is back in the root graph and awaits no input.
    MigrateAtRoot,
    /// The newest, always.
    MigrateEager,
}

/// A declared variable.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its path.
    pub name: VariablePath,
    /// Its type.
    pub kind: ValueType,
    /// Its initial value.
    pub default: Option<Value>,
    /// Whether its value is redacted in logs.
    pub redact: bool,
}
