//! Tools and service nodes.

use serde_json::Value;

use super::read::Of;
use super::text::{Filling, Template};
use crate::text::path::Path;
use crate::turn::Class;

/// The default maximum size of a response, in bytes.
const MAX_RESPONSE_BYTES: u32 = 262_144;

/// An HTTP request.
#[derive(Debug, Clone)]
pub struct RequestForm {
    /// `GET`, `POST`, …
    pub method: String,
    /// The URL.
    pub url: Template,
    /// Query parameters added to the URL, in document order.
    pub query: Vec<(String, Template)>,
    /// Headers, in document order.
    pub headers: Vec<(String, Template)>,
    /// The body.
    pub body: Option<Filling>,
    /// `none`, `json`, `form`, `text` or `multipart`.
    pub body_type: Option<String>,
}

/// The mapping of a response value to a variable.
#[derive(Debug, Clone)]
pub struct OutputMap {
    /// JSONPath in the response.
    pub path: String,
    /// The variable.
    pub variable: Path,
    /// The value when nothing is found.
    pub default: Option<Value>,
    /// Whether the call fails when nothing is found.
    pub required: bool,
    /// The required type.
    pub kind: Option<ValueType>,
}

/// The type of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// A string.
    String,
    /// A number.
    Number,
    /// A boolean.
    Boolean,
    /// An array.
    Array,
    /// An object.
    Object,
    /// Any value.
    Any,
}

/// The retry policy of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Retry {
    /// Maximum attempts, including the first.
    pub max_attempts: u32,
    /// Delay before the second attempt, in milliseconds.
    pub initial_ms: u64,
    /// Factor by which each further delay grows.
    pub multiplier: f64,
    /// Maximum delay, in milliseconds.
    pub max_ms: u64,
    /// Statuses to retry on, `network` and `timeout`.
    pub on: Vec<Value>,
}

impl Default for Retry {
    fn default() -> Self {
        let on = [429, 502, 503, 504].map(Value::from).into_iter().chain(["network", "timeout"].map(Value::from)).collect();
        Retry { max_attempts: 1, initial_ms: 200, multiplier: 2.0, max_ms: 2000, on }
    }
}

/// The built-in tool by which an agent finishes.
pub const FINISH: &str = "finish";

/// The built-in tool by which an agent requests a human.
pub const REQUEST_HUMAN: &str = "request_human";

/// The maximum length of a tool name that providers accept.
const LONGEST_NAME: usize = 64;

/// A tool of a document.
#[derive(Debug, Clone)]
pub struct FlowTool {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its description for models.
    pub description: String,
    /// `http`, `webhook`, `function`, `mcp` or `noop`.
    pub kind: String,
    /// JSON Schema of its arguments.
    pub input_schema: Option<Value>,
    /// The HTTP request.
    pub request: Option<RequestForm>,
    /// Mappings of the response to variables.
    pub outputs: Vec<OutputMap>,
    /// Timeout of an attempt, in milliseconds.
    pub timeout_ms: Option<u32>,
    /// The retry policy.
    pub retry: Option<Retry>,
    /// Its effect class; derived from the method when absent.
    pub effect_class: Option<Class>,
    /// The secrets that it may use.
    pub secrets: Vec<String>,
    /// The secret that signs its calls.
    pub signing_secret: Option<String>,
    /// Whether a call requires approval.
    pub sensitive: bool,
}

/// Data of `service`.
#[derive(Debug, Clone)]
pub struct ServiceData {
    /// The id of a tool of the document.
    pub tool_id: Option<String>,
    /// The HTTP request, when no tool is named.
    pub request: Option<RequestForm>,
    /// The variable `args` of the templates of the tool.
    pub args: Option<Filling>,
    /// Mappings of the response to variables, in addition to those of the tool.
    pub outputs: Vec<OutputMap>,
    /// Timeout of an attempt, in milliseconds.
    pub timeout_ms: Option<u32>,
    /// The retry policy.
    pub retry: Option<Retry>,
    /// Statuses that count as success; 200 to 299 when empty.
    pub success: Vec<u16>,
    /// The idempotency key of a write.
    pub idempotency_key: Option<Template>,
    /// Maximum size of the response, in bytes.
    pub max_response_bytes: u32,
    /// Its effect class.
    pub effect_class: Option<Class>,
}

