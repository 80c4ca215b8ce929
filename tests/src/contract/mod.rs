//! Contract tests: generates valid and invalid calls from the server's OpenAPI document, and checks replies against the document.

mod invalid;
pub mod promises;
mod values;

use std::cell::RefCell;
use std::collections::BTreeMap;

use convengine_core::json::schema::JsonSchema;
use serde_json::{Value, json};

use values::ValueGenerator;

/// A call of the API.
#[derive(Debug, Clone)]
pub struct Call {
    /// The defect of the call; `None` if the call is valid.
    pub defect: Option<String>,
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers.
    pub headers: Vec<(&'static str, Vec<u8>)>,
    /// The body, if one is sent.
    pub body: Option<Vec<u8>>,
}

/// The reply to a call.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The headers, by lower-case name.
    pub headers: BTreeMap<String, String>,
    /// The body; of an endless stream, its beginning.
    pub body: Vec<u8>,
}

/// An operation of the document.
#[derive(Debug, Clone)]
pub struct Operation {
    /// The method, in upper case.
    pub method: String,
    /// The path, with `{names}`.
    pub path: String,
    /// The operation object of the document.
    pub definition: Value,
}

/// The server's OpenAPI document.
#[derive(Debug)]
pub struct Document {
    content: Value,
    /// The schemas of replies by their text, because each is compiled with all schemas of the document.
    compiled: RefCell<BTreeMap<String, Result<JsonSchema, String>>>,
}

/// The prefix of the paths whose errors have the schema `AssistantRefusal`.
const ASSISTANT_PATHS: &str = "/v1/";

/// Returns whether an error status may result from earlier calls or a generated value: a deleted resource, an unknown hash, nobody's values.
fn depends_on_state(operation: &Operation, status: u16) -> bool {
    let of_assistant = operation.path.starts_with(ASSISTANT_PATHS) && matches!(status, 404 | 422);
    of_assistant
        || status == 409
        // A generated body has no signature.
        || status == 401 && operation.path.contains("/ingress")
        || status == 404 && (operation.method == "DELETE" || ["{hash}", "{server}", "/forget"].iter().any(|it| operation.path.contains(it)))
}

impl Document {
    /// Parses a document as the server sends it, and rewrites its references for the schema validator.
    ///
    /// # Errors
    /// If the text is not JSON.
    pub fn parse(text: &str) -> serde_json::Result<Document> {
        let content = serde_json::from_str(&text.replace("#/components/schemas/", "#/$defs/"))?;
        Ok(Document { content, compiled: RefCell::default() })
    }

    /// Returns all operations.
    pub fn operations(&self) -> Vec<Operation> {
        let paths = self.content["paths"].as_object().into_iter().flatten();
        let of_path = |(path, item): (&String, &Value)| -> Vec<Operation> {
            let methods = item.as_object().into_iter().flatten().filter(|method| method.1.get("responses").is_some());
            methods
                .map(|(method, object)| Operation { method: method.to_uppercase(), path: path.clone(), definition: object.clone() })
                .collect()
        };
        paths.flat_map(of_path).collect()
    }

    /// Returns the calls of an operation: `rounds` valid ones, generated from `seed`, and every invalid one. `known` is the id of an
    /// existing conversation.
    pub fn calls(&self, operation: &Operation, known: &str, seed: u64, rounds: usize) -> Vec<Call> {
        let mut values = ValueGenerator::new(&self.content["components"]["schemas"], known, seed);
        let mut calls: Vec<Call> = (0..rounds).map(|_| generate_valid_call(operation, &mut values)).collect();
        let model = generate_valid_call(operation, &mut values);
        calls.extend(invalid::calls(operation, &self.methods(operation), &model, &mut values));
        calls
    }

    /// Returns the methods of an operation's path. `HEAD` is left to the `GET` operation of the path.
    fn methods(&self, operation: &Operation) -> Vec<String> {
        let of_path = self.content["paths"][&operation.path].as_object();
        let mut methods: Vec<String> = of_path.into_iter().flatten().map(|it| it.0.to_uppercase()).collect();
        if operation.method != "GET" && methods.iter().any(|it| it == "GET") {
            methods.push("HEAD".to_owned());
        }
        methods
    }

