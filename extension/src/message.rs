//! The messages of the protocol, version 1.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::patch::{Fault, Notice, Patch};
use crate::view::View;

/// The protocol version of this crate.
pub(crate) const ABI: u32 = 1;

/// What an extension is called for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Call {
    /// The task, `bean:method`.
    pub task: String,
    /// `beforeStep`, `afterStep` or `onStepError`, for a hook.
    pub hook: Option<String>,
    /// The step, for a hook.
    pub step: Option<String>,
    /// `final`, `llm`, `container_request`, `container_response` or `container`, for a transformer.
    pub transform: Option<String>,
    /// The container whose request or data is transformed.
    pub container: Option<Container>,
}

/// A container: the columns of its row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Container {
    /// The page.
    pub page_id: i64,
    /// The section of the page.
    pub section_id: i64,
    /// The container of the section.
    pub container_id: i64,
    /// The parameter of the request, and the name of the data.
    pub input_param_name: String,
}

/// Why the host could not execute an effect.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct EffectError {
    /// The class of failure, such as `timeout` or `denied`.
    pub kind: String,
    /// What went wrong.
    #[serde(default)]
    pub message: String,
    /// The HTTP status, if a service answered with one.
    #[serde(default)]
    pub status: Option<u16>,
    /// Milliseconds to wait before a retry, if the service sent `Retry-After`.
    #[serde(default)]
    pub retry_after_ms: Option<u64>,
}

/// Starts a call.
#[derive(Deserialize)]
pub(crate) struct Start {
    pub abi: u32,
    pub call: Call,
    #[serde(default)]
    pub view: View,
    #[serde(default)]
    pub input: Value,
    #[serde(default)]
    pub at: i64,
    #[serde(default)]
    pub seed: u64,
}

/// Resumes a call.
#[derive(Deserialize)]
pub(crate) struct Resume {
    pub completions: Vec<Completion>,
}

/// The answer to an effect.
#[derive(Deserialize)]
pub(crate) struct Completion {
    pub id: u32,
    #[serde(default)]
    pub at: i64,
    pub outcome: Answer,
}

/// A reply or an error.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    Ok(Value),
    Error(EffectError),
}

/// The output of an extension for one message.
#[derive(Default, Serialize)]
pub(crate) struct CallOutput {
    pub effects: Vec<Effect>,
    pub notices: Vec<Notice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
}

/// A request to the host.
#[derive(Serialize)]
pub(crate) struct Effect {
    pub id: u32,
    pub request: Value,
}

/// How a call ends.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    Patch(Box<Patch>),
    Fault(Fault),
}