impl RequestForm {
    fn read(fields: Of<'_>) -> RequestForm {
        let templates = |name: &str| {
            let text = |value: &Value| Template::from(value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            fields.members(name).map(|(name, value)| (name.clone(), text(value))).collect()
        };
        RequestForm {
            method: fields.string_or("method", "GET"),
            url: fields.template("url").unwrap_or_default(),
            query: templates("query"),
            headers: templates("headers"),
            body: fields.filling("body"),
            body_type: fields.maybe("body_type"),
        }
    }
}

impl OutputMap {
    fn read(fields: Of<'_>) -> OutputMap {
        OutputMap {
            path: fields.string("path"),
            variable: super::read::path(fields.text("variable").unwrap_or_default()),
            default: fields.0.get("default").cloned(),
            required: fields.flag("required", false),
            kind: ValueType::read(fields),
        }
    }
}

impl ValueType {
    pub(super) fn read(fields: Of<'_>) -> Option<ValueType> {
        fields.word(
            "type",
            &[
                ("string", ValueType::String),
                ("number", ValueType::Number),
                ("boolean", ValueType::Boolean),
                ("array", ValueType::Array),
                ("object", ValueType::Object),
                ("any", ValueType::Any),
            ],
        )
    }
}

impl Retry {
    fn read(fields: Of<'_>) -> Retry {
        let default = Retry::default();
        Retry {
            max_attempts: fields.small("max_attempts").unwrap_or(default.max_attempts),
            initial_ms: fields.count("initial_ms").unwrap_or(default.initial_ms),
            multiplier: fields.real("multiplier").unwrap_or(default.multiplier),
            max_ms: fields.count("max_ms").unwrap_or(default.max_ms),
            on: fields.value("on").and_then(Value::as_array).cloned().unwrap_or(default.on),
        }
    }
}

fn class(fields: Of<'_>) -> Option<Class> {
    fields.word("effect_class", &[("read", Class::Read), ("write", Class::Write), ("irreversible", Class::Irreversible)])
}

impl FlowTool {
    pub(super) fn read(fields: Of<'_>) -> FlowTool {
        FlowTool {
            id: fields.string("id"),
            name: fields.string("name"),
            description: fields.string("description"),
            kind: fields.string("kind"),
            input_schema: fields.value("input_schema").cloned(),
            request: fields.object("request").map(RequestForm::read),
            outputs: fields.list("outputs", OutputMap::read),
            timeout_ms: fields.small("timeout_ms"),
            retry: fields.object("retry").map(Retry::read),
            effect_class: class(fields),
            secrets: fields.strings("secrets"),
            signing_secret: fields.maybe("signing_secret"),
            sensitive: fields.flag("sensitive", false),
        }
    }

    /// Its name for models: the id, reduced to the characters and length that providers accept.
    pub fn offered(&self) -> String {
        let plain = |it: char| if it.is_ascii_alphanumeric() || it == '_' || it == '-' { it } else { '_' };
        self.id.chars().take(LONGEST_NAME).map(plain).collect()
    }
}

/// Whether a tool is one of those that every agent has.
pub fn is_built_in(name: &str) -> bool {
    [FINISH, REQUEST_HUMAN].contains(&name)
}

impl ServiceData {
    pub(super) fn read(fields: Of<'_>) -> ServiceData {
        let status = |it: Of<'_>| it.0.as_u64().and_then(|it| u16::try_from(it).ok()).unwrap_or(0);
        ServiceData {
            tool_id: fields.maybe("tool_id"),
            request: fields.object("request").map(RequestForm::read),
            args: fields.filling("args"),
            outputs: fields.list("outputs", OutputMap::read),
            timeout_ms: fields.small("timeout_ms"),
            retry: fields.object("retry").map(Retry::read),
            success: fields.list("success", status),
            idempotency_key: fields.template("idempotency_key"),
            max_response_bytes: fields.small("max_response_bytes").unwrap_or(MAX_RESPONSE_BYTES),
            effect_class: class(fields),
        }
    }
}
