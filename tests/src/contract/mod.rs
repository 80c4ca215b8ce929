//! Calls made from the API's own document: such as it promises to answer, and such as nobody should send; and what an answer owes to it.

mod broken;
mod values;

use std::collections::BTreeMap;

use convengine_core::json::schema::JsonSchema;
use serde_json::{Value, json};

use values::Values;

/// A call.
#[derive(Debug, Clone)]
pub struct Call {
    /// What is wrong with it; nothing when it keeps to the document.
    pub wrong: Option<String>,
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers.
    pub headers: Vec<(&'static str, Vec<u8>)>,
    /// The body; absent when none is sent.
    pub body: Option<Vec<u8>>,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// Headers by name in small letters.
    pub headers: BTreeMap<String, String>,
    /// The body; of an endless one its beginning.
    pub body: Vec<u8>,
}

/// An operation of the document.
#[derive(Debug, Clone)]
pub struct Operation {
    /// The method, in upper case.
    pub method: String,
    /// The path, with `{names}`.
    pub path: String,
    /// What the document says of it.
    pub told: Value,
}

/// The document.
#[derive(Debug, Clone)]
pub struct Document(Value);

/// Where paths begin whose refusals have a form of their own.
const ASSISTANTS: &str = "/v1/";

/// Whether a refusal says what earlier calls have left: what is deleted is gone, and not every hash is one.
fn depends(operation: &Operation, status: u16) -> bool {
    let of_assistant = operation.path.starts_with(ASSISTANTS) && matches!(status, 404 | 422);
    of_assistant || status == 409 || status == 404 && (operation.method == "DELETE" || operation.path.contains("{hash}"))
}

impl Document {
    /// A document as the server sends it; references lead where the checker of schemas looks for them.
    ///
    /// # Errors
    /// When it is no JSON.
    pub fn read(text: &str) -> serde_json::Result<Document> {
        serde_json::from_str(&text.replace("#/components/schemas/", "#/$defs/")).map(Document)
    }

    /// All operations.
    pub fn operations(&self) -> Vec<Operation> {
        let paths = self.0["paths"].as_object().into_iter().flatten();
        let of_path = |(path, item): (&String, &Value)| -> Vec<Operation> {
            let methods = item.as_object().into_iter().flatten().filter(|it| it.1.get("responses").is_some());
            methods.map(|(method, told)| Operation { method: method.to_uppercase(), path: path.clone(), told: told.clone() }).collect()
        };
        paths.flat_map(of_path).collect()
    }

    /// The calls of an operation: `rounds` that keep to the document, made from a seed, and each way to break it. `known` is a
    /// conversation that there is.
    pub fn calls(&self, operation: &Operation, known: &str, seed: u64, rounds: usize) -> Vec<Call> {
        let mut values = Values::new(&self.0["components"]["schemas"], known, seed);
        let mut calls: Vec<Call> = (0..rounds).map(|_| valid(operation, &mut values)).collect();
        let model = valid(operation, &mut values);
        calls.extend(broken::calls(operation, &self.methods(operation), &model, &mut values));
        calls
    }

    /// The methods of an operation's path. What only one of several that read can be asked for is tried with that one.
    fn methods(&self, operation: &Operation) -> Vec<String> {
        let of_path = self.0["paths"][&operation.path].as_object();
        let mut methods: Vec<String> = of_path.into_iter().flatten().map(|it| it.0.to_uppercase()).collect();
        if operation.method != "GET" && methods.iter().any(|it| it == "GET") {
            methods.push("HEAD".to_owned());
        }
        methods
    }

