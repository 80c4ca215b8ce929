//! The typed form of a flow document. (docs/spec/flows.md#3)

mod ai_agent;
pub mod chain;
mod guardrail;
mod node;
mod repair;
mod service;
mod text;
mod top_level;
mod workflow;

pub use ai_agent::{AgentDocument, AgentPolicy, AgentTask, Eval, HANDOFF_REASON, MemorySlot, TaskFlag, agent_graph};
pub use guardrail::{CallLimit, CountedCalls, Escalation, Guardrail, GuardrailKind, Refusal, ReplyMask};
pub use node::*;
pub use repair::{CommandRule, RepairRules, command_name};
pub use service::{
    FINISH, FlowTool, HttpRequestDef, InputSchema, OutputMapping, REMEMBER, REQUEST_HUMAN, ResponsePath, Retry, SEARCH_KNOWLEDGE,
    ValueType, is_built_in,
};
pub use text::{FlowCondition, FlowFormula, FlowTemplate, LocalizedText, ValueTemplate};
pub use workflow::WorkflowDocument;

use std::collections::BTreeMap;

use convengine_derive::Described;
use convengine_text::locale::EngineText;
use convengine_text::variable_path::VariablePath;
use convengine_turn::Map;
use serde_json::Value;

use self::repair::RepairDef;
use super::shape::{ENGINE_TEXT, MemberShape, Shape, Unread};

/// The wording of what the engine says.
const ENGINE_TEXTS: Shape = Shape::Ref(&super::shape::Definition {
    name: "EngineTexts",
    shape: Shape::ClosedObject(&[&ENGINE_TEXT_MEMBERS]),
    role: super::shape::Role::Part,
    help: "Other words for the [texts of the engine](engine-texts.md); here a text by locale needs no `default`.",
});

const ENGINE_TEXT_MEMBERS: [MemberShape; EngineText::ALL.len()] = {
    let mut members = [MemberShape::new("", ENGINE_TEXT); EngineText::ALL.len()];
    let mut rest: &[EngineText] = &EngineText::ALL;
    let mut to_name: &mut [MemberShape] = &mut members;
    while let ([text, others @ ..], [member, unnamed @ ..]) = (rest, to_name) {
        member.name = text.name();
        member.help = text.meaning();
        (rest, to_name) = (others, unnamed);
    }
    members
};

// Issues are reported in the order of the members, so graphs come last.
/// A flow document.
#[derive(Debug, Clone, Described)]
#[described(definition = "ConversationFlow")]
pub struct Document {
    /// Version of the format.
    #[member(required, shape = SCHEMA_VERSION)]
    pub schema_version: Unread<String>,
    /// Kind of document.
    #[member(required, shape = Const("conversation_flow", "D001"))]
    pub doc: Unread<String>,
    /// Id of the assistant.
    #[member(required, shape = ID)]
    pub id: String,
    /// Display name.
    #[member(required, shape = NAME)]
    pub name: String,
    /// Locale of texts without one; `en` when absent.
    #[member(shape = PatternText(Pattern::Locale), default = "en", example = r#""en-US""#)]
    pub default_locale: String,
    /// Time zone of sessions without one; `UTC` when absent.
    #[member(shape = PatternText(Pattern::TimeZone), example = r#""Europe/Berlin""#)]
    pub default_time_zone: Option<String>,
    /// Time zones by channel, which come before `default_time_zone`.
    #[member(each = PatternText(Pattern::TimeZone))]
    pub time_zones: BTreeMap<String, String>,
    /// Locales in which texts must exist (`D008`).
    #[member(each = PatternText(Pattern::Locale))]
    pub locales: Vec<String>,
    /// Id of the graph in which sessions start.
    #[member(required, shape = ID, meaning = Names(Graph))]
    pub root: String,
    /// What users want, and which graph handles it.
    #[member(unique = Id)]
    pub intents: Vec<IntentDef>,
    /// Kinds of values of its own.
    #[member(unique = Id)]
    pub entities: Vec<EntityDef>,
    /// Services that nodes and agents call.
    #[member(unique = Id)]
    pub tools: Vec<FlowTool>,
    /// Messages that are answered without leaving the current node.
    #[member(unique = Id)]
    pub small_talk: Vec<SmallTalkDef>,
    /// Answers to the start of a session, to messages that nothing matches, and to silence.
    pub events: EventReplies,
    /// Limits and defaults.
    pub settings: FlowSettings,
    /// Other words for what the engine itself says.
    #[member(shape = ENGINE_TEXTS)]
    pub engine_texts: Vec<(String, LocalizedText)>,
    /// Overrides for conversation repair.
    #[member(from = RepairDef)]
    pub repair: RepairRules,
    /// Declared variables.
    pub variables: Vec<Variable>,
    /// Names of variables that pages may set at the start, beside those with `input`.
    pub inputs: Unread<Vec<VariablePath>>,
    /// Texts by locale and key, for `{{ strings.KEY }}` and the [filter `t`](templates.md#t).
    pub strings: Map,
    /// Free for tools; `meta.migrations` is read when sessions move to another version.
    pub meta: Option<Unread<Map>>,
    /// The graphs.
    #[member(required, items(1, 500), unique = Id, codes("D001", "D005"))]
    pub graphs: Vec<GraphDef>,
    /// What only an AI agent has.
    #[member(skip)]
    pub agent: Option<Box<AgentPolicy>>,
}

