//! The expectations of a talk about a turn.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// One expectation. In JSON it has one condition beside its line.
///
/// ```
/// use convengine_pack::{Check, PackCheck};
///
/// let check: PackCheck = serde_json::from_str(r#"{"line": 4, "reply_contains": "6 to 14"}"#)?;
/// assert_eq!(check, PackCheck { line: 4, check: Check::ReplyContains("6 to 14".to_owned()) });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PackCheck {
    /// The line in the talk.
    pub line: u32,
    /// The expectation.
    #[serde(flatten)]
    pub check: Check,
}

impl<'de> Deserialize<'de> for PackCheck {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PackCheck, D::Error> {
        // With `flatten`, serde would ignore a second condition.
        let mut members = Map::<String, Value>::deserialize(deserializer)?;
        let line = members.shift_remove("line").map_or(Ok(0), u32::deserialize).map_err(D::Error::custom)?;
        Ok(PackCheck { line, check: Check::deserialize(Value::Object(members)).map_err(D::Error::custom)? })
    }
}

/// A condition that must be true after a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The reply is this text.
    Reply(String),
    /// The reply contains this text.
    ReplyContains(String),
    /// The reply is this JSON.
    ReplyJson(Value),
    /// The turn fails with this code.
    Fails(String),
    /// The turn ends with this intent and state.
    Place {
        /// The intent.
        intent: String,
        /// The state.
        state: String,
    },
    /// These stages are audited in this order, possibly with others in between.
    Stages(Vec<String>),
    /// This stage is not audited.
    NoStage(String),
    /// The value at a path equals this value.
    Equals {
        /// Names and indexes, separated by dots.
        path: String,
        /// The value.
        value: Value,
    },
    /// Nothing is at this path, of names and indexes, not even null.
    Absent(String),
    /// The value at a path is, or contains, a string with this text.
    Contains {
        /// Names and indexes, separated by dots.
        path: String,
        /// The text.
        text: String,
    },
    /// There is a value at a path, and it does not contain this text.
    Lacks {
        /// Names and indexes, separated by dots.
        path: String,
        /// The text.
        text: String,
    },
    /// This progress message is published.
    Verbose(String),
    /// This progress message is not published.
    NoVerbose(String),
    /// These calls are made, in this order, and no others.
    Calls(Vec<String>),
}
