//! `GET /openapi.json`: the OpenAPI document, generated from the handlers.
//!
//! Handlers are described by `#[utoipa::path(…)]`; `app::routes` registers route and description with `routes!` and adds the scopes.
//! Error responses need no body in the attribute: they all have the schema `Refusal`.

use std::sync::{Arc, LazyLock};

use axum::Extension;
use axum::body::Bytes;
use axum::http::{Method, header};
use axum::response::{IntoResponse, Response};
use convengine_access::api_error::ASSISTANTS_PREFIX;
use convengine_access::routes::{Access, Route, find_route};
use convengine_settings::merge;
use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use super::assistant::kind_routes;
use super::schemas;

/// The serialized document. It is built by its first request, because it would take a noticeable part of each start.
#[derive(Clone)]
pub struct ApiDocument(Arc<LazyLock<Bytes, Box<dyn FnOnce() -> Bytes + Send>>>);

/// Returns this OpenAPI document.
#[utoipa::path(get, path = "/openapi.json", tag = "operations", responses((status = 200, description = "The OpenAPI document", body = Object)))]
pub async fn openapi(Extension(document): Extension<ApiDocument>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], Bytes::clone(&document.0)).into_response()
}

impl ApiDocument {
    /// Creates the document from the handler descriptions and the scopes of their routes.
    pub fn new(api: OpenApi, routes: Vec<Route>) -> ApiDocument {
        ApiDocument(Arc::new(LazyLock::new(Box::new(move || Bytes::from(build_document(api, &routes).to_string())))))
    }
}

/// Builds the document and adds what all routes have in common.
pub fn build_document(api: OpenApi, routes: &[Route]) -> Value {
    // The document consists of strings, numbers, lists and maps: serializing it cannot fail.
    let mut document = serde_json::to_value(api).unwrap_or_default();
    for (path, item) in document.get_mut("paths").and_then(Value::as_object_mut).into_iter().flatten() {
        for (method, operation) in item.as_object_mut().into_iter().flatten().filter(|entry| entry.1.get("responses").is_some()) {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap_or_default();
            kind_routes::complete_operation(operation, path);
            add_path_parameters(operation, path);
            complete_operation(operation, path, find_route(routes, &method, path));
        }
    }
    merge(&mut document, base_document());
    document
}

/// The parameters of paths that have the same meaning wherever they occur: name, description and format. Handlers describe others.
const PATH_PARAMETERS: [(&str, &str, Option<&str>); 11] = [
    ("agent", "The assistant id", None),
    ("ai_agent", "The id of the AI agent", None),
    ("chain", "The slug of the chain", None),
    ("deployment", "The deployment id", Some("uuid")),
    ("id", "The conversation id", Some("uuid")),
    ("run", "The id of the run", None),
    ("server", "The key of the server", None),
    ("session", "The session id", Some("uuid")),
    ("source", "The source id", None),
    ("token", "The token of the deployment", None),
    ("workflow", "The workflow id", None),
];

/// Adds the parameters of a path that its handler does not describe.
fn add_path_parameters(operation: &mut Value, path: &str) {
    let described = operation.get("parameters").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_described = |name: &str| described.iter().any(|parameter| parameter["in"] == "path" && parameter["name"] == name);
    let names = path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}')).filter(|it| !is_described(it));
    let of_table = |name: &str| PATH_PARAMETERS.iter().find(|it| it.0 == name);
    let mut parameters: Vec<Value> = names.filter_map(of_table).map(path_parameter).collect();
    if !parameters.is_empty() {
        parameters.extend(described);
        operation["parameters"] = parameters.into();
    }
}

fn path_parameter((name, description, format): &(&str, &str, Option<&str>)) -> Value {
    let mut schema = json!({"type": "string"});
    if let Some(format) = format {
        schema["format"] = json!(format);
    }
    json!({"name": name, "in": "path", "description": description, "required": true, "schema": schema})
}

fn base_document() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "ConvEngine",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Table-driven conversations and assistants. Every response has an X-Request-Id header.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "tags": [
            {"name": "conversation", "description": "Messages, conversations and their audit"},
            {"name": "assistants", "description": "Assistants, their versions, deployments, secrets and sessions"},
            {"name": "workflows", "description": "Workflows, workflow chains, AI agents and the tools that they call"},
            {"name": "chains", "description": "Runs of workflow chains, and the webhooks that start and answer them"},
            {"name": "mcp", "description": "MCP servers whose tools are called"},
            {"name": "operations", "description": "Operation of the server"},
        ],
        "components": {
            "schemas": schemas::all(),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "An API key created by `convengine key create`, or a JWT"},
                "deployment": {"type": "http", "scheme": "bearer", "description": "A deployment token, sent from an allowed origin"},
                "api_key": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "An API key in its own header"},
            },
        },
    })
}