/// A graph of nodes. There is exactly one of the kind `root`.
#[derive(Debug, Clone, Described)]
#[described(definition = "Graph", role = Graph)]
pub struct GraphDef {
    /// Unique id.
    #[member(required, shape = ID)]
    pub id: String,
    /// `root`: sessions start here; `intent`: the graph of an intent; `subflow`: called by other graphs.
    #[member(required)]
    pub kind: GraphKind,
    /// Display name.
    pub name: Option<Unread<String>>,
    /// Id of the first node; in an intent's graph an `intent` node.
    #[member(required, shape = ID, meaning = Names(Node))]
    pub entry: String,
    /// Values that callers pass; a graph with `params` or `returns` has a scope of its own.
    pub params: Vec<Param>,
    /// Values that it returns.
    pub returns: Vec<Param>,
    /// Ports by which it may be left, beside `out`.
    #[member(each = ID)]
    pub exits: Vec<String>,
    /// The edges.
    #[member(required, items(0, 4000), unique = Id, codes("D001", "D005"))]
    pub edges: Vec<EdgeDef>,
    /// The nodes.
    #[member(required, items(1, 1000), unique = IdAndName, codes("D001", "D005"))]
    pub nodes: Vec<Node>,
}

/// The kind of a graph.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum GraphKind {
    /// The graph in which sessions start.
    Root,
    /// The graph of an intent.
    Intent,
    /// A graph that other graphs call.
    #[default]
    Subflow,
}

/// Leads from a port of a node to another node.
#[derive(Debug, Clone, Described)]
#[described(definition = "Edge", role = Item)]
pub struct EdgeDef {
    /// Unique id within the graph.
    #[member(required, shape = ID)]
    pub id: String,
    /// Id of the node that it leaves.
    #[member(required, shape = ID, meaning = Names(Node))]
    pub source: String,
    /// Port that it leaves.
    #[member(default = "out", meaning = Names(Port))]
    pub source_port: String,
    /// Id of the node that it leads to.
    #[member(required, shape = ID, meaning = Names(Node))]
    pub target: String,
    /// Always `in`.
    #[member(shape = Enum(&["in"]), documented_default = r#""in""#)]
    pub target_port: Option<Unread<String>>,
    /// Text for editors; no effect.
    pub label: Option<Unread<String>>,
    /// Of several edges of one port, lower is tried first; equal ones in document order.
    #[member(default = 100)]
    pub priority: i64,
    /// When it may be taken; an edge without one always may.
    pub condition: Option<EdgeCondition>,
}

/// The condition of an edge.
#[derive(Debug, Clone, Described)]
pub struct EdgeCondition {
    /// The [expression](expressions.md).
    #[member(required, example = r#""order.total > 100""#)]
    pub expr: FlowCondition,
}

