//! What a call changes, says on its way, or fails with.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::message::EffectError;

/// What a call changes in the session; what is left out changes nothing.
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
    /// What the task returns: of a transformer, what stands in the place of its input.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub value: Value,
}

/// An answer to the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Payload {
    /// `TEXT` or `JSON`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Text, also of JSON.
    pub value: String,
}

impl Patch {
    /// Writes a parameter.
    #[must_use]
    pub fn param(mut self, name: &str, value: impl Into<Value>) -> Patch {
        self.params.insert(name.to_owned(), value.into());
        self
    }

    /// Writes a member of the context; null removes it.
    #[must_use]
    pub fn context(mut self, name: &str, value: impl Into<Value>) -> Patch {
        self.context.insert(name.to_owned(), value.into());
        self
    }

    /// Returns a value.
    #[must_use]
    pub fn value(mut self, value: impl Into<Value>) -> Patch {
        self.value = value.into();
        self
    }

    /// Answers with a text.
    #[must_use]
    pub fn answer(mut self, text: &str) -> Patch {
        self.payload = Some(Payload { kind: "TEXT".to_owned(), value: text.to_owned() });
        self
    }
}

/// Why a call fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// A word in upper case.
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

/// A progress message.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Notice {
    Verbose { determinant: String, metadata: Map<String, Value>, error: bool },
    Text { text: String, metadata: Map<String, Value>, error: bool },
}
