//! The stored state of a flow session, its events and its turn status (docs/spec/flows.md#7).

use std::collections::BTreeMap;

use convengine_text::date::Date;
use convengine_text::json::{DecodeError, decode_tagged, into_members};
use convengine_text::time_zone::UTC;
use convengine_text::variable_path::VariablePath;
use convengine_turn::{Map, Millis};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::handoff::{Handoff, HandoffDisposition, HandoffReport};

/// The timer for an abandoned session.
pub const SESSION_TIMER: &str = "session";

/// The variable with the buttons of the last message that did not wait for one.
pub const SHOWN_BUTTONS: &str = "_shown";

/// An event of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FlowEvent {
    /// The session starts.
    #[serde(rename = "session.start")]
    Start {
        /// Initial variables.
        #[serde(default)]
        params: Map,
        /// The user's locale; the document's default when absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        locale: Option<String>,
        /// The user's time zone, by its IANA name; that of the channel, else the document's default, when absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        time_zone: Option<String>,
        /// The channel; `web` when absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
        /// Who the user is, as the host has verified.
        #[serde(skip_serializing_if = "Option::is_none")]
        user: Option<Value>,
        /// What a page says of its user, which nobody has verified.
        #[serde(skip_serializing_if = "Option::is_none")]
        visitor: Option<Value>,
        /// The trigger of a workflow graph, by the id of its node.
        #[serde(skip_serializing_if = "Option::is_none")]
        trigger: Option<String>,
    },
    /// The user sends a message.
    #[serde(rename = "user.message")]
    Message {
        /// The text.
        text: String,
        /// Attachments.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Value>,
        /// The id that the client gave the event.
        #[serde(skip_serializing_if = "Option::is_none")]
        event_id: Option<String>,
    },
    /// The user presses a button.
    #[serde(rename = "user.button")]
    Button {
        /// The id of the button.
        button_id: String,
        /// Its value.
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<Value>,
        /// Its label.
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// The id that the client gave the event.
        #[serde(skip_serializing_if = "Option::is_none")]
        event_id: Option<String>,
    },
    /// A timer has fired.
    #[serde(rename = "timer.fired")]
    Timer {
        /// The id of the timer.
        timer_id: String,
    },
    /// A person has approved or rejected a tool call.
    #[serde(rename = "approval.decision")]
    Approval {
        /// The id of the call.
        call_id: String,
        /// Whether the call may be made.
        approved: bool,
        /// Arguments that replace the model's.
        #[serde(skip_serializing_if = "Option::is_none")]
        edited_args: Option<Map>,
        /// The reason.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The desk reports the status of a handoff.
    #[serde(rename = "handoff.status")]
    HandoffStatus {
        /// What happened.
        state: HandoffReport,
        /// How the person has closed the conversation.
        #[serde(skip_serializing_if = "Option::is_none")]
        disposition: Option<HandoffDisposition>,
        /// Variables that the person returns.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        vars: Map,
        /// A message to the user.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The person.
        #[serde(skip_serializing_if = "Option::is_none")]
        author: Option<String>,
        /// The credential of the person, by which people of one name are told apart.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder: Option<String>,
    },
    /// A person at the desk sends a message.
    #[serde(rename = "handoff.message")]
    HandoffMessage {
        /// The text.
        text: String,
        /// The person.
        #[serde(skip_serializing_if = "Option::is_none")]
        author: Option<String>,
    },
    /// The host ends the session.
    #[serde(rename = "session.end")]
    End {
        /// The reason.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl FlowEvent {
    /// Reads an event, whose `type` names the variant.
    ///
    /// # Errors
    /// What does not fit, with its path.
    pub fn parse(event: &Value) -> Result<FlowEvent, DecodeError> {
        decode_tagged(event, "type")
    }

    /// The name of its type.
    pub fn name(&self) -> &'static str {
        match self {
            FlowEvent::Start { .. } => "session.start",
            FlowEvent::Message { .. } => "user.message",
            FlowEvent::Button { .. } => "user.button",
            FlowEvent::Timer { .. } => "timer.fired",
            FlowEvent::Approval { .. } => "approval.decision",
            FlowEvent::HandoffStatus { .. } => "handoff.status",
            FlowEvent::HandoffMessage { .. } => "handoff.message",
            FlowEvent::End { .. } => "session.end",
        }
    }

    /// Whether the user has said something or pressed a button.
    pub fn is_input(&self) -> bool {
        matches!(self, FlowEvent::Message { .. } | FlowEvent::Button { .. })
    }

    /// The text of a message; of a button, its value, else its label, else its id. Empty for any other event.
    pub fn input_text(&self) -> String {
        if let FlowEvent::Message { text, .. } = self {
            return text.clone();
        }
        let FlowEvent::Button { button_id, value, label, .. } = self else { return String::new() };
        let value = value.as_ref().and_then(Value::as_str).map(str::to_owned);
        value.or_else(|| label.clone()).unwrap_or_else(|| button_id.clone())
    }

    /// Turns the event into the press of a button of this option.
    pub fn choose_option(&mut self, option: &Value) {
        let member = |name: &str| option.get(name).and_then(Value::as_str).map(str::to_owned);
        let (button_id, label) = (member("id").unwrap_or_default(), member("label"));
        let event_id =
            if let FlowEvent::Message { event_id, .. } | FlowEvent::Button { event_id, .. } = self { event_id.take() } else { None };
        *self = FlowEvent::Button { button_id, value: option.get("value").cloned(), label, event_id };
    }

    /// The event as templates read it, with its `type`.
    pub fn to_value(&self) -> Value {
        let variant = serde_json::to_value(self).map(into_members).unwrap_or_default();
        let with_type =
            |(name, members): (String, Value)| [("type".to_owned(), Value::from(name))].into_iter().chain(into_members(members));
        let mut event: Map = variant.into_iter().flat_map(with_type).collect();
        if let FlowEvent::Message { .. } = self {
            event.entry("attachments").or_insert_with(|| json!([]));
        }
        if let FlowEvent::Button { button_id, value, label, .. } = self {
            event.insert("button".to_owned(), json!({"id": button_id, "value": value, "label": label}));
            event.insert("text".to_owned(), json!(label));
        }
        Value::Object(event)
    }
}

