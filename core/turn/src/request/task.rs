//! The effect that runs a task in the host: `bean:method`, called for a pending action, a rule, a hook, a transformer or a tool.

use convengine_text::json::decode_both;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::EffectClass;
use crate::Map;
use crate::outcome::Payload;

/// Deadline in milliseconds.
const DEADLINE_MS: u32 = 30_000;

/// The purpose of a task call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskUse {
    /// Executes a pending action.
    PendingAction,
    /// Runs for a rule's `SET_TASK`.
    Rule,
    /// Runs when a step is entered, exits or fails.
    Hook,
    /// Transforms container data or an answer.
    Transform,
    /// Executes a tool.
    Tool,
}

/// A call of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskRequest {
    /// `bean:method`.
    pub task: String,
    /// The purpose.
    pub called_for: TaskUse,
    /// The rule, for a rule's task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_id: Option<i64>,
    /// The container whose request or data it transforms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<TaskContainer>,
    /// The value to transform, for a transformer; the arguments, for a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The session as rules see it, with the parameters.
    pub view: Map,
}

/// The container that a task serves; the columns of its row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskContainer {
    /// The page.
    pub page_id: i64,
    /// The section of the page.
    pub section_id: i64,
    /// The container of the section.
    pub container_id: i64,
    /// The parameter of the request, and the name of the data.
    pub input_param_name: String,
}

/// A task's changes to the session; absent members change nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Patch {
    /// Parameters to set.
    #[serde(rename = "set_params")]
    pub params: Map,
    /// Top-level members of the context to set; null removes one.
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
pub enum TaskProgress {
    /// A message with the text of a `ce_verbose` row.
    Verbose {
        /// What happened.
        determinant: String,
        /// Facts about the event.
        #[serde(default)]
        metadata: Map,
        /// Whether something failed.
        #[serde(default)]
        error: bool,
    },
    /// A message with the task's own text.
    Text {
        /// The text.
        text: String,
        /// Facts about the event.
        #[serde(default)]
        metadata: Map,
        /// Whether something failed.
        #[serde(default)]
        error: bool,
    },
}

/// A task's answer.
///
/// ```
/// use convengine_turn::TaskReply;
///
/// let reply: TaskReply = serde_json::from_str(r#"{"result": {"approved": true}, "set_params": {"limit": 500}, "state": "APPROVED"}"#)?;
/// assert_eq!(reply.result["approved"], true);
/// assert_eq!((reply.patch.params["limit"].as_i64(), reply.patch.state.as_deref()), (Some(500), Some("APPROVED")));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TaskReply {
    /// The return value.
    pub result: Value,
    /// The changes.
    #[serde(flatten)]
    pub patch: Patch,
    /// Messages to publish, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub publish: Vec<TaskProgress>,
}

impl<'de> Deserialize<'de> for TaskReply {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TaskReply, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct OwnMembers {
            result: Value,
            publish: Vec<TaskProgress>,
        }

        let (OwnMembers { result, publish }, patch) = decode_both(deserializer)?;
        Ok(TaskReply { result, patch, publish })
    }
}

operation!(Task: TaskRequest => Box<TaskReply>, class: EffectClass::Write, deadline_ms: |_| DEADLINE_MS);
