//! What a talk expects of a turn: parts of what happened, each with the line that says so.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One expectation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PackCheck {
    /// The line of the talk.
    #[serde(default)]
    pub line: u32,
    /// What must hold.
    #[serde(flatten)]
    pub check: Check,
}

/// What must hold after a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The reply is this text.
    Reply(String),
    /// The reply has this text in it.
    ReplyContains(String),
    /// The reply is this JSON.
    ReplyJson(Value),
    /// The turn fails with this code.
    Fails(String),
    /// The turn ends at this intent and state.
    Place {
        /// The intent.
        intent: String,
        /// The state.
        state: String,
    },
    /// These stages are audited in this order; others may stand between.
    Stages(Vec<String>),
    /// This stage is not audited.
    NoStage(String),
    /// What stands at a path is this value; nothing there is null.
    Equals {
        /// Names and positions, separated by dots.
        path: String,
        /// The value.
        value: Value,
    },
    /// What stands at a path is a text, or holds one, with this in it.
    Contains {
        /// Names and positions, separated by dots.
        path: String,
        /// The text.
        text: String,
    },
    /// Something stands at a path, and nowhere in it is this text.
    Lacks {
        /// Names and positions, separated by dots.
        path: String,
        /// The text.
        text: String,
    },
    /// This progress message is delivered.
    Verbose(String),
    /// This progress message is not delivered.
    NoVerbose(String),
    /// These calls are made, in this order, and no others.
    Calls(Vec<String>),
}
