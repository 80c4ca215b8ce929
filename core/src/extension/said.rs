//! What an extension says: what it asks for, what it publishes, and its end. (`architecture.md` 12)

use serde::Deserialize;
use serde_json::Value;

use crate::turn::{Map, Patch, Payload, Publication, TaskReply};

/// One message of an extension.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Said {
    /// What it asks for; each is answered.
    pub effects: Vec<Asked>,
    /// What it has to say, published in this order.
    pub notices: Vec<Publication>,
    /// The end of the call.
    pub end: Option<End>,
}

/// A numbered request of an extension.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// The extension's own number.
    pub id: u32,
    /// What it asks for.
    pub request: Wish,
}

/// What an extension can ask for.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Wish {
    /// A call of a service.
    Http {
        #[serde(default = "get")]
        method: String,
        url: String,
        #[serde(default)]
        headers: Vec<(String, String)>,
        #[serde(default)]
        body: Option<String>,
        /// The name of a secret, sent as bearer token.
        #[serde(default)]
        secret: Option<String>,
    },
    /// A call of a model.
    Llm {
        #[serde(default)]
        system: String,
        user: String,
        /// The JSON Schema of the answer; text without one.
        #[serde(default)]
        schema: Option<Value>,
    },
    /// A wait.
    Sleep { ms: u32 },
}

/// How a call ended.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    /// With changes.
    Patch(Box<Changes>),
    /// With a failure.
    Fault { code: String, message: String },
}

/// What an extension changes, and what it returns.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Changes {
    params: Map,
    context: Map,
    intent: Option<String>,
    state: Option<String>,
    payload: Option<Payload>,
    value: Value,
}

impl Changes {
    /// The changes as a task's answer.
    pub fn reply(self) -> TaskReply {
        let Changes { params, context, intent, state, payload, value } = self;
        TaskReply { result: value, patch: Patch { params, context, intent, state, payload }, publish: Vec::new() }
    }
}

impl Wish {
    /// The kind, as manifests name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Wish::Http { .. } => "http",
            Wish::Llm { .. } => "llm",
            Wish::Sleep { .. } => "sleep",
        }
    }
}

fn get() -> String {
    "GET".to_owned()
}
