//! Tools and service nodes.

use convengine_text::json::path::JsonPath;
use convengine_text::variable_path::VariablePath;
use convengine_turn::EffectClass;
use serde_json::Value;

use super::Approval;
use super::fields::Fields;
use super::text::{FlowTemplate, ValueTemplate};
use crate::join_mcp_code;

/// The default maximum size of a response, in bytes.
const MAX_RESPONSE_BYTES: u32 = 262_144;

/// An HTTP request.
#[derive(Debug, Clone)]
pub struct HttpRequestDef {
    /// `GET`, `POST`, …
    pub method: String,
    /// The URL.
    pub url: FlowTemplate,
    /// Query parameters added to the URL, in document order.
    pub query: Vec<(String, FlowTemplate)>,
    /// Headers, in document order.
    pub headers: Vec<(String, FlowTemplate)>,
    /// The body.
    pub body: Option<ValueTemplate>,
    /// `none`, `json`, `form`, `text` or `multipart`.
    pub body_type: Option<String>,
}

/// The mapping of a response value to a variable.
#[derive(Debug, Clone)]
pub struct OutputMapping {
    /// JSONPath in the response.
    pub path: String,
    /// The compiled path, or its error.
    pub query: Result<JsonPath, String>,
    /// The variable.
    pub variable: VariablePath,
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

/// The built-in tool by which an AI agent remembers a value.
pub const REMEMBER: &str = "remember";

/// The built-in tool by which an AI agent searches its knowledge.
pub const SEARCH_KNOWLEDGE: &str = "search_knowledge";

/// The kind of an HTTP tool that always posts.
const HTTP_POST: &str = "http_post";

/// The maximum length of a tool name that providers accept.
const MAX_TOOL_NAME_CHARS: usize = 64;

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
    pub request: Option<HttpRequestDef>,
    /// Mappings of the response to variables.
    pub outputs: Vec<OutputMapping>,
    /// Timeout of an attempt, in milliseconds.
    pub timeout_ms: Option<u32>,
    /// The retry policy.
    pub retry: Option<Retry>,
    /// Its effect class; derived from the method when absent.
    pub effect_class: Option<EffectClass>,
    /// The secrets that it may use.
    pub secrets: Vec<String>,
    /// The secret that signs its calls.
    pub signing_secret: Option<String>,
    /// The MCP server that offers it.
    pub server: Option<String>,
    /// The name by which it is called, if that is another; see [`FlowTool::called_name`].
    pub remote_name: Option<String>,
    /// Whether a call requires approval, and a verified user.
    pub sensitive: bool,
    /// When a call that a model plans requires approval, unless the agent that lists the tool says it.
    pub approval: Option<Approval>,
}

/// Data of `service`.
#[derive(Debug, Clone)]
pub struct ServiceData {
    /// The id of a tool of the document.
    pub tool_id: Option<String>,
    /// The HTTP request, when no tool is named.
    pub request: Option<HttpRequestDef>,
    /// The variable `args` of the templates of the tool.
    pub args: Option<ValueTemplate>,
    /// Mappings of the response to variables, in addition to those of the tool.
    pub outputs: Vec<OutputMapping>,
    /// Timeout of an attempt, in milliseconds.
    pub timeout_ms: Option<u32>,
    /// The retry policy.
    pub retry: Option<Retry>,
    /// Statuses that count as success; 200 to 299 when empty.
    pub success: Vec<u16>,
    /// The idempotency key of a write.
    pub idempotency_key: Option<FlowTemplate>,
    /// Maximum size of the response, in bytes.
    pub max_response_bytes: u32,
    /// Its effect class.
    pub effect_class: Option<EffectClass>,
}

impl HttpRequestDef {
    fn read(fields: Fields<'_>) -> HttpRequestDef {
        let templates = |name: &str| {
            let text = |value: &Value| FlowTemplate::from(value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            fields.members(name).map(|(name, value)| (name.clone(), text(value))).collect()
        };
        HttpRequestDef {
            method: fields.string_or("method", "GET"),
            url: fields.template("url").unwrap_or_default(),
            query: templates("query"),
            headers: templates("headers"),
            body: fields.json_template("body"),
            body_type: fields.optional_string("body_type"),
        }
    }
}

impl OutputMapping {
    pub(super) fn read(fields: Fields<'_>) -> OutputMapping {
        let path = fields.string("path");
        OutputMapping {
            query: JsonPath::compile_query(&path),
            path,
            variable: super::fields::parse_path(fields.text("variable").unwrap_or_default()),
            default: fields.0.get("default").cloned(),
            required: fields.flag("required", false),
            kind: ValueType::read(fields),
        }
    }
}

impl ValueType {
    /// The name with its article, for messages.
    pub fn name_with_article(self) -> &'static str {
        match self {
            ValueType::String => "a string",
            ValueType::Number => "a number",
            ValueType::Boolean => "a boolean",
            ValueType::Array => "an array",
            ValueType::Object => "an object",
            ValueType::Any => "anything",
        }
    }

