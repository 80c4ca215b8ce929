//! `/v1/tools/{tool}`: the tools of the workspace, which documents name (docs/spec/workflows-http.md#2).

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use convengine_access::api_error::ApiError;
use convengine_content::check;
use convengine_content::references::is_tool_id;
use convengine_host_base::clock;
use convengine_storage::assistant::tool;
use serde_json::{Value, json};

use super::body::{ObjectBody, ObjectRefusals};
use super::document::{check_id, refuse};
use crate::api::host::Host;

/// Stores a tool and replaces an existing one with the same id. Sessions that run keep the tool that they started with, and published
/// versions of assistants and AI agents the one that they were published with.
#[utoipa::path(
    put,
    path = "/v1/tools/{tool}",
    tag = "workflows",
    params(("tool" = String, Path, description = "The tool id")),
    request_body = ref("#/components/schemas/Tool"),
    responses(
        ObjectRefusals,
        (status = 200, description = "The tool is stored; the response lists its issues", body = ref("#/components/schemas/SavedTool")),
        (status = 404, description = "The path is invalid"),
        (status = 422, description = "The body is not a tool, or has another id"),
    ),
)]
pub async fn put(
    State(host): State<Arc<Host>>,
    id: Result<Path<String>, PathRejection>,
    ObjectBody(members): ObjectBody,
) -> Result<Json<Value>, ApiError> {
    let (id, document) = (parse_id(id)?, Value::Object(members?));
    check_id(&document, "id", &id)?;
    let (document, issues) = check::check_tool(&host.content, document).await?;
    if issues.iter().any(check::prevents_saving) {
        return Err(refuse(&issues));
    }
    tool::save(&host.content.readers, &id, &document.to_string(), clock::now()).await?;
    Ok(Json(json!({"id": id, "issues": issues})))
}

/// Returns a tool as it was stored.
#[utoipa::path(
    get,
    path = "/v1/tools/{tool}",
    tag = "workflows",
    params(("tool" = String, Path, description = "The tool id")),
    responses(
        (status = 200, description = "The tool", body = ref("#/components/schemas/Tool")),
        (status = 404, description = "Tool not found"),
    ),
)]
pub async fn read(State(host): State<Arc<Host>>, id: Result<Path<String>, PathRejection>) -> Result<Response, ApiError> {
    let found = tool::find(&host.content.readers, &parse_id(id)?).await?;
    let document = found.ok_or_else(tool_not_found)?;
    Ok(([(header::CONTENT_TYPE, "application/json")], document).into_response())
}

/// Deletes a tool. Sessions that run keep it.
#[utoipa::path(
    delete,
    path = "/v1/tools/{tool}",
    tag = "workflows",
    params(("tool" = String, Path, description = "The tool id")),
    responses(
        (status = 204, description = "The tool is deleted"),
        (status = 404, description = "Tool not found"),
    ),
)]
pub async fn delete(State(host): State<Arc<Host>>, id: Result<Path<String>, PathRejection>) -> Result<StatusCode, ApiError> {
    let existed = tool::delete(&host.content.readers, &parse_id(id)?).await?;
    if existed { Ok(StatusCode::NO_CONTENT) } else { Err(tool_not_found()) }
}

fn parse_id(id: Result<Path<String>, PathRejection>) -> Result<String, ApiError> {
    id.ok().map(|it| it.0).filter(|it| is_tool_id(it)).ok_or_else(tool_not_found)
}

fn tool_not_found() -> ApiError {
    ApiError::not_found("tool not found; store it first")
}