/// A value that a graph takes or returns.
#[derive(Debug, Clone, Described)]
#[described(definition = "Param")]
pub struct Param {
    /// Name in the scope of the graph.
    #[member(required)]
    pub name: VariablePath,
    /// Required type.
    #[member(name = "type")]
    pub kind: Option<ValueType>,
    /// Whether callers must pass it; without it or a default the call fails with `param_missing`.
    pub required: bool,
    /// Value when callers pass none.
    #[member(keep_null)]
    pub default: Option<Value>,
}

/// What a user may want.
#[derive(Debug, Clone, Described)]
#[described(definition = "Intent", role = Item)]
pub struct IntentDef {
    /// Unique id.
    #[member(required, shape = ID)]
    pub id: String,
    /// Display name.
    #[member(required, shape = NAME)]
    pub name: String,
    /// Name for users, where the engine asks which of two intents is meant; default `name`.
    #[member(meaning = Plain)]
    pub label: LocalizedText,
    /// What it is for, in words; models that choose intents read it.
    pub description: String,
    /// Messages that trigger it; `{variable}` is a [mark](matching.md#marks) that takes the value of a slot.
    #[member(each = NON_EMPTY, example = r#"["where is my order {order.id}", "track a parcel"]"#)]
    pub phrases: Vec<String>,
    /// Messages that never trigger it.
    #[member(each = NON_EMPTY)]
    pub negative_phrases: Vec<String>,
    /// Of several phrases with equally many words in common and the same score, the intent with the lowest number wins.
    #[member(default = 100)]
    pub priority: i64,
    /// Graph that handles it, of the kind `intent`.
    #[member(required, shape = ID, meaning = Names(Graph))]
    pub graph: String,
    /// Values that its `intent` node collects, in order.
    pub parameters: Vec<IntentParameter>,
    /// Begins when no other intent matches; at most one.
    pub is_fallback: bool,
    /// Whether it may interrupt another graph.
    #[member(default = true)]
    pub interrupts: bool,
    /// Ids of the sources that the knowledge nodes of the intent search.
    #[member(each = NON_EMPTY, meaning = Names(Source))]
    pub knowledge_sources: Option<Vec<String>>,
    /// False: it is never matched.
    #[member(default = true)]
    pub enabled: bool,
}

/// A value that an intent collects.
#[derive(Debug, Clone, Described)]
pub struct IntentParameter {
    /// Variable that takes the value.
    #[member(required, meaning = Writes)]
    pub variable: VariablePath,
    /// Built-in type or id of an [entity type](#entity-type).
    #[member(required, shape = NON_EMPTY, meaning = Names(Entity))]
    pub entity: String,
    /// Whether the intent fails without it.
    pub required: bool,
    /// The question; a parameter that has none and is not required takes what was said before it is reached.
    pub prompt: LocalizedText,
    /// Whether it takes over what an earlier request has left.
    pub keep: bool,
    /// `anything`: a free text takes whatever is said.
    pub take: Take,
    /// Answer to a user who asks for the reason.
    pub help: Option<LocalizedText>,
    /// Questions after invalid answers.
    pub reprompt: Vec<LocalizedText>,
}

/// A kind of value of the document. Built-in types are in [entities](entities.md).
#[derive(Debug, Clone, Described)]
#[described(definition = "EntityType", role = Item, tag = "kind")]
pub struct EntityDef {
    /// Unique id.
    #[member(required, shape = ID)]
    pub id: String,
    /// Phrases in which no value is meant: one within them is not read from a message.
    #[member(each = NON_EMPTY)]
    pub negative_phrases: Vec<String>,
    /// The session view, the trace and the history show the variable's name in place of its values; journals and stored sessions keep
    /// them.
    pub redact: bool,
    /// `list`: one of several values with synonyms; `regex`: text that matches a pattern.
    #[member(tag)]
    pub kind: String,
    /// The values.
    #[member(of = "list", required, items(1, NO_MAX_LENGTH), codes("N002", "D001"))]
    pub entries: Vec<ListEntry>,
    /// Tolerance for typing errors.
    #[member(of = "list")]
    pub fuzzy: FuzzyMatching,
    /// Regular expressions, tried in order; case matters unless `ignore_case` is true.
    #[member(of = "regex", required, items(1, NO_MAX_LENGTH), each = NON_EMPTY, meaning = Regex)]
    pub patterns: Vec<String>,
    /// Named group that is the value; else group 1, else the match.
    #[member(of = "regex")]
    pub group: Option<String>,
    /// Whether the patterns match in any case.
    #[member(of = "regex", name = "ignore_case")]
    pub ignores_case: bool,
}

