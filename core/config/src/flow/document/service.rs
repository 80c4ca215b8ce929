//! Tools, and what tools and service nodes have in common.

use convengine_derive::Described;
use convengine_text::json::path::JsonPath;
use convengine_text::json::schema::JsonSchema;
use convengine_text::variable_path::VariablePath;
use convengine_turn::EffectClass;
use serde_json::Value;

use super::super::shape::{Absent, Described, Pattern, Shape, Unread};
use super::Approval;
use super::text::{FlowTemplate, ValueTemplate};
use crate::mcp_code::join_mcp_code;

/// An HTTP request. See [task and tool calls](task-http.md) for what is sent and how failures are reported.
#[derive(Debug, Clone, Described)]
#[described(definition = "HttpRequest")]
pub struct HttpRequestDef {
    /// HTTP method.
    #[member(required, shape = Enum(&["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]), default = "GET")]
    pub method: String,
    /// Address; `http` or `https`.
    #[member(required, meaning = Template(Url), example = r#""https://api.example.org/orders/{{ order.id }}""#)]
    pub url: FlowTemplate,
    /// Query parameters.
    #[member(meaning = Template(Query))]
    pub query: Vec<(String, FlowTemplate)>,
    /// Headers.
    #[member(meaning = Template(Header))]
    pub headers: Vec<(String, FlowTemplate)>,
    /// Body; strings are templates.
    #[member(meaning = Template(Body))]
    pub body: Option<ValueTemplate>,
    /// How the body is sent; by default an object is sent as `json`.
    #[member(shape = Enum(&["none", "json", "form", "text", "multipart"]))]
    pub body_type: Option<String>,
}

/// Stores a value of a response.
#[derive(Debug, Clone, Described)]
#[described(definition = "OutputMap")]
pub struct OutputMapping {
    /// Where in the response; a path to several values gives a list.
    #[member(required, example = r#""$.items[0].id""#)]
    pub path: ResponsePath,
    /// Variable that takes the value.
    #[member(required, meaning = Writes)]
    pub variable: VariablePath,
    /// Value when nothing is found.
    #[member(keep_null, meaning = Template(Text))]
    pub default: Option<Value>,
    /// Fails with `output_missing` if the path matches nothing.
    pub required: bool,
    /// Type to convert to.
    #[member(name = "type")]
    pub kind: Option<ValueType>,
}

/// A JSONPath.
#[derive(Debug, Clone)]
pub struct ResponsePath {
    /// As written.
    pub source: String,
    /// The compiled path, or its error.
    pub query: Result<JsonPath, String>,
}

impl Described for ResponsePath {
    const SHAPE: Shape = Shape::PatternText(Pattern::JsonPath);

    fn read(value: &Value) -> Option<ResponsePath> {
        value.as_str().map(|source| ResponsePath { query: JsonPath::compile_query(source), source: source.to_owned() })
    }
}

impl Absent for ResponsePath {
    fn absent() -> ResponsePath {
        ResponsePath { query: JsonPath::compile_query(""), source: String::new() }
    }
}

/// The JSON Schema of the arguments of a tool.
#[derive(Debug, Clone)]
pub struct InputSchema {
    /// As written.
    pub source: Value,
    /// The compiled schema, or why it cannot be checked.
    pub compiled: Result<JsonSchema, String>,
}

impl Described for InputSchema {
    const SHAPE: Shape = Shape::AnyObject;

    fn read(value: &Value) -> Option<InputSchema> {
        Some(InputSchema { compiled: JsonSchema::compile(value), source: value.clone() })
    }
}

/// The type of a variable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
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
    #[default]
    Any,
}

/// When a failed call is tried again.
#[derive(Debug, Clone, PartialEq, Described)]
#[described(definition = "Retry")]
pub struct Retry {
    /// Attempts, the first included.
    #[member(shape = Integer(1, 10), codes("V006", "V006"), default = 1)]
    pub max_attempts: u32,
    /// Wait before the second attempt.
    #[member(shape = COUNT, codes("V006", "V006"), default = 200)]
    pub initial_ms: u64,
    /// Factor by which each wait grows.
    #[member(shape = Number(1, NO_MAX), codes("V006", "V006"), default = 2.0, documented_default = "2")]
    pub multiplier: f64,
    /// Longest wait.
    #[member(default = 2000)]
    pub max_ms: u64,
    /// Statuses and failures that are tried again.
    #[member(each = AnyOf(&[Integer(400, 599), Enum(&["network", "timeout"])]), default_json = r#"[429,502,503,504,"network","timeout"]"#)]
    pub on: Vec<Value>,
}