    /// Returns how a reply violates the document, if it does.
    pub fn find_violation(&self, operation: &Operation, call: &Call, reply: &Reply) -> Option<String> {
        let header = |name: &str| reply.headers.get(name).map(String::as_str).unwrap_or_default();
        if header("x-request-id").is_empty() {
            return Some("the reply has no X-Request-Id".to_owned());
        }
        let documented = operation.definition["responses"].get(reply.status.to_string());
        if call.defect.is_none() && reply.status >= 400 && !(documented.is_some() && depends_on_state(operation, reply.status)) {
            return Some("a valid call is rejected".to_owned());
        }
        // Not even a documented 503 is allowed: the server is healthy during the test.
        if reply.status >= 500 {
            return Some("the server failed".to_owned());
        }
        if call.method == "HEAD" {
            return (!reply.body.is_empty()).then(|| "the reply to HEAD has a body".to_owned());
        }
        if reply.status == 304 && documented.is_some() {
            return (!reply.body.is_empty()).then(|| "a 304 reply has a body".to_owned());
        }
        let content = header("content-type").split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if reply.status >= 400 {
            // A call with another path or method may not reach the operation.
            let other_operation = matches!(reply.status, 404 | 405);
            if documented.is_none() && !other_operation {
                return Some("the status is not documented".to_owned());
            }
            return self.check_error(&call.path, reply, &content);
        }
        let Some(documented) = documented else {
            let other_operation = call.method != operation.method || call.defect.as_deref().is_some_and(|it| it.starts_with("path"));
            return (!other_operation).then(|| "the status is not documented".to_owned());
        };
        if documented.get("content").is_none() && reply.body.is_empty() {
            return None;
        }
        let Some(media_type) = documented.pointer(&format!("/content/{}", content.replace('/', "~1"))) else {
            return Some(format!("the content type '{content}' is not documented"));
        };
        match content.as_str() {
            "application/json" => self.check_schema(&media_type["schema"], &reply.body),
            "text/event-stream" => {
                let first: &[u8] = if operation.path == "/v1/desk/events" { b"event:ready\ndata:{" } else { b"event:CONNECTED\ndata:{" };
                let is_connected = reply.body.starts_with(first);
                (!is_connected).then(|| "the stream does not begin with its first event".to_owned())
            }
            _ => std::str::from_utf8(&reply.body).err().map(|it| it.to_string()),
        }
    }

    fn check_error(&self, path: &str, reply: &Reply, content: &str) -> Option<String> {
        if content != "application/json" {
            return Some(format!("an error has the content type '{content}'"));
        }
        let error = serde_json::from_slice::<Value>(&reply.body).unwrap_or_default();
        if path.starts_with(ASSISTANT_PATHS) {
            return self.check_schema(&json!({"$ref": "#/$defs/AssistantRefusal"}), &reply.body);
        }
        if error["status"] != reply.status {
            return Some("the status in the error body differs from the reply's status".to_owned());
        }
        self.check_schema(&json!({"$ref": "#/$defs/Refusal"}), &reply.body)
    }

    fn check_schema(&self, schema: &Value, body: &[u8]) -> Option<String> {
        let value = match serde_json::from_slice(body) {
            Ok(value) => value,
            Err(error) => return Some(format!("the body is not JSON: {error}")),
        };
        let mut compiled = self.compiled.borrow_mut();
        let compile = || {
            let whole = json!({"$defs": self.content["components"]["schemas"], "allOf": [schema]});
            JsonSchema::compile(&whole).map_err(|error| format!("the document has an invalid schema: {error}"))
        };
        match compiled.entry(schema.to_string()).or_insert_with(compile) {
            Ok(schema) => schema.find_violation(&value),
            Err(error) => Some(error.clone()),
        }
    }
}

/// Generates a valid call.
fn generate_valid_call(operation: &Operation, values: &mut ValueGenerator<'_>) -> Call {
    let mut path = operation.path.clone();
    let mut query = Vec::new();
    for parameter in operation.definition["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap_or_default();
        match parameter["in"].as_str() {
            Some("path") => path = path.replace(&format!("{{{name}}}"), &values.generate_path_parameter(&parameter["schema"])),
            Some("query") if parameter["required"] == true || values.next_bool() => {
                query.push(format!("{name}={}", values.generate_query_parameter(name, &parameter["schema"])))
            }
            _ => {}
        }
    }
    if !query.is_empty() {
        path = format!("{path}?{}", query.join("&"));
    }
    let schema = operation.definition.pointer("/requestBody/content/application~1json/schema");
    let body = schema.map(|schema| values.generate(schema, 0).to_string().into_bytes());
    let headers = body.iter().map(|_| ("content-type", b"application/json".to_vec())).collect();
    Call { defect: None, method: operation.method.clone(), path, headers, body }
}