    /// What an answer owes to the document; nothing when it keeps it.
    pub fn breach(&self, operation: &Operation, call: &Call, reply: &Reply) -> Option<String> {
        let header = |name: &str| reply.headers.get(name).map(String::as_str).unwrap_or_default();
        if header("x-request-id").is_empty() {
            return Some("it has no X-Request-Id".to_owned());
        }
        let documented = operation.told["responses"].get(reply.status.to_string());
        if call.wrong.is_none() && reply.status >= 400 && !(documented.is_some() && depends(operation, reply.status)) {
            return Some("a call that keeps to the document is refused".to_owned());
        }
        // Not even a 503, which the document may promise: nothing is out of order while the calls are made.
        if reply.status >= 500 {
            return Some("the server failed".to_owned());
        }
        if call.method == "HEAD" {
            return (!reply.body.is_empty()).then(|| "an answer to HEAD has a body".to_owned());
        }
        if reply.status == 304 && documented.is_some() {
            return (!reply.body.is_empty()).then(|| "an answer without news has a body".to_owned());
        }
        let content = header("content-type").split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if reply.status >= 400 {
            // What is sent to another path, or with another method, is not the operation's.
            let elsewhere = matches!(reply.status, 404 | 405);
            if documented.is_none() && !elsewhere {
                return Some("the status is not documented".to_owned());
            }
            return self.refusal(&call.path, reply, &content);
        }
        let Some(documented) = documented else {
            let elsewhere = call.method != operation.method || call.wrong.as_deref().is_some_and(|it| it.starts_with("path"));
            return (!elsewhere).then(|| "the status is not documented".to_owned());
        };
        let Some(form) = documented.pointer(&format!("/content/{}", content.replace('/', "~1"))) else {
            return Some(format!("the content type '{content}' is not documented"));
        };
        match content.as_str() {
            "application/json" => self.check(&form["schema"], &reply.body),
            "text/event-stream" => {
                let begins = reply.body.starts_with(b"event:CONNECTED\ndata:{");
                (!begins).then(|| "the stream does not begin with CONNECTED".to_owned())
            }
            _ => std::str::from_utf8(&reply.body).err().map(|it| it.to_string()),
        }
    }

    fn refusal(&self, path: &str, reply: &Reply, content: &str) -> Option<String> {
        if content != "application/json" {
            return Some(format!("a refusal has the content type '{content}'"));
        }
        let told = serde_json::from_slice::<Value>(&reply.body).unwrap_or_default();
        if path.starts_with(ASSISTANTS) {
            return self.check(&json!({"$ref": "#/$defs/AssistantRefusal"}), &reply.body);
        }
        if told["status"] != reply.status {
            return Some("a refusal tells of another status than its own".to_owned());
        }
        self.check(&json!({"$ref": "#/$defs/Refusal"}), &reply.body)
    }

    fn check(&self, schema: &Value, body: &[u8]) -> Option<String> {
        let value = match serde_json::from_slice(body) {
            Ok(value) => value,
            Err(error) => return Some(format!("the body is no JSON: {error}")),
        };
        let whole = json!({"$defs": self.0["components"]["schemas"], "allOf": [schema]});
        match JsonSchema::compile(&whole) {
            Ok(schema) => schema.find_violation(&value),
            Err(error) => Some(format!("the document has a schema that cannot be used: {error}")),
        }
    }
}

/// A call that keeps to the document.
fn valid(operation: &Operation, values: &mut Values<'_>) -> Call {
    let mut path = operation.path.clone();
    let mut query = Vec::new();
    for parameter in operation.told["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap_or_default();
        match parameter["in"].as_str() {
            Some("path") => path = path.replace(&format!("{{{name}}}"), &values.plain(&parameter["schema"])),
            Some("query") if values.chance() => query.push(format!("{name}={}", values.of_parameter(name, &parameter["schema"]))),
            _ => {}
        }
    }
    if !query.is_empty() {
        path = format!("{path}?{}", query.join("&"));
    }
    let schema = operation.told.pointer("/requestBody/content/application~1json/schema");
    let body = schema.map(|it| values.of(it, 0).to_string().into_bytes());
    let headers = body.iter().map(|_| ("content-type", b"application/json".to_vec())).collect();
    Call { wrong: None, method: operation.method.clone(), path, headers, body }
}