/// Adds what all operations have in common: the required scope, the responses of authentication and limits, and the error schema.
fn complete_operation(operation: &mut Value, path: &str, route: Option<&Route>) {
    let Some(members) = operation.as_object_mut() else { return };
    if let Some(route) = route {
        let admin_note = if route.access.is_administrator() { " The convengine.admin-token is also accepted." } else { "" };
        let existing = members.get("description").and_then(Value::as_str).map(|it| format!("{it}\n\n")).unwrap_or_default();
        let scopes = route.required_scopes.to_text();
        let by = |scheme: &str| scopes.split(' ').map(|it| json!({scheme: [it]})).collect::<Vec<_>>();
        let (requirement, security) = match route.access {
            Access::Deployment => ("Requires a deployment token.".to_owned(), vec![json!({"deployment": []})]),
            Access::DeploymentLink => ("Requires a deployment token in the path.".to_owned(), vec![]),
            Access::Signature => ("Requires a signature.".to_owned(), vec![]),
            Access::Scoped | Access::Administrator | Access::ResumeToken => {
                let requirement = format!("Requires scope {} if authentication is on.{admin_note}", route.required_scopes);
                (requirement, [by("bearer"), by("api_key")].concat())
            }
        };
        members.insert("description".to_owned(), format!("{existing}{requirement}").into());
        members.insert("security".to_owned(), security.into());
    }
    let Some(responses) = members.get_mut("responses").and_then(Value::as_object_mut) else { return };
    let guards = [
        ("401", "The credentials are missing or invalid"),
        ("403", "The credentials lack the required scope"),
        ("429", "The rate limit or spend cap is exceeded; see Retry-After"),
    ];
    for (status, description) in guards.into_iter().filter(|_| route.is_some()) {
        responses.entry(status).or_insert_with(|| json!({"description": description}));
    }
    if path.starts_with(ASSISTANTS_PREFIX) {
        responses.entry("503").or_insert_with(|| json!({"description": "The database is unavailable"}));
    }
    responses.entry("421").or_insert_with(|| json!({"description": "The Host header does not name this server"}));
    for (_, answer) in responses.iter_mut().filter(|entry| entry.0.as_str() >= "400") {
        let Some(answer) = answer.as_object_mut() else { continue };
        let schema = if path.starts_with(ASSISTANTS_PREFIX) { "AssistantRefusal" } else { "Refusal" };
        let refusal = json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{schema}")}}});
        answer.entry("content").or_insert(refusal);
    }
    for (_, answer) in responses.iter_mut() {
        let id =
            json!({"X-Request-Id": {"description": "The request id sent by the client, or a generated one", "schema": {"type": "string"}}});
        let Some(answer) = answer.as_object_mut() else { continue };
        let headers = answer.entry("headers").or_insert_with(|| Value::Object(Map::new()));
        merge(headers, id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tenant_routes;

    #[test]
    fn operations_have_the_words_of_their_kind_and_all_parameters_of_their_path() {
        let routes = tenant_routes(true, None);
        let document = build_document(routes.openapi(), routes.list());
        let text = document["paths"].to_string();
        for word in ["{documents}", "{document}", "{programs}", "{sessions}", "{draft}", "{validate}", "\"documents\"", "schemas/Document"]
        {
            assert!(!text.contains(word), "{word}");
        }
        for (path, item) in document["paths"].as_object().expect("paths") {
            for (method, operation) in item.as_object().expect("operations") {
                let parameters = operation["parameters"].as_array().into_iter().flatten().filter(|it| it["in"] == "path");
                let described: Vec<String> = parameters.filter_map(|it| it["name"].as_str()).map(|it| format!("{{{it}}}")).collect();
                let names: Vec<&str> = path.split('/').filter(|segment| segment.starts_with('{')).collect();
                assert_eq!(described, names, "{method} {path}");
            }
        }
        let versions = &document["paths"]["/v1/ai-agents/{ai_agent}/versions"]["get"];
        assert_eq!(
            (&versions["tags"][0], &versions["summary"]),
            (&json!("workflows"), &json!("Lists the versions of an AI agent, newest first."))
        );
    }
}
