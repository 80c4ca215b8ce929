//! Tools, and the calls of services.

use serde_json::Value;

use super::read::Of;
use super::text::{Filling, Template};
use crate::text::path::Path;
use crate::turn::Class;

/// Bytes that an answer may have where nothing else is said.
const MAX_RESPONSE_BYTES: u32 = 262_144;

/// A request of a service.
#[derive(Debug, Clone)]
pub struct RequestForm {
    /// `GET`, `POST`, …
    pub method: String,
    /// Where it goes.
    pub url: Template,
    /// What is added to the address, in its order.
    pub query: Vec<(String, Template)>,
    /// Headers, in their order.
    pub headers: Vec<(String, Template)>,
    /// What is sent.
    pub body: Option<Filling>,
    /// `none`, `json`, `form`, `text` or `multipart`.
    pub body_type: Option<String>,
}

/// What of an answer becomes a variable.
#[derive(Debug, Clone)]
pub struct OutputMap {
    /// JSON path in the answer.
    pub path: String,
    /// The variable.
    pub variable: Path,
    /// What it is when nothing is found.
    pub default: Option<Value>,
    /// Whether the call fails then.
    pub required: bool,
    /// What it has to be.
    pub kind: Option<ValueType>,
}

/// The type of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq)]
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

/// The call by which an agent says that it is done.
pub const FINISH: &str = "finish";

/// The call by which it asks for a person.
pub const REQUEST_HUMAN: &str = "request_human";

/// Characters of a tool's name that providers take.
const LONGEST_NAME: usize = 64;

/// A tool of the document.
#[derive(Debug, Clone)]
pub struct FlowTool {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What a model is told of it.
    pub description: String,
    /// `http`, `webhook`, `function`, `mcp` or `noop`.
    pub kind: String,
    /// JSON Schema of its arguments.
    pub input_schema: Option<Value>,
    /// What is asked.
    pub request: Option<RequestForm>,
    /// What of the answer becomes variables.
    pub outputs: Vec<OutputMap>,
    /// Milliseconds for an attempt.
    pub timeout_ms: Option<u32>,
    /// How often it is tried.
    pub retry: Option<Retry>,
    /// What repeating it does; by its method when it does not say.
    pub effect_class: Option<Class>,
    /// The secrets that it may use.
    pub secrets: Vec<String>,
    /// The secret that signs its calls.
    pub signing_secret: Option<String>,
    /// Whether a person has to say yes.
    pub sensitive: bool,
}

/// The data of a service node.
#[derive(Debug, Clone)]
pub struct ServiceData {
    /// A tool of the document.
    pub tool_id: Option<String>,
    /// Or what is asked.
    pub request: Option<RequestForm>,
    /// What the tool's templates know as `args`.
    pub args: Option<Filling>,
    /// What of the answer becomes variables, beside the tool's.
    pub outputs: Vec<OutputMap>,
    /// Milliseconds for an attempt.
    pub timeout_ms: Option<u32>,
    /// How often it is tried.
    pub retry: Option<Retry>,
    /// Statuses of a success; 200 to 299 when there are none.
    pub success: Vec<u16>,
    /// The key of a write.
    pub idempotency_key: Option<Template>,
    /// Bytes that an answer may have.
    pub max_response_bytes: u32,
    /// What repeating it does.
    pub effect_class: Option<Class>,
}

impl RequestForm {
    fn read(of: Of<'_>) -> RequestForm {
        let templates = |name: &str| {
            let text = |value: &Value| Template::from(value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            of.members(name).map(|(name, value)| (name.clone(), text(value))).collect()
        };
        RequestForm {
            method: of.string_or("method", "GET"),
            url: of.template("url").unwrap_or_default(),
            query: templates("query"),
            headers: templates("headers"),
            body: of.filling("body"),
            body_type: of.maybe("body_type"),
        }
    }
}

impl OutputMap {
    fn read(of: Of<'_>) -> OutputMap {
        OutputMap {
            path: of.string("path"),
            variable: super::read::path(of.text("variable").unwrap_or_default()),
            default: of.0.get("default").cloned(),
            required: of.flag("required", false),
            kind: ValueType::read(of),
        }
    }
}

impl ValueType {
    pub(super) fn read(of: Of<'_>) -> Option<ValueType> {
        of.word(
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
    fn read(of: Of<'_>) -> Retry {
        let usual = Retry::default();
        Retry {
            max_attempts: of.small("max_attempts").unwrap_or(usual.max_attempts),
            initial_ms: of.count("initial_ms").unwrap_or(usual.initial_ms),
            multiplier: of.real("multiplier").unwrap_or(usual.multiplier),
            max_ms: of.count("max_ms").unwrap_or(usual.max_ms),
            on: of.value("on").and_then(Value::as_array).cloned().unwrap_or(usual.on),
        }
    }
}

fn class(of: Of<'_>) -> Option<Class> {
    of.word("effect_class", &[("read", Class::Read), ("write", Class::Write), ("irreversible", Class::Irreversible)])
}

impl FlowTool {
    pub(super) fn read(of: Of<'_>) -> FlowTool {
        FlowTool {
            id: of.string("id"),
            name: of.string("name"),
            description: of.string("description"),
            kind: of.string("kind"),
            input_schema: of.value("input_schema").cloned(),
            request: of.object("request").map(RequestForm::read),
            outputs: of.list("outputs", OutputMap::read),
            timeout_ms: of.small("timeout_ms"),
            retry: of.object("retry").map(Retry::read),
            effect_class: class(of),
            secrets: of.strings("secrets"),
            signing_secret: of.maybe("signing_secret"),
            sensitive: of.flag("sensitive", false),
        }
    }

    /// The name by which models know it: its id as providers take it.
    pub fn offered(&self) -> String {
        let plain = |it: char| if it.is_ascii_alphanumeric() || it == '_' || it == '-' { it } else { '_' };
        self.id.chars().take(LONGEST_NAME).map(plain).collect()
    }
}

/// Whether a call is one of those that every agent has.
pub fn is_built_in(name: &str) -> bool {
    [FINISH, REQUEST_HUMAN].contains(&name)
}

impl ServiceData {
    pub(super) fn read(of: Of<'_>) -> ServiceData {
        let status = |it: Of<'_>| it.0.as_u64().and_then(|it| u16::try_from(it).ok()).unwrap_or(0);
        ServiceData {
            tool_id: of.maybe("tool_id"),
            request: of.object("request").map(RequestForm::read),
            args: of.filling("args"),
            outputs: of.list("outputs", OutputMap::read),
            timeout_ms: of.small("timeout_ms"),
            retry: of.object("retry").map(Retry::read),
            success: of.list("success", status),
            idempotency_key: of.template("idempotency_key"),
            max_response_bytes: of.small("max_response_bytes").unwrap_or(MAX_RESPONSE_BYTES),
            effect_class: class(of),
        }
    }
}
