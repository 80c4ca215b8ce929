//! A flow document as the walker reads it. (`convoship.md` 3)

mod assign;
mod message;
mod node;
mod read;
mod service;
mod slot;
mod text;
mod whole;

pub use assign::{Assign, AssignOp, SetData};
pub use message::{Block, Button, Card, ListItem};
pub use node::{
    AgentData, AgentMemory, AgentOutput, AgentTool, Approval, Await, CallMode, EndData, FallbackData, FallbackOn, IntentData, MemoryReset,
    MessageData, Node, NodeKind, OnError, Selection, StartData, SubflowData,
};
pub use service::{FINISH, FlowTool, OutputMap, REQUEST_HUMAN, RequestForm, Retry, ServiceData, ValueType, is_built_in};
pub use slot::{Ask, EntityData, Validation};
pub use text::{Condition, Filling, Formula, LocalizedText, Template};

use serde_json::Value;

use crate::text::path::Path;

/// A flow document.
#[derive(Debug, Clone)]
pub struct Document {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The locale of texts that do not say one.
    pub default_locale: String,
    /// The locales that it declares.
    pub locales: Vec<String>,
    /// The graph in which sessions begin.
    pub root: String,
    /// Its graphs.
    pub graphs: Vec<GraphForm>,
    /// Its intents.
    pub intents: Vec<IntentForm>,
    /// Its entities.
    pub entities: Vec<EntityForm>,
    /// Its tools.
    pub tools: Vec<FlowTool>,
    /// Small talk.
    pub small_talk: Vec<SmallTalkForm>,
    /// What is said on events.
    pub events: Events,
    /// How it runs.
    pub settings: FlowSettings,
    /// Variables that it declares.
    pub variables: Vec<Variable>,
    /// Its table of texts: by locale and key, or by key alone.
    pub strings: crate::turn::Map,
}

/// A graph.
#[derive(Debug, Clone)]
pub struct GraphForm {
    /// Its id.
    pub id: String,
    /// What it is for.
    pub kind: GraphKind,
    /// The node at which it begins.
    pub entry: String,
    /// Its nodes.
    pub nodes: Vec<Node>,
    /// Its edges.
    pub edges: Vec<EdgeForm>,
    /// What callers give it.
    pub params: Vec<Param>,
    /// What it returns.
    pub returns: Vec<Param>,
    /// The ports by which it may be left beside `out`.
    pub exits: Vec<String>,
}

/// What a graph is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphKind {
    /// Where sessions begin.
    Root,
    /// An intent.
    Intent,
    /// What other graphs call.
    Subflow,
}

/// An edge.
#[derive(Debug, Clone)]
pub struct EdgeForm {
    /// Its id.
    pub id: String,
    /// Where it begins.
    pub source: String,
    /// At which port.
    pub source_port: String,
    /// Where it leads.
    pub target: String,
    /// Lower ones are looked at first.
    pub priority: i64,
    /// When it is taken.
    pub condition: Option<EdgeCondition>,
}

/// When an edge is taken.
#[derive(Debug, Clone)]
pub struct EdgeCondition {
    /// The condition.
    pub expr: Condition,
}

/// A parameter or a return of a graph.
#[derive(Debug, Clone)]
pub struct Param {
    /// Its name.
    pub name: Path,
    /// What it has to be.
    pub kind: Option<ValueType>,
    /// Whether callers have to give it.
    pub required: bool,
    /// What it is otherwise.
    pub default: Option<Value>,
}

/// An intent.
#[derive(Debug, Clone)]
pub struct IntentForm {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What users want with it.
    pub description: String,
    /// What they say.
    pub phrases: Vec<String>,
    /// What they say when they do not want it.
    pub negative_phrases: Vec<String>,
    /// Lower ones win.
    pub priority: i64,
    /// Its graph.
    pub graph: String,
    /// Values that it collects first.
    pub parameters: Vec<EntityForParameter>,
    /// Whether it is what is left when no other matches.
    pub is_fallback: bool,
    /// Whether it may come between a question and its answer.
    pub interrupts: bool,
    /// Whether it can be matched.
    pub enabled: bool,
}

/// A value that an intent collects.
#[derive(Debug, Clone)]
pub struct EntityForParameter {
    /// Where the value goes.
    pub variable: Path,
    /// Its type.
    pub entity: String,
    /// Whether the intent fails without it.
    pub required: bool,
    /// Whether it is asked for; one that is not is only looked for in the message that began the intent.
    pub asks: bool,
    /// What is asked.
    pub prompt: LocalizedText,
    /// What is asked again.
    pub reprompt: Vec<LocalizedText>,
}

