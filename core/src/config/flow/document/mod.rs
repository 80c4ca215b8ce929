//! A flow document as the walker reads it. (`convoship.md` 3)

mod message;
mod node;
mod service;
mod text;

pub use message::{Block, Button, Card, ListItem};
pub use node::{
    AgentData, AgentMemory, AgentOutput, AgentTool, Approval, Ask, Assign, AssignOp, Await, CallMode, EndData, EntityData, FallbackData,
    FallbackOn, IntentData, MemoryReset, MessageData, Node, NodeKind, OnError, Selection, SetData, StartData, SubflowData, Validation,
};
pub use service::{FlowTool, OutputMap, RequestForm, Retry, ServiceData, ValueType};
pub use text::{Condition, Filling, Formula, LocalizedText, Template};

use serde::Deserialize;
use serde_json::Value;

use crate::text::path::Path;

/// A flow document.
#[derive(Debug, Clone, Deserialize)]
pub struct Document {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The locale of texts that do not say one.
    #[serde(default = "english")]
    pub default_locale: String,
    /// The locales that it declares.
    #[serde(default)]
    pub locales: Vec<String>,
    /// The graph in which sessions begin.
    pub root: String,
    /// Its graphs.
    pub graphs: Vec<GraphForm>,
    /// Its intents.
    #[serde(default)]
    pub intents: Vec<IntentForm>,
    /// Its entities.
    #[serde(default)]
    pub entities: Vec<EntityForm>,
    /// Its tools.
    #[serde(default)]
    pub tools: Vec<FlowTool>,
    /// Small talk.
    #[serde(default)]
    pub small_talk: Vec<SmallTalkForm>,
    /// What is said on events.
    #[serde(default)]
    pub events: Events,
    /// How it runs.
    #[serde(default)]
    pub settings: FlowSettings,
    /// Variables that it declares.
    #[serde(default)]
    pub variables: Vec<Variable>,
}

/// A graph.
#[derive(Debug, Clone, Deserialize)]
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
    #[serde(default)]
    pub params: Vec<Param>,
    /// What it returns.
    #[serde(default)]
    pub returns: Vec<Param>,
    /// The ports by which it may be left beside `out`.
    #[serde(default)]
    pub exits: Vec<String>,
}

/// What a graph is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GraphKind {
    /// Where sessions begin.
    Root,
    /// An intent.
    Intent,
    /// What other graphs call.
    Subflow,
}

/// An edge.
#[derive(Debug, Clone, Deserialize)]
pub struct EdgeForm {
    /// Its id.
    pub id: String,
    /// Where it begins.
    pub source: String,
    /// At which port.
    #[serde(default = "out")]
    pub source_port: String,
    /// Where it leads.
    pub target: String,
    /// Lower ones are looked at first.
    #[serde(default = "hundred")]
    pub priority: i64,
    /// When it is taken.
    pub condition: Option<EdgeCondition>,
}

/// When an edge is taken.
#[derive(Debug, Clone, Deserialize)]
pub struct EdgeCondition {
    /// The condition.
    pub expr: Condition,
}

/// A parameter or a return of a graph.
#[derive(Debug, Clone, Deserialize)]
pub struct Param {
    /// Its name.
    pub name: Path,
    /// What it has to be.
    #[serde(rename = "type")]
    pub kind: Option<ValueType>,
    /// Whether callers have to give it.
    #[serde(default)]
    pub required: bool,
    /// What it is otherwise.
    pub default: Option<Value>,
}

/// An intent.
#[derive(Debug, Clone, Deserialize)]
pub struct IntentForm {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What users want with it.
    #[serde(default)]
    pub description: String,
    /// What they say.
    #[serde(default)]
    pub phrases: Vec<String>,
    /// What they say when they do not want it.
    #[serde(default)]
    pub negative_phrases: Vec<String>,
    /// Lower ones win.
    #[serde(default = "hundred")]
    pub priority: i64,
    /// Its graph.
    pub graph: String,
    /// Values that it collects first.
    #[serde(default)]
    pub parameters: Vec<EntityForParameter>,
    /// Whether it is what is left when no other matches.
    #[serde(default)]
    pub is_fallback: bool,
    /// Whether it may come between a question and its answer.
    #[serde(default = "yes")]
    pub interrupts: bool,
    /// Whether it can be matched.
    #[serde(default = "yes")]
    pub enabled: bool,
}