/// A value of a list.
#[derive(Debug, Clone, Described)]
pub struct ListEntry {
    /// Value that is stored.
    #[member(required, shape = NON_EMPTY)]
    pub value: String,
    /// Other spellings.
    #[member(each = NON_EMPTY)]
    pub synonyms: Vec<String>,
    /// Display name if it differs from the value; also a synonym.
    #[member(meaning = Plain)]
    pub label: LocalizedText,
}

/// The tolerance of a list entity for typos.
#[derive(Debug, Clone, Copy, Default, Described)]
pub struct FuzzyMatching {
    /// Letters that may differ; words of fewer than 5 letters must match exactly.
    #[member(shape = Integer(0, 2), default = 0)]
    pub max_edits: u8,
}

/// A message that is answered without changing the place in the conversation.
#[derive(Debug, Clone, Described)]
#[described(definition = "SmallTalk", role = Item)]
pub struct SmallTalkDef {
    /// Unique id.
    #[member(required, shape = ID)]
    pub id: String,
    /// Messages that it matches.
    #[member(required, items(1, NO_MAX_LENGTH), each = NON_EMPTY)]
    pub patterns: Vec<String>,
    /// Answers, of which one is chosen.
    #[member(required, items(1, NO_MAX_LENGTH))]
    pub responses: Vec<LocalizedText>,
    /// Lowest similarity.
    #[member(shape = Number(0, 1), default = 0.8)]
    pub min_score: f64,
    /// `continue` (default) repeats the open question, `end_session` ends the session.
    pub after: Continuation,
}

/// What happens after a reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum Continuation {
    /// The session continues.
    #[default]
    Continue,
    /// The session ends.
    EndSession,
}

/// Answers to events.
#[derive(Debug, Clone, Described)]
#[described(definition = "Events")]
pub struct EventReplies {
    /// Sent when a session starts.
    pub welcome: EventReply,
    /// Sent when nothing matches a message and the graph has no `fallback` node for it.
    pub fallback: EventReply,
    /// Sent when the user is silent.
    pub no_input: NoInputReply,
}

/// The reply to an event.
#[derive(Debug, Clone, Default, Described)]
pub struct EventReply {
    /// Whether it is used; off by default.
    pub enabled: bool,
    /// Text.
    pub message: Option<LocalizedText>,
    /// Graph that runs, in place of a text.
    #[member(shape = ID, meaning = Names(Graph))]
    pub graph: Option<String>,
}

/// The reply when the user does not answer.
#[derive(Debug, Clone, Described)]
pub struct NoInputReply {
    /// Whether it is used; off by default.
    pub enabled: bool,
    /// Text.
    pub message: Option<LocalizedText>,
    /// Graph that runs after the text.
    #[member(shape = ID, meaning = Names(Graph))]
    pub graph: Option<String>,
    /// Times in a row.
    #[member(default = 2)]
    pub max_times: u32,
    /// What follows: `continue` (default) or `end_session`.
    pub then: Continuation,
}