/// The status of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// It accepts events.
    #[default]
    Active,
    /// A person has taken over.
    HandedOff,
    /// It has ended.
    Completed,
    /// It cannot continue.
    Failed,
    /// The user has not come back in time.
    Abandoned,
}

/// The stored state of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionState {
    /// Version of the format, `1.0`.
    pub schema_version: String,
    /// The id of the session.
    pub session_id: String,
    /// The workspace that owns the session.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub workspace_id: String,
    /// `assistant`, `workflow` or `agent`.
    pub program: String,
    /// Content hash of the document version that it runs on.
    pub snapshot: String,
    /// The channel.
    #[serde(default)]
    pub channel: String,
    /// The user's locale.
    #[serde(default)]
    pub locale: String,
    /// The user's time zone, by its IANA name; absent in stored states for UTC.
    #[serde(default = "utc", skip_serializing_if = "is_utc")]
    pub time_zone: String,
    /// Who the user is, as the host has verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<Value>,
    /// What a page says of its user, which nobody has verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visitor: Option<Value>,
    /// The status.
    pub status: SessionStatus,
    /// Number of user turns.
    pub turn: u32,
    /// Number of events.
    pub seq: u64,
    /// Variables.
    pub vars: Map,
    /// Frames, the root first.
    pub stack: Vec<Frame>,
    /// What the current frame waits for.
    #[serde(default)]
    pub awaiting: Option<Awaiting>,
    /// The slots that requests have filled, in this order, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filled_slots: Vec<FilledSlot>,
    /// Values that messages hold for slots that are not reached yet, those of the latest message last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending_values: Vec<PendingValues>,
    /// The number of the request of which a message has said that the afternoon or the evening of a day is meant, until its time is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub afternoon: Option<u32>,
    /// Calls of agents whose result is unknown, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncertain_calls: Vec<UncertainCall>,
    /// Counters.
    #[serde(default)]
    pub counters: Counters,
    /// Usage of models and tools.
    #[serde(default)]
    pub usage: FlowUsage,
    /// The latest messages.
    #[serde(default)]
    pub history: Vec<HistoryEntry>,
    /// The transfer to a person.
    #[serde(default)]
    pub handoff: Option<Handoff>,
    /// Armed timers.
    #[serde(default)]
    pub timers: Vec<Timer>,
    /// Reserved for the state of a random generator.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rng: String,
    /// When it started, in ISO 8601.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub created_at: String,
    /// When the last event happened, in ISO 8601.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last_event_at: String,
}

impl SessionState {
    /// The current frame.
    pub fn frame(&self) -> Option<&Frame> {
        self.stack.last()
    }

