//! What a flow session is between two turns, what happens to it, and what it answers. (`convoship.md` 7)

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::turn::Map;

/// What happens to a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum FlowEvent {
    /// It begins.
    #[serde(rename = "session.start")]
    Start {
        /// Variables that it begins with.
        #[serde(default)]
        params: Map,
        /// The language of the user; the document's own when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        locale: Option<String>,
        /// Where the user is; `web` when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
        /// What the host knows of the user.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<Value>,
    },
    /// The user says something.
    #[serde(rename = "user.message")]
    Message {
        /// What they say.
        text: String,
        /// What they send with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Value>,
        /// The client's name for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        event_id: Option<String>,
    },
    /// The user presses a button.
    #[serde(rename = "user.button")]
    Button {
        /// Which one.
        button_id: String,
        /// What it stands for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Value>,
        /// What stands on it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// The client's name for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        event_id: Option<String>,
    },
    /// The time of a timer has come.
    #[serde(rename = "timer.fired")]
    Timer {
        /// Which one.
        timer_id: String,
    },
    /// A person has decided about a call.
    #[serde(rename = "approval.decision")]
    Approval {
        /// Which call.
        call_id: String,
        /// Whether it may be made.
        approved: bool,
        /// The arguments with which it is made instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edited_args: Option<Map>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The session is ended from outside.
    #[serde(rename = "session.end")]
    End {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// Whether a session goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// It does.
    #[default]
    Active,
    /// A person talks.
    HandedOff,
    /// It has come to its end.
    Completed,
    /// It cannot go on.
    Failed,
    /// The user has left.
    Abandoned,
}

/// A session between two turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionState {
    /// `1.0`.
    pub schema_version: String,
    /// The session.
    pub session_id: String,
    /// Whose it is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub workspace_id: String,
    /// `assistant`.
    pub program: String,
    /// Content hash of the version that it runs on.
    pub snapshot: String,
    /// Where the user is.
    #[serde(default)]
    pub channel: String,
    /// The language of the user.
    #[serde(default)]
    pub locale: String,
    /// What the host knows of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<Value>,
    /// Whether it goes on.
    pub status: SessionStatus,
    /// Turns of the user.
    pub turn: u32,
    /// Revision.
    pub seq: u64,
    /// Variables.
    pub vars: Map,
    /// Frames, the root first.
    pub stack: Vec<Frame>,
    /// What the innermost frame waits for.
    #[serde(default)]
    pub awaiting: Option<Awaiting>,
    /// What is counted.
    #[serde(default)]
    pub counters: Counters,
    /// What it has used.
    #[serde(default)]
    pub usage: FlowUsage,
    /// What was said last.
    #[serde(default)]
    pub history: Vec<Said>,
    /// The transfer to a person.
    #[serde(default)]
    pub handoff: Option<Value>,
    /// Timers that run.
    #[serde(default)]
    pub timers: Vec<Timer>,
    /// The state of the generator.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rng: String,
    /// When it began.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub created_at: String,
    /// When something happened last.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last_event_at: String,
}

/// What a frame runs.
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

/// A graph that is being walked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// The graph.
    pub graph: String,
    /// The node at which it stands.
    pub node: String,
    /// What it runs.
    pub kind: FrameKind,
    /// The intent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent_id: Option<String>,
    /// Variables of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locals: Option<Map>,
    /// Which of its values go to which variables of its caller.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub return_map: BTreeMap<String, String>,
    /// The node that called it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_to: Option<String>,
    /// How it goes on once it is the innermost again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume>,
}

/// How a frame goes on once it is the innermost again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resume {
    /// It asks again.
    Reenter,
    /// Behind its node.
    After,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AwaitingKind {
    /// A value.
    Entity,
    /// A button.
    Button,
    /// Whatever comes.
    Any,
    /// A message to an agent.
    Agent,
    /// What a person does.
    Handoff,
    /// A decision about a call.
    Approval,
}

/// What the innermost frame waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Awaiting {
    /// What.
    pub kind: AwaitingKind,
    /// At which node.
    pub node: String,
    /// The type of the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// Where the value goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// What can be pressed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Value>,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// How often nobody has answered.
    #[serde(default)]
    pub no_input_count: u32,
    /// The call that needs a decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Value>,
}

/// What is counted in a session; nodes as `graph/node`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Fallbacks in a row.
    pub fallbacks: u32,
    /// How often nobody has answered.
    pub no_input: u32,
    /// Invalid answers.
    pub attempts: BTreeMap<String, u32>,
    /// Entries.
    pub visits: BTreeMap<String, u32>,
    /// Texts said of a sequence.
    pub sequence: BTreeMap<String, u32>,
}

/// What a session has used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowUsage {
    /// Calls of models.
    pub llm_calls: u32,
    /// Tokens of prompts.
    pub input_tokens: u64,
    /// Tokens of answers.
    pub output_tokens: u64,
    /// The cost in millionths of a cent.
    pub cost_microcents: u64,
    /// Calls of tools.
    pub tool_calls: u32,
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// `user`, `bot`, `human` or `system`.
    pub role: String,
    /// What.
    pub text: String,
    /// In which turn.
    pub turn: u32,
}

/// A timer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    /// Its name within the session.
    pub id: String,
    /// When it fires.
    pub due: String,
    /// What for.
    pub purpose: String,
}

/// How a turn of a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// The user is next.
    AwaitingInput,
    /// A person talks.
    HandedOff,
    /// The session has come to its end.
    Completed,
    /// The session cannot go on.
    Failed,
}
