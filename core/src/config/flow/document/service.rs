//! Tools, and the calls of services.

use serde::Deserialize;
use serde_json::Value;

use super::text::{Filling, Template};
use crate::text::path::Path;
use crate::turn::{Class, Map};

/// A request of a service.
#[derive(Debug, Clone, Deserialize)]
pub struct RequestForm {
    /// `GET`, `POST`, …
    pub method: String,
    /// Where it goes.
    pub url: Template,
    /// What is added to the address, in its order.
    #[serde(default, deserialize_with = "templates")]
    pub query: Vec<(String, Template)>,
    /// Headers, in their order.
    #[serde(default, deserialize_with = "templates")]
    pub headers: Vec<(String, Template)>,
    /// What is sent.
    pub body: Option<Filling>,
    /// `none`, `json`, `form`, `text` or `multipart`.
    pub body_type: Option<String>,
}

/// What of an answer becomes a variable.
#[derive(Debug, Clone, Deserialize)]
pub struct OutputMap {
    /// JSON path in the answer.
    pub path: String,
    /// The variable.
    pub variable: Path,
    /// What it is when nothing is found.
    pub default: Option<Value>,
    /// Whether the call fails then.
    #[serde(default)]
    pub required: bool,
    /// What it has to be.
    #[serde(rename = "type")]
    pub kind: Option<ValueType>,
}

/// The type of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueType {
    /// Text.
    String,
    /// A number.
    Number,
    /// Yes or no.
    Boolean,
    /// A list.
    Array,
    /// An object.
    Object,
    /// Whatever it is.
    Any,
}

/// How often and when a call is tried again.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default)]
pub struct Retry {
    /// How often it is tried in all.
    pub max_attempts: u32,
    /// Milliseconds before the second attempt.
    pub initial_ms: u64,
    /// How much longer each further wait is.
    pub multiplier: f64,
    /// The longest wait, in milliseconds.
    pub max_ms: u64,
    /// Statuses, `network` and `timeout`.
    pub on: Vec<Value>,
}

impl Default for Retry {
    fn default() -> Self {
        let on = [429, 502, 503, 504].map(Value::from).into_iter().chain(["network", "timeout"].map(Value::from)).collect();
        Retry { max_attempts: 1, initial_ms: 200, multiplier: 2.0, max_ms: 2000, on }
    }
}

/// A tool of the document.
#[derive(Debug, Clone, Deserialize)]
pub struct FlowTool {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What a model is told of it.
    #[serde(default)]
    pub description: String,
    /// `http`, `webhook`, `function`, `mcp` or `noop`.
    pub kind: String,
    /// JSON Schema of its arguments.
    pub input_schema: Option<Value>,
    /// What is asked.
    pub request: Option<RequestForm>,
    /// What of the answer becomes variables.
    #[serde(default)]
    pub outputs: Vec<OutputMap>,
    /// Milliseconds for an attempt.
    pub timeout_ms: Option<u32>,
    /// How often it is tried.
    pub retry: Option<Retry>,
    /// What repeating it does; by its method when it does not say.
    pub effect_class: Option<Class>,
    /// The secrets that it may use.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// The secret that signs its calls.
    pub signing_secret: Option<String>,
    /// Whether a person has to say yes.
    #[serde(default)]
    pub sensitive: bool,
}

/// The data of a service node.
#[derive(Debug, Clone, Deserialize)]
pub struct ServiceData {
    /// A tool of the document.
    pub tool_id: Option<String>,
    /// Or what is asked.
    pub request: Option<RequestForm>,
    /// What the tool's templates know as `args`.
    #[serde(default)]
    pub args: Option<Filling>,
    /// What of the answer becomes variables, beside the tool's.
    #[serde(default)]
    pub outputs: Vec<OutputMap>,
    /// Milliseconds for an attempt.
    pub timeout_ms: Option<u32>,
    /// How often it is tried.
    pub retry: Option<Retry>,
    /// Statuses of a success; 200 to 299 when there are none.
    #[serde(default)]
    pub success: Vec<u16>,
    /// The key of a write.
    pub idempotency_key: Option<Template>,
    /// Bytes that an answer may have.
    #[serde(default = "max_response_bytes")]
    pub max_response_bytes: u32,
    /// What repeating it does.
    pub effect_class: Option<Class>,
}

fn max_response_bytes() -> u32 {
    262_144
}

fn templates<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, Template)>, D::Error> {
    let members = Map::deserialize(deserializer)?;
    let text = |value: Value| Template::from(value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    Ok(members.into_iter().map(|(name, value)| (name, text(value))).collect())
}