    /// Moves the current frame to another node of its graph.
    pub fn move_to(&mut self, node: &str) {
        if let Some(frame) = self.stack.last_mut() {
            node.clone_into(&mut frame.node);
        }
    }

    /// Sets how the current frame continues when it is the current one again.
    pub fn resume_with(&mut self, resume: Option<Resume>) {
        if let Some(frame) = self.stack.last_mut() {
            frame.resume = resume;
        }
    }

    /// The number of frames.
    pub fn depth(&self) -> usize {
        self.stack.len()
    }

    /// A node of the current graph as `graph/node`.
    pub fn node_key(&self, node: &str) -> String {
        format!("{}/{node}", self.frame().map_or("", |it| &it.graph))
    }

    /// How often a node of the current graph has been entered.
    pub fn visits(&self, node: &str) -> u32 {
        self.counters.visits.get(&self.node_key(node)).copied().unwrap_or_default()
    }

    /// The idempotency key of a visit of a node in a turn.
    pub fn visit_key(&self, node: &str) -> String {
        format!("{}:{}:{}:{}", self.session_id, self.turn, self.node_key(node), self.visits(node))
    }

    /// The current node as `graph/node`.
    pub fn current_node_key(&self) -> String {
        self.frame().map(|it| format!("{}/{}", it.graph, it.node)).unwrap_or_default()
    }

    /// The number of the request that the current frame serves; 0 outside of one.
    pub fn current_request(&self) -> u32 {
        self.stack.iter().rev().map(|it| it.request).find(|it| *it > 0).unwrap_or_default()
    }

    /// Returns a variable: of the current frame when it is local, else of the session.
    pub fn variable(&self, path: &VariablePath) -> Option<&Value> {
        let locals = self.frame().and_then(|it| it.locals.as_ref()).filter(|locals| locals.contains_key(path.first_name()));
        path.find(locals.unwrap_or(&self.vars))
    }

    /// The last text of the user: of the event, if it is a message.
    pub fn last_user_text<'s>(&'s self, event: &'s FlowEvent) -> &'s str {
        if let FlowEvent::Message { text, .. } = event {
            return text;
        }
        self.history.iter().rev().find(|it| it.role == "user").map_or("", |it| &it.text)
    }

    /// No model knows any more of uncertain calls.
    pub fn forget_awareness(&mut self) {
        self.uncertain_calls.iter_mut().for_each(|call| call.known_to = Awareness::Nobody);
    }

    /// The user has said something: the model may make uncertain calls again that it knew of, and could ask about. While an approval is
    /// awaited, or a person has the conversation, it has not asked.
    pub fn release_uncertain_calls(&mut self) {
        if self.awaiting.as_ref().is_some_and(|it| it.kind == AwaitingKind::Approval) || self.handoff.is_some() {
            return;
        }
        for call in self.uncertain_calls.iter_mut().filter(|it| it.known_to == Awareness::Model) {
            call.known_to = Awareness::User;
        }
    }

    /// Takes over who the host says that the user is: the members `user` and `visitor`, each an object or absent. A session stays with the
    /// user that it has.
    pub fn adopt_identity(&mut self, identity: &Value) {
        let member = |name: &str| identity.get(name).filter(|it| it.is_object());
        let known = self.user.as_ref().and_then(|it| it.get("id"));
        if let Some(user) = member("user").filter(|user| known.is_none() || user.get("id") == known) {
            self.user = Some(user.clone());
        }
        if let Some(visitor) = member("visitor") {
            self.visitor = Some(visitor.clone());
        }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

fn utc() -> String {
    UTC.to_owned()
}

fn is_utc(zone: &str) -> bool {
    zone == UTC
}

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameKind {
    /// The root graph.
    Root,
    /// The graph of an intent.
    Intent,
    /// A called graph.
    Subflow,
    /// The graph of an event.
    Event,
}

/// A graph on the call stack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// The graph.
    pub graph: String,
    /// The current node.
    pub node: String,
    /// The kind.
    pub kind: FrameKind,
    /// The intent of the graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent_id: Option<String>,
    /// Local variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locals: Option<Map>,
    /// Return values by name, each with the caller's variable that receives it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub return_map: BTreeMap<String, String>,
    /// The node of the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_to: Option<String>,
    /// How it continues when it is the current frame again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume>,
    /// The number of the request that it serves; 0 for that of the frame below.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub request: u32,
}

/// A slot that a request has filled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilledSlot {
    /// The variable.
    pub variable: String,
    /// The number of the request.
    pub request: u32,
    /// Its graph and, for a parameter, `NODE#VARIABLE`, else its node; empty while it has not been reached.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// Whether something has been done with it that cannot be taken back.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_final: bool,
    /// Whether its value was taken back, so that it is asked for again.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_emptied: bool,
}

