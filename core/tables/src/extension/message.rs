//! Messages from an extension: requests, progress messages and the end of the call. (docs/spec/architecture.md#12)

use convengine_turn::{Map, Patch, Payload, TaskProgress, TaskReply};
use serde::Deserialize;
use serde_json::Value;

/// One message from an extension.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ExtensionMessage {
    /// Requested effects; each is answered.
    pub effects: Vec<NumberedRequest>,
    /// Progress messages, published in this order.
    pub notices: Vec<TaskProgress>,
    /// The end of the call, if it has ended.
    pub end: Option<CallEnd>,
}

/// A numbered request of an extension.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NumberedRequest {
    /// The extension's own number.
    pub id: u32,
    /// The request.
    pub request: GuestRequest,
}

/// A request that an extension can make.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum GuestRequest {
    /// An HTTP call.
    Http(GuestHttp),
    /// A model call.
    Llm(GuestLlm),
    /// A wait.
    Sleep(GuestSleep),
}

/// An HTTP call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GuestHttp {
    #[serde(default = "get")]
    pub method: String,
    pub url: String,
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    #[serde(default)]
    pub body: Option<String>,
    /// The name of a secret that is sent as bearer token.
    #[serde(default)]
    pub secret: Option<String>,
}

/// A model call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GuestLlm {
    #[serde(default)]
    pub system: String,
    pub user: String,
    /// JSON Schema of the answer; free text when absent.
    #[serde(default)]
    pub schema: Option<Value>,
}

/// A wait.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GuestSleep {
    pub ms: u32,
}

/// How a call ended.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CallEnd {
    /// With changes.
    Patch(Box<Changes>),
    /// With a failure.
    Fault { code: String, message: String },
}

/// The changes and the return value of an extension.
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
    /// Converts the changes to a task reply.
    pub fn into_reply(self) -> TaskReply {
        let Changes { params, context, intent, state, payload, value } = self;
        TaskReply { result: value, patch: Patch { params, context, intent, state, payload }, publish: Vec::new() }
    }
}

impl GuestRequest {
    /// The kind, as spelled in manifests.
    pub fn kind(&self) -> &'static str {
        match self {
            GuestRequest::Http(_) => "http",
            GuestRequest::Llm(_) => "llm",
            GuestRequest::Sleep(_) => "sleep",
        }
    }
}

fn get() -> String {
    "GET".to_owned()
}