impl Default for Retry {
    fn default() -> Self {
        Retry::absent()
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

/// A service that nodes and agents call.
#[derive(Debug, Clone, Described)]
#[described(definition = "Tool", role = Item)]
pub struct FlowTool {
    /// Unique id; models know the tool by it.
    #[member(required, shape = ID)]
    pub id: String,
    /// Display name.
    #[member(required, shape = NAME)]
    pub name: String,
    /// What it does, for models.
    pub description: String,
    /// No effect.
    #[member(shape = Enum(&["assistant", "workspace", "builtin"]))]
    pub scope: Option<Unread<String>>,
    /// `http` and `webhook` call `request`, `http_post` always by POST, `noop` does nothing; `mcp` calls a tool of an MCP server,
    /// `function` a task or an extension.
    #[member(required, shape = Enum(&["http", "http_post", "webhook", "function", "mcp", "noop"]))]
    pub kind: String,
    /// JSON Schema of the arguments; calls with others are rejected.
    pub input_schema: Option<InputSchema>,
    /// No effect.
    #[member(shape = AnyObject)]
    pub output_schema: Option<Unread<Value>>,
    /// The request; its templates read the arguments as `args`.
    #[member(roots("args"))]
    pub request: Option<HttpRequestDef>,
    /// Values of the response to store.
    #[member(roots("args"))]
    pub outputs: Vec<OutputMapping>,
    /// Time limit of an attempt.
    pub timeout_ms: Option<u32>,
    /// When to try again.
    pub retry: Option<Retry>,
    /// What repeating a call does.
    pub effect_class: Option<EffectClass>,
    /// Secrets that its templates may use.
    #[member(each = SECRET)]
    pub secrets: Vec<String>,
    /// Secret that signs the body in the header `X-Convoship-Signature`.
    #[member(shape = SECRET)]
    pub signing_secret: Option<String>,
    /// Key of the MCP server of an `mcp` tool, a row of `ce_mcp_server`.
    #[member(shape = NON_EMPTY, meaning = Names(Server))]
    pub server: Option<String>,
    /// Name of the tool on that server, default `name`; for a `function` the task `bean:method` or the name of an extension.
    #[member(shape = NON_EMPTY)]
    pub remote_name: Option<String>,
    /// Asks a person before each call by an agent.
    pub sensitive: bool,
    /// Asks a person before each call by an agent (`always`), before calls that do more than read (`write`, also without it), or
    /// `never`; an agent that lists the tool may say otherwise.
    pub approval: Option<Approval>,
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

    /// Returns the type of a value.
    pub fn of(value: &Value) -> ValueType {
        match value {
            Value::Null => ValueType::Any,
            Value::Bool(_) => ValueType::Boolean,
            Value::Number(_) => ValueType::Number,
            Value::String(_) => ValueType::String,
            Value::Array(_) => ValueType::Array,
            Value::Object(_) => ValueType::Object,
        }
    }

    /// Returns the type of the values of an entity.
    pub fn of_entity(name: &str) -> Option<ValueType> {
        match name {
            "@number" | "@percent" | "@ordinal" => Some(ValueType::Number),
            "@boolean" => Some(ValueType::Boolean),
            "@list" => Some(ValueType::Array),
            "@currency" | "@date_range" | "@time_range" | "@datetime_range" | "@number_range" | "@currency_range" => {
                Some(ValueType::Object)
            }
            _ => Some(ValueType::String),
        }
    }
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

    /// Makes `http_post` what it stands for: a tool of the kind `http` that posts.
    pub(super) fn normalize(&mut self) {
        if self.kind == HTTP_POST {
            "http".clone_into(&mut self.kind);
            if let Some(request) = &mut self.request {
                "POST".clone_into(&mut request.method);
            }
        }
    }

    /// Its name for models: the id, reduced to the characters and length that providers accept.
    pub fn name_for_models(&self) -> String {
        let plain =
            |character: char| if character.is_ascii_alphanumeric() || character == '_' || character == '-' { character } else { '_' };
        self.id.chars().take(MAX_TOOL_NAME_CHARS).map(plain).collect()
    }
}

/// Whether a tool is one of those that every agent has.
pub fn is_built_in(name: &str) -> bool {
    [FINISH, REQUEST_HUMAN].contains(&name)
}