/// What messages of a request hold for slots that it has not reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingValues {
    /// The number of the request.
    pub request: u32,
    /// The values, from left to right.
    pub values: Vec<PendingValue>,
}

/// A value for a slot that is not reached yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingValue {
    /// The variable of its slot; `None` for the first slot of its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// The key of its type.
    pub entity: String,
    /// The value.
    pub value: Value,
    /// Whether it is a time of which the message did not say the half of the day.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_half_open: bool,
}

/// A call of an agent that changes something and may have been carried out: it is being made, or nobody knows its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UncertainCall {
    /// The hash of the tool and the arguments.
    pub call: String,
    /// The idempotency key of an HTTP call, with which it is made again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Who knows that its result is unknown.
    pub known_to: Awareness,
}

/// Who knows that the result of a call is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Awareness {
    /// Nobody: the call is being made, or its turn was canceled.
    Nobody,
    /// The model that has made it.
    Model,
    /// The user has said something since.
    User,
}

/// How a frame continues when it is the current frame again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resume {
    /// It prompts again.
    Reenter,
    /// It runs from its node without waiting.
    After,
}

/// The kind of input that is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AwaitingKind {
    /// A value for a slot.
    Entity,
    /// A button.
    Button,
    /// Any input.
    Any,
    /// A message to an agent.
    Agent,
    /// The action of a person.
    Handoff,
    /// An approval decision.
    Approval,
}

/// The input that the current frame waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Awaiting {
    /// The kind.
    pub kind: AwaitingKind,
    /// The node that waits.
    pub node: String,
    /// The entity of the slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// The variable of the slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// Buttons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Value>,
    /// When waiting started, in ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Consecutive no-input events.
    #[serde(default)]
    pub no_input_count: u32,
    /// The tool call that needs approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Value>,
}

impl Awaiting {
    /// The wait of a node that begins now.
    pub fn new(kind: AwaitingKind, node: &str, options: Vec<Value>, now: Millis) -> Awaiting {
        Awaiting {
            kind,
            node: node.to_owned(),
            entity: None,
            variable: None,
            options,
            since: Some(Date::from_millis(now).to_rfc3339_millis()),
            no_input_count: 0,
            call: None,
        }
    }
}

/// Counters of a session; nodes are keyed as `graph/node`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Consecutive fallbacks.
    pub fallbacks: u32,
    /// No-input events.
    pub no_input: u32,
    /// Requests: intents that were begun.
    #[serde(skip_serializing_if = "is_zero")]
    pub requests: u32,
    /// Invalid answers by slot.
    pub attempts: BTreeMap<String, u32>,
    /// Entries by node.
    pub visits: BTreeMap<String, u32>,
    /// Texts sent of each sequence.
    pub sequence: BTreeMap<String, u32>,
}

/// Usage of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowUsage {
    /// Model calls.
    pub llm_calls: u32,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Cost in microcents.
    pub cost_microcents: u64,
    /// Tool calls.
    pub tool_calls: u32,
}

impl FlowUsage {
    /// Adds what a nested program has used between two points.
    pub fn add_difference(&mut self, before: FlowUsage, after: FlowUsage) {
        self.llm_calls += after.llm_calls.saturating_sub(before.llm_calls);
        self.input_tokens += after.input_tokens.saturating_sub(before.input_tokens);
        self.output_tokens += after.output_tokens.saturating_sub(before.output_tokens);
        self.cost_microcents += after.cost_microcents.saturating_sub(before.cost_microcents);
        self.tool_calls += after.tool_calls.saturating_sub(before.tool_calls);
    }
}

/// An entry of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// `user`, `bot`, `human` or `system`.
    pub role: String,
    /// The text.
    pub text: String,
    /// The person who wrote it, for `human`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The user turn.
    pub turn: u32,
}

/// A timer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    /// The id, unique in the session.
    pub id: String,
    /// When it fires, in ISO 8601.
    pub due: String,
    /// The purpose.
    pub purpose: String,
}

/// The status of a session after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// It waits for the user.
    AwaitingInput,
    /// A person has taken over.
    HandedOff,
    /// The session has ended.
    Completed,
    /// The session has failed.
    Failed,
}