/// A value that an intent collects.
#[derive(Debug, Clone, Deserialize)]
pub struct EntityForParameter {
    /// Where the value goes.
    pub variable: Path,
    /// Its type.
    pub entity: String,
    /// Whether the intent fails without it.
    #[serde(default)]
    pub required: bool,
    /// What is asked.
    #[serde(default)]
    pub prompt: LocalizedText,
    /// What is asked again.
    #[serde(default)]
    pub reprompt: Vec<LocalizedText>,
}

/// An entity of a document.
#[derive(Debug, Clone, Deserialize)]
pub struct EntityForm {
    /// Its id.
    pub id: String,
    /// `list` or `regex`.
    pub kind: String,
    /// The values of a list.
    #[serde(default)]
    pub entries: Vec<ListEntry>,
    /// The patterns of a regex.
    #[serde(default)]
    pub patterns: Vec<String>,
    /// The group of a pattern that is the value.
    pub group: Option<String>,
    /// How many letters may differ.
    #[serde(default)]
    pub fuzzy: Fuzzy,
    /// Whether its values stay out of logs.
    #[serde(default)]
    pub redact: bool,
}

/// A value of a list.
#[derive(Debug, Clone, Deserialize)]
pub struct ListEntry {
    /// The value.
    pub value: String,
    /// What else it is called.
    #[serde(default)]
    pub synonyms: Vec<String>,
}

/// How many letters may differ.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub struct Fuzzy {
    /// At most two.
    #[serde(default)]
    pub max_edits: u8,
}

/// Small talk.
#[derive(Debug, Clone, Deserialize)]
pub struct SmallTalkForm {
    /// Its id.
    pub id: String,
    /// What users say.
    pub patterns: Vec<String>,
    /// What is said back.
    pub responses: Vec<LocalizedText>,
    /// How much alike they have to be.
    #[serde(default = "four_fifths")]
    pub min_score: f64,
    /// What follows.
    #[serde(default)]
    pub after: AfterTalk,
}

/// What follows small talk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterTalk {
    /// Nothing.
    #[default]
    Continue,
    /// The session ends.
    EndSession,
}

/// What is said on events.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Events {
    /// When a session starts.
    pub welcome: Event,
    /// When nothing matches.
    pub fallback: Event,
    /// When nobody answers.
    pub no_input: NoInput,
}

/// What is said on an event.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Event {
    /// Whether it is.
    pub enabled: bool,
    /// What is said.
    pub message: Option<LocalizedText>,
    /// What runs then.
    pub graph: Option<String>,
}

/// What is said when nobody answers.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
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

impl Default for NoInput {
    fn default() -> Self {
        NoInput { enabled: false, message: None, graph: None, max_times: 2, then: AfterTalk::Continue }
    }
}

/// How a document runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
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

impl Default for FlowSettings {
    fn default() -> Self {
        FlowSettings {
            no_input_timeout_s: 0,
            session_timeout_s: 1800,
            retention_days: None,
            monthly_llm_spend_cap_cents: None,
            intent_min_confidence: 0.6,
            llm_verify: true,
            llm_match: true,
            knowledge_fallback: false,
            knowledge_fallback_min_score: None,
            fallback_limit: 3,
            fallback_limit_graph: None,
            error_message: None,
            handoff_webhook_url: None,
            max_steps_per_turn: 64,
            max_call_depth: 16,
            version_policy: VersionPolicy::Pin,
            models: std::collections::BTreeMap::new(),
        }
    }
}

/// Which version a running session uses. (`convoship.md` 13.2)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VersionPolicy {
    /// The one that it began on.
    Pin,
    /// The newest, once nothing is open.
    MigrateAtRoot,
    /// The newest.
    MigrateEager,
}

/// A declared variable.
#[derive(Debug, Clone, Deserialize)]
pub struct Variable {
    /// Its path.
    pub name: Path,
    /// What it has to be.
    #[serde(rename = "type")]
    pub kind: ValueType,
    /// What it is at first.
    pub default: Option<Value>,
    /// Whether it stays out of logs.
    #[serde(default)]
    pub redact: bool,
}

fn english() -> String {
    "en".to_owned()
}

fn out() -> String {
    "out".to_owned()
}

fn hundred() -> i64 {
    100
}

fn yes() -> bool {
    true
}

fn four_fifths() -> f64 {
    0.8
}