/// An entity of a document.
#[derive(Debug, Clone)]
pub struct EntityForm {
    /// Its id.
    pub id: String,
    /// `list` or `regex`.
    pub kind: String,
    /// The values of a list.
    pub entries: Vec<ListEntry>,
    /// The patterns of a regex.
    pub patterns: Vec<String>,
    /// The group of a pattern that is the value.
    pub group: Option<String>,
    /// How many letters may differ.
    pub fuzzy: Fuzzy,
    /// Whether its values stay out of logs.
    pub redact: bool,
}

/// A value of a list.
#[derive(Debug, Clone)]
pub struct ListEntry {
    /// The value.
    pub value: String,
    /// What else it is called.
    pub synonyms: Vec<String>,
}

/// How many letters may differ.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fuzzy {
    /// At most two.
    pub max_edits: u8,
}

/// Small talk.
#[derive(Debug, Clone)]
pub struct SmallTalkForm {
    /// Its id.
    pub id: String,
    /// What users say.
    pub patterns: Vec<String>,
    /// What is said back.
    pub responses: Vec<LocalizedText>,
    /// How much alike they have to be.
    pub min_score: f64,
    /// What follows.
    pub after: AfterTalk,
}

/// What follows small talk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AfterTalk {
    /// Nothing.
    #[default]
    Continue,
    /// The session ends.
    EndSession,
}

/// What is said on events.
#[derive(Debug, Clone)]
pub struct Events {
    /// When a session starts.
    pub welcome: Event,
    /// When nothing matches.
    pub fallback: Event,
    /// When nobody answers.
    pub no_input: NoInput,
}

/// What is said on an event.
#[derive(Debug, Clone, Default)]
pub struct Event {
    /// Whether it is.
    pub enabled: bool,
    /// What is said.
    pub message: Option<LocalizedText>,
    /// What runs then.
    pub graph: Option<String>,
}

/// What is said when nobody answers.
#[derive(Debug, Clone)]
pub struct NoInput {
    /// Whether it is.
    pub enabled: bool,
    /// What is said.
    pub message: Option<LocalizedText>,
    /// What runs then.
    pub graph: Option<String>,
    /// How often.
    pub max_times: u32,
    /// What follows.
    pub then: AfterTalk,
}

/// How a document runs.
#[derive(Debug, Clone)]
pub struct FlowSettings {
    /// Seconds until nobody has answered; 0 for never.
    pub no_input_timeout_s: u64,
    /// Seconds until a session is abandoned.
    pub session_timeout_s: u64,
    /// Days for which sessions are kept.
    pub retention_days: Option<u32>,
    /// What models may cost in a month.
    pub monthly_llm_spend_cap_cents: Option<u64>,
    /// How sure a model has to be of an intent.
    pub intent_min_confidence: f64,
    /// Whether a model looks at what phrases matched.
    pub llm_verify: bool,
    /// Whether a model looks for an intent.
    pub llm_match: bool,
    /// Whether knowledge is asked before the fallback.
    pub knowledge_fallback: bool,
    /// How sure it has to be.
    pub knowledge_fallback_min_score: Option<f64>,
    /// How many fallbacks in a row are answered as usual.
    pub fallback_limit: u32,
    /// What runs after that.
    pub fallback_limit_graph: Option<String>,
    /// What is said of failures that nobody handles.
    pub error_message: Option<LocalizedText>,
    /// Where transfers to people are told.
    pub handoff_webhook_url: Option<String>,
    /// Nodes that a turn may enter.
    pub max_steps_per_turn: u32,
    /// How deep graphs may call.
    pub max_call_depth: usize,
    /// Which version a running session uses.
    pub version_policy: VersionPolicy,
    /// Models by alias.
    pub models: std::collections::BTreeMap<String, String>,
}

/// Which version a running session uses. (`convoship.md` 13.2)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionPolicy {
    /// The one that it began on.
    Pin,
    /// The newest, once nothing is open.
    MigrateAtRoot,
    /// The newest.
    MigrateEager,
}

/// A declared variable.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its path.
    pub name: Path,
    /// What it has to be.
    pub kind: ValueType,
    /// What it is at first.
    pub default: Option<Value>,
    /// Whether it stays out of logs.
    pub redact: bool,
}
