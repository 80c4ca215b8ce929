//! `GET /openapi.json`: the API as a document, made from the handlers that answer it.
//!
//! A handler says what it is in `#[utoipa::path(…)]`, and `app::routes` takes route and document from there with `routes!`; the scopes
//! stand there alone. Statuses from 400 on need no body in the attribute: they all have the form of `Refusal`.

use std::sync::Arc;

use axum::Extension;
use axum::body::Bytes;
use axum::http::{Method, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use super::error::ASSISTANTS;
use super::schemas;
use crate::access::routes::{Route, find};
use crate::settings::merge;

/// The document as it is sent.
#[derive(Debug, Clone)]
pub struct Document(Arc<Bytes>);

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "operations", responses((status = 200, description = "The document", body = Object)))]
pub async fn openapi(Extension(document): Extension<Document>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], Bytes::clone(&document.0)).into_response()
}

impl Document {
    /// The document of what handlers tell, and of the scopes that their routes need.
    pub fn of(told: OpenApi, routes: &[Route]) -> Document {
        Document(Arc::new(Bytes::from(whole(told, routes).to_string())))
    }
}

/// The document with what all routes have in common.
pub fn whole(told: OpenApi, routes: &[Route]) -> Value {
    // The types of the document are texts, numbers, lists and maps: serialising them has no way to fail.
    let mut document = serde_json::to_value(told).unwrap_or_default();
    for (path, item) in document.get_mut("paths").and_then(Value::as_object_mut).into_iter().flatten() {
        for (method, operation) in item.as_object_mut().into_iter().flatten().filter(|it| it.1.get("responses").is_some()) {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap_or_default();
            complete(operation, path, find(routes, &method, path));
        }
    }
    merge(&mut document, base());
    document
}

fn base() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "ConvEngine",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Conversations that are driven by tables. Every answer carries X-Request-Id.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "tags": [
            {"name": "conversation", "description": "Messages and what becomes of them"},
            {"name": "assistants", "description": "Flow documents and what they need"},
            {"name": "operations", "description": "For those who run the server"},
        ],
        "components": {
            "schemas": schemas::all(),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "A key of `convengine key create`, or a JWT"},
                "deployment": {"type": "http", "scheme": "bearer", "description": "The token of a deployment, from one of its origins"},
                "api_key": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The same key in a header of its own"},
            },
        },
    })
}

/// Adds what the operation has in common with all others: the scope in words, the refusals of those who guard it, and their form.
fn complete(operation: &mut Value, path: &str, route: Option<&Route>) {
    let Some(members) = operation.as_object_mut() else { return };
    if let Some(route) = route {
        let instead = if route.administers { " The token of convengine.admin-token does as well." } else { "" };
        let said = members.get("description").and_then(Value::as_str).map(|it| format!("{it}\n\n")).unwrap_or_default();
        let scopes = route.needs.text();
        let by = |scheme: &str| scopes.split(' ').map(|it| json!({scheme: [it]})).collect::<Vec<_>>();
        let (who, security) = match route.deployed {
            true => ("For the pages of a deployment, with its token.".to_owned(), vec![json!({"deployment": []})]),
            false => (format!("Scope: {}, where keys are asked for.{instead}", route.needs), [by("bearer"), by("api_key")].concat()),
        };
        members.insert("description".to_owned(), format!("{said}{who}").into());
        members.insert("security".to_owned(), security.into());
    }
    let Some(responses) = members.get_mut("responses").and_then(Value::as_object_mut) else { return };
    let guards = [
        ("401", "There is no key, or it is not known"),
        ("403", "The key has not the scope"),
        ("429", "Too many calls, or too much spent: see Retry-After"),
    ];
    for (status, description) in guards.into_iter().filter(|_| route.is_some()) {
        responses.entry(status).or_insert_with(|| json!({"description": description}));
    }
    for (_, answer) in responses.iter_mut().filter(|it| it.0.as_str() >= "400") {
        let Some(answer) = answer.as_object_mut() else { continue };
        let form = if path.starts_with(ASSISTANTS) { "AssistantRefusal" } else { "Refusal" };
        let refusal = json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{form}")}}});
        answer.entry("content").or_insert(refusal);
    }
    for (_, answer) in responses.iter_mut() {
        let id = json!({"X-Request-Id": {"description": "That of the request, or a new one", "schema": {"type": "string"}}});
        let Some(answer) = answer.as_object_mut() else { continue };
        let headers = answer.entry("headers").or_insert_with(|| Value::Object(Map::new()));
        merge(headers, id);
    }
}
