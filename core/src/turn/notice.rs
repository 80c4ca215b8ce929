//! Notices: numbered output that is never answered.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Millis;

/// One notice. `seq` is dense within a turn, so a stream client can drop what it has seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// Number within the turn, from 0.
    pub seq: u32,
    /// The turn's clock when it was published.
    pub at: Millis,
    /// The content.
    #[serde(flatten)]
    pub body: NoticeBody,
}

/// The content of a notice. Variants are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoticeBody {
    /// A row for `ce_audit`.
    Audit {
        /// The stage, with its source where it has one.
        stage: String,
        /// The payload without `_meta`.
        payload: Value,
    },
    /// A progress message for the user, from `ce_verbose`.
    Verbose(Box<VerboseNotice>),
    /// A message of a flow to the user.
    Message {
        /// The message.
        message: Value,
    },
}

/// The severity of a progress message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// Ordinary progress.
    Info,
    /// Something failed.
    Error,
}

/// A progress message. (docs/spec/data-and-api.md#8.2)
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerboseNotice {
    /// The row; absent for the default text of an error.
    pub verbose_id: Option<i64>,
    /// The step or resolver that published it.
    pub step: String,
    /// What happened.
    pub determinant: String,
    /// The intent at the time.
    pub intent: String,
    /// The state at the time.
    pub state: String,
    /// The rule, if it is about one.
    pub rule_id: Option<i64>,
    /// The tool, if it is about one.
    pub tool_code: Option<String>,
    /// The severity.
    pub level: Level,
    /// The text to show.
    pub text: String,
    /// The row's rendered message.
    pub message: Option<String>,
    /// The row's rendered error message.
    pub error_message: Option<String>,
    /// Facts about the event.
    pub metadata: Value,
}
