//! The results of a call: patches, faults and notices.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::message::EffectError;

/// The changes of a call to the session; omitted members change nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Patch {
    /// Parameters to write.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    /// Members of the context to write; null removes one.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
    /// The new intent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// The new state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The new answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
    /// The task's return value; for a transformer, the replacement of its input.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub value: Value,
}

/// An answer to the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Payload {
    /// `TEXT` or `JSON`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The text, or the JSON text.
    pub value: String,
}

impl Patch {
    /// Sets a parameter.
    #[must_use]
    pub fn param(mut self, name: &str, value: impl Into<Value>) -> Patch {
        self.params.insert(name.to_owned(), value.into());
        self
    }

    /// Sets a member of the context; null removes it.
    #[must_use]
    pub fn context(mut self, name: &str, value: impl Into<Value>) -> Patch {
        self.context.insert(name.to_owned(), value.into());
        self
    }

    /// Sets the return value.
    #[must_use]
    pub fn value(mut self, value: impl Into<Value>) -> Patch {
        self.value = value.into();
        self
    }

    /// Sets a text as the answer to the user.
    #[must_use]
    pub fn answer(mut self, text: &str) -> Patch {
        self.payload = Some(Payload { kind: "TEXT".to_owned(), value: text.to_owned() });
        self
    }
}

/// Why a call fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// A code in upper case.
    pub code: String,
    /// What went wrong.
    pub message: String,
}

impl Fault {
    /// Creates a fault.
    pub fn new(code: &str, message: impl Into<String>) -> Fault {
        Fault { code: code.to_owned(), message: message.into() }
    }
}

impl From<EffectError> for Fault {
    fn from(error: EffectError) -> Fault {
        Fault { code: error.kind.to_uppercase(), message: error.message }
    }
}

/// A progress notice.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Notice {
    Verbose { determinant: String, metadata: Map<String, Value>, error: bool },
    Text { text: String, metadata: Map<String, Value>, error: bool },
}
