//! Notices: numbered output that is never answered.
//!
//! They are what a turn tells while it runs: audit records for operators, progress messages and messages for the user. A replay publishes
//! them again, with the same numbers, so a host that stores or sends them tells what it has seen by `seq`.

use std::borrow::Cow;
use std::fmt;

use convengine_text::json::text;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::Millis;

/// One notice. `seq` is dense within a turn, so a stream client can drop what it has seen.
///
/// ```
/// use convengine_turn::{Notice, NoticeBody};
///
/// let notice: Notice = serde_json::from_str(r#"{"seq": 0, "at": 5, "kind": "audit", "stage": "USER_INPUT", "payload": {"text": "hi"}}"#)?;
/// let NoticeBody::Audit { stage, payload } = &notice.body else { panic!("another kind") };
/// assert_eq!((stage.as_ref(), payload.get("text")), ("USER_INPUT", Some(&"hi".into())));
/// # Ok::<(), serde_json::Error>(())
/// ```
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
        stage: Cow<'static, str>,
        /// The payload without `_meta`.
        payload: AuditPayload,
    },
    /// A progress message for the user, from `ce_verbose`.
    Verbose(Box<VerboseNotice>),
    /// A message of a flow to the user.
    Message {
        /// The message.
        message: Value,
    },
}

/// The payload of an audit event. Most events are those of steps, whose few members need no index.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Value")]
pub enum AuditPayload {
    /// Any JSON value.
    Value(Value),
    /// The members of an object, in order.
    Members(Vec<(&'static str, Value)>),
}

/// Builds the payload of an audit event as `json!` builds an object of expressions, without its index.
///
/// ```
/// use convengine_turn::payload;
///
/// let payload = payload!({"intent": "ORDER", "rows": vec![1, 2]});
/// assert_eq!(payload.to_string(), r#"{"intent":"ORDER","rows":[1,2]}"#);
/// ```
#[macro_export]
macro_rules! payload {
    ({ $($name:literal: $value:expr),* $(,)? }) => {
        $crate::AuditPayload::Members(vec![$(($name, serde_json::json!($value))),*])
    };
}

impl AuditPayload {
    /// Returns the payload as a JSON value.
    pub fn to_value(&self) -> Cow<'_, Value> {
        match self {
            AuditPayload::Value(value) => Cow::Borrowed(value),
            AuditPayload::Members(members) => Cow::Owned(Value::Object(
                members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect::<serde_json::Map<_, _>>(),
            )),
        }
    }

    /// Appends the payload as JSON text.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        match self {
            AuditPayload::Value(value) => text::write(value, out),
            AuditPayload::Members(members) => text::write_members::<false>(members.iter().map(|(name, value)| (*name, value)), out),
        }
    }

    /// Returns a member of an object.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            AuditPayload::Value(value) => value.get(name),
            AuditPayload::Members(members) => members.iter().find(|it| it.0 == name).map(|it| &it.1),
        }
    }
}

impl From<Value> for AuditPayload {
    fn from(value: Value) -> Self {
        AuditPayload::Value(value)
    }
}

impl PartialEq for AuditPayload {
    fn eq(&self, other: &Self) -> bool {
        self.to_value() == other.to_value()
    }
}

impl Serialize for AuditPayload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            AuditPayload::Value(value) => value.serialize(serializer),
            AuditPayload::Members(members) => serializer.collect_map(members.iter().map(|(name, value)| (name, value))),
        }
    }
}

impl fmt::Display for AuditPayload {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
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