/// Limits and defaults of the assistant.
#[derive(Debug, Clone, Described)]
#[described(definition = "Settings")]
pub struct FlowSettings {
    /// Seconds until a user counts as silent; 0 is never.
    #[member(shape = COUNT, default = 0)]
    pub no_input_timeout_s: u64,
    /// Seconds after the last user event until the session is abandoned.
    #[member(shape = Integer(60, NO_MAX), default = 1800)]
    pub session_timeout_s: u64,
    /// No effect.
    pub retention_days: Option<u32>,
    /// What models may cost in a month; without it there is no limit.
    #[member(shape = COUNT)]
    pub monthly_llm_spend_cap_cents: Option<u64>,
    /// Lowest confidence of an intent that a model chooses.
    #[member(shape = Number(0, 1), default = 0.6)]
    pub intent_min_confidence: f64,
    /// Lets a model verify intents that phrases or their words match.
    #[member(default = true)]
    pub llm_verify: bool,
    /// Lets a model choose the intent when nothing else matches.
    #[member(default = true)]
    pub llm_match: bool,
    /// Matches messages by the words of phrases.
    pub lexical_match: LexicalMatch,
    /// Whether the knowledge base answers what no intent matches.
    pub knowledge_fallback: bool,
    /// Lowest confidence of such an answer.
    #[member(shape = Number(0, 1), documented_default = "0.5")]
    pub knowledge_fallback_min_score: Option<f64>,
    /// Consecutive fallbacks that are answered as usual.
    #[member(shape = POSITIVE, default = 3)]
    pub fallback_limit: u32,
    /// Graph that answers each further one.
    #[member(shape = ID, meaning = Names(Graph))]
    pub fallback_limit_graph: Option<String>,
    /// Text for failures that nothing handles; by default the [engine text](engine-texts.md) `error`.
    pub error_message: Option<LocalizedText>,
    /// Address that handoffs are sent to; without one they wait at `/desk`.
    pub handoff_webhook_url: Option<FlowTemplate>,
    /// Nodes that may be entered in a turn.
    #[member(shape = Integer(1, 64), codes("D001", "B005"), default = 64)]
    pub max_steps_per_turn: u32,
    /// Maximum nesting depth of subflow calls.
    #[member(shape = Integer(1, 32), default = 16)]
    pub max_call_depth: usize,
    /// Whether open sessions stay on their version (`pin`), move when only the root graph is active, or move at once.
    pub version_policy: VersionPolicy,
    /// Names of models by alias.
    #[member(each = NON_EMPTY)]
    pub models: BTreeMap<String, String>,
    /// Daily budget of an AI agent for model calls, in cents.
    #[member(skip)]
    pub daily_spend_cap_cents: Option<u64>,
}

/// How messages are matched with intents without a model. (docs/spec/flows.md#5.3)
#[derive(Debug, Clone, Copy, PartialEq, Described)]
pub struct LexicalMatch {
    /// Whether it does.
    #[member(default = true)]
    pub enabled: bool,
    /// Confidence that an intent needs, found from the phrases when absent; with it, no model is asked about what is above.
    #[member(shape = Number(0, 1))]
    pub accept_above: Option<f64>,
    /// The user is asked which of two intents is meant when their confidences differ by less; 0 never asks.
    #[member(shape = Number(0, 1), default = 0.03)]
    pub ask_below_margin: f64,
}

/// The document version that running sessions use. (docs/spec/flows.md#13.2)
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum VersionPolicy {
    /// The version on which the session started.
    #[default]
    Pin,
    /// The newest, once the session is back in the root graph and awaits no input.
    MigrateAtRoot,
    /// The newest, always.
    MigrateEager,
}

/// A declared variable. Values are converted to its type, or the write fails with `type_mismatch`.
#[derive(Debug, Clone, Described)]
#[described(definition = "VarDecl")]
pub struct Variable {
    /// Variable path.
    #[member(required)]
    pub name: VariablePath,
    /// Type of its values.
    #[member(name = "type", required)]
    pub kind: ValueType,
    /// Value at the start of a session.
    #[member(keep_null)]
    pub default: Option<Value>,
    /// The session view, the trace and the history show its name in place of its values; journals and stored sessions keep them.
    pub redact: bool,
    /// Pages that start a session of a workflow may set it; the simulator may set all variables.
    pub input: Unread<bool>,
    /// `session`; `user` has no effect yet.
    #[member(shape = Enum(&["session", "user"]), documented_default = r#""session""#)]
    pub scope: Option<Unread<String>>,
}
