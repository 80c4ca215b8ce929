//! `GET /schemas` and `GET /schemas/{name}`: the JSON Schemas of packs and flow documents.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use convengine_access::api_error::ApiError;
use convengine_content::config::json_schema::PublishedSchema;

/// The media type of JSON Schemas.
const SCHEMA_JSON: &str = "application/schema+json";

/// Lists the JSON Schemas of files.
#[utoipa::path(get, path = "/schemas", tag = "operations", responses((status = 200, description = "The names and paths", body = ref("#/components/schemas/JsonSchemas"))))]
pub async fn list() -> Json<Value> {
    let schemas = PublishedSchema::ALL.map(|schema| json!({"name": schema.name(), "url": format!("/schemas/{}", schema.name())}));
    Json(json!({"schemas": schemas}))
}

/// Returns a JSON Schema (2020-12).
#[utoipa::path(
    get,
    path = "/schemas/{name}",
    tag = "operations",
    params(("name" = inline(PublishedSchema), Path, description = "The name of the schema")),
    responses(
        (status = 200, description = "The schema", body = Object, content_type = "application/schema+json"),
        (status = 404, description = "Unknown name; the message lists the names"),
    ),
)]
pub async fn read(name: Result<Path<String>, PathRejection>) -> Result<Response, ApiError> {
    let schema = name.ok().and_then(|Path(name)| PublishedSchema::parse(&name));
    let unknown = || ApiError::not_found(format!("schema does not exist; use one of {}", PublishedSchema::names()));
    let text = schema.ok_or_else(unknown)?.to_json().to_string();
    Ok(([(header::CONTENT_TYPE, SCHEMA_JSON)], text).into_response())
}