    const NAMES: [(&'static str, ValueType); 6] = [
        ("string", ValueType::String),
        ("number", ValueType::Number),
        ("boolean", ValueType::Boolean),
        ("array", ValueType::Array),
        ("object", ValueType::Object),
        ("any", ValueType::Any),
    ];

    pub(super) fn read(fields: Fields<'_>) -> Option<ValueType> {
        fields.keyword("type", &ValueType::NAMES)
    }

    /// Returns the type of a name.
    pub fn from_name(name: &str) -> Option<ValueType> {
        ValueType::NAMES.iter().find(|it| it.0 == name).map(|it| it.1)
    }

    /// Its name in documents.
    pub fn name(self) -> &'static str {
        ValueType::NAMES.iter().find(|it| it.1 == self).map_or("any", |it| it.0)
    }
}

impl Retry {
    pub(super) fn read(fields: Fields<'_>) -> Retry {
        let default = Retry::default();
        Retry {
            max_attempts: fields.count_u32("max_attempts").unwrap_or(default.max_attempts),
            initial_ms: fields.count("initial_ms").unwrap_or(default.initial_ms),
            multiplier: fields.float("multiplier").unwrap_or(default.multiplier),
            max_ms: fields.count("max_ms").unwrap_or(default.max_ms),
            on: fields.value("on").and_then(Value::as_array).cloned().unwrap_or(default.on),
        }
    }
}

fn read_effect_class(fields: Fields<'_>) -> Option<EffectClass> {
    fields
        .keyword("effect_class", &[("read", EffectClass::Read), ("write", EffectClass::Write), ("irreversible", EffectClass::Irreversible)])
}

impl FlowTool {
    /// Its name at the MCP server; for a function, the task or the extension that it calls.
    pub fn called_name(&self) -> &str {
        self.remote_name.as_ref().unwrap_or(&self.name)
    }

    /// Whether a call that a model plans waits for a person: what does more than read does, unless the author says otherwise.
    /// (docs/decisions/0056-nothing-is-written-before-consent.md)
    pub fn needs_approval(&self, listed: Option<Approval>, changes_something: bool) -> bool {
        self.sensitive || self.is_approved_by_author(listed, changes_something)
    }

    /// The same for a tool that is not sensitive.
    pub fn is_approved_by_author(&self, listed: Option<Approval>, changes_something: bool) -> bool {
        match listed.or(self.approval) {
            Some(Approval::Always) => true,
            Some(Approval::Never) => false,
            Some(Approval::Write) | None => changes_something,
        }
    }

    /// The code of a tool of the kind `mcp`.
    pub fn mcp_code(&self) -> Option<String> {
        let server = self.server.as_ref().filter(|_| self.kind == "mcp")?;
        Some(join_mcp_code(server, self.called_name()))
    }

    pub(super) fn read(fields: Fields<'_>) -> FlowTool {
        let is_post = fields.text("kind") == Some(HTTP_POST);
        let method = |it: HttpRequestDef| if is_post { HttpRequestDef { method: "POST".to_owned(), ..it } } else { it };
        FlowTool {
            id: fields.string("id"),
            name: fields.string("name"),
            description: fields.string("description"),
            kind: if is_post { "http".to_owned() } else { fields.string("kind") },
            input_schema: fields.value("input_schema").cloned(),
            request: fields.object("request").map(HttpRequestDef::read).map(method),
            outputs: fields.list("outputs", OutputMapping::read),
            timeout_ms: fields.count_u32("timeout_ms"),
            retry: fields.object("retry").map(Retry::read),
            effect_class: read_effect_class(fields),
            secrets: fields.strings("secrets"),
            signing_secret: fields.optional_string("signing_secret"),
            server: fields.optional_string("server"),
            remote_name: fields.optional_string("remote_name"),
            sensitive: fields.flag("sensitive", false),
            approval: Approval::read(fields),
        }
    }

    /// Its name for models: the id, reduced to the characters and length that providers accept.
    pub fn name_for_models(&self) -> String {
        let plain = |it: char| if it.is_ascii_alphanumeric() || it == '_' || it == '-' { it } else { '_' };
        self.id.chars().take(MAX_TOOL_NAME_CHARS).map(plain).collect()
    }
}

/// Whether a tool is one of those that every agent has.
pub fn is_built_in(name: &str) -> bool {
    [FINISH, REQUEST_HUMAN].contains(&name)
}

impl ServiceData {
    /// Reads the data of `tool`, a call of a tool of the workspace.
    pub(super) fn read_tool(fields: Fields<'_>) -> ServiceData {
        ServiceData { tool_id: fields.optional_string("tool_name"), ..ServiceData::read(fields) }
    }

    pub(super) fn read(fields: Fields<'_>) -> ServiceData {
        let status = |it: Fields<'_>| it.0.as_u64().and_then(|it| u16::try_from(it).ok()).unwrap_or(0);
        ServiceData {
            tool_id: fields.optional_string("tool_id"),
            request: fields.object("request").map(HttpRequestDef::read),
            args: fields.json_template("args"),
            outputs: fields.list("outputs", OutputMapping::read),
            timeout_ms: fields.count_u32("timeout_ms"),
            retry: fields.object("retry").map(Retry::read),
            success: fields.list("success", status),
            idempotency_key: fields.template("idempotency_key"),
            max_response_bytes: fields.count_u32("max_response_bytes").unwrap_or(MAX_RESPONSE_BYTES),
            effect_class: read_effect_class(fields),
        }
    }
}
