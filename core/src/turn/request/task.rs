//! A task of the host: `bean:method`, called for a pending action, a rule, a hook or a transformer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Reply, Request};
use crate::turn::{Class, Map, Operation, Payload};

/// Milliseconds that a task has.
const DEADLINE_MS: u32 = 30_000;

/// What a task is called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskUse {
    /// A pending action is carried out.
    PendingAction,
    /// A rule says `SET_TASK`.
    Rule,
    /// A step is entered, left or has failed.
    Hook,
    /// Something is changed on its way: container data or an answer.
    Transform,
    /// It carries out a tool.
    Tool,
}

/// A call of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskRequest {
    /// `bean:method`.
    pub task: String,
    /// What it is called for.
    pub called_for: TaskUse,
    /// The rule, of a rule's task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_id: Option<i64>,
    /// What is to be transformed, of a transformer; the arguments, of a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The session as rules see it, with the parameters.
    pub view: Map,
}

/// What a task changes in the session; absent members change nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Patch {
    /// Parameters to write.
    #[serde(rename = "set_params")]
    pub params: Map,
    /// Top-level members of the context to write; null removes one.
    #[serde(rename = "set_context")]
    pub context: Map,
    /// The new intent.
    pub intent: Option<String>,
    /// The new state.
    pub state: Option<String>,
    /// The new answer.
    pub payload: Option<Payload>,
}

/// A progress message of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Publication {
    /// A message that `ce_verbose` has the words for.
    Verbose {
        /// What happened.
        determinant: String,
        /// Facts about it.
        #[serde(default)]
        metadata: Map,
        /// Whether something failed.
        #[serde(default)]
        error: bool,
    },
    /// A message in the task's own words.
    Text {
        /// The words.
        text: String,
        /// Facts about it.
        #[serde(default)]
        metadata: Map,
        /// Whether something failed.
        #[serde(default)]
        error: bool,
    },
}

/// What a task answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskReply {
    /// What it returned.
    pub result: Value,
    /// What it changes.
    #[serde(flatten)]
    pub patch: Patch,
    /// Messages to publish, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub publish: Vec<Publication>,
}

impl From<TaskRequest> for Request {
    fn from(request: TaskRequest) -> Self {
        Request::Task(request)
    }
}

impl Operation for TaskRequest {
    type Output = TaskReply;

    fn class(&self) -> Class {
        Class::Write
    }

    fn deadline_ms(&self) -> u32 {
        DEADLINE_MS
    }

    fn output(reply: Reply) -> Option<TaskReply> {
        if let Reply::Task(reply) = reply { Some(*reply) } else { None }
    }
}
