//! `/v1/agents`: assistants and the drafts of their flow documents.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use convengine_core::config::flow::{DocumentIssue, import_canvas};
use serde_json::{Value, json};

use super::{assistant_not_found, body, parse_assistant_id};
use crate::api::error::{ApiError, not_found};
use crate::clock;
use crate::runtime::assistant::check;
use crate::runtime::turn_runner::Host;
use crate::storage::assistant::draft;

/// Lists the assistants.
#[utoipa::path(
    get,
    path = "/v1/agents",
    tag = "assistants",
    responses(
        (status = 200, description = "The assistants, ordered by id", body = ref("#/components/schemas/Assistants")),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn list(State(host): State<Arc<Host>>, uri: Uri) -> Result<Json<Value>, ApiError> {
    let all = draft::list(&host.readers).await.map_err(|it| ApiError::from_database(&it, &uri))?;
    let one = |it: &draft::Assistant| json!({"id": it.id, "name": it.name, "revision": it.revision, "live_version": it.live_version});
    Ok(Json(json!({"agents": all.iter().map(one).collect::<Vec<_>>()})))
}

/// Returns the draft of an assistant as its author saved it.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/flow",
    tag = "assistants",
    params(("agent" = String, Path, description = "The assistant id")),
    responses(
        (status = 200, description = "The flow document", body = ref("#/components/schemas/Flow")),
        (status = 404, description = "Assistant not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn read(State(host): State<Arc<Host>>, uri: Uri, id: Result<Path<String>, PathRejection>) -> Result<Response, ApiError> {
    let id = parse_assistant_id(id, &uri)?;
    let found = draft::find(&host.readers, &id).await.map_err(|it| ApiError::from_database(&it, &uri))?;
    let document = found.ok_or_else(|| assistant_not_found(&uri))?.document;
    Ok(([(header::CONTENT_TYPE, "application/json")], document).into_response())
}

/// Saves a draft. Creates the assistant if it does not exist.
#[utoipa::path(
    put,
    path = "/v1/agents/{agent}/flow",
    tag = "assistants",
    params(("agent" = String, Path, description = "The assistant id")),
    request_body = ref("#/components/schemas/Flow"),
    responses(
        (status = 200, description = "The draft is saved; the response lists its issues", body = ref("#/components/schemas/Saved")),
        (status = 404, description = "The path is invalid"),
        (status = 408, description = "The request body timed out"),
        (status = 415, description = "The Content-Type is not JSON"),
        (status = 422, description = "The body is not JSON, not a flow document, or has another id"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn save(
    State(host): State<Arc<Host>>,
    uri: Uri,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, ApiError> {
    let read = body::read_json(&uri, &headers, body, check::MAX_DOCUMENT_BYTES).await;
    let Ok(Path(id)) = id else { return Err(not_found(&uri)) };
    let read = read.map_err(|it| if it.has_code("not_json") { refuse(&uri, &[unreadable_issue()]) } else { it })?;
    let document = read.ok_or_else(|| refuse(&uri, &[check::too_large_issue()]))?;
    let document = import_canvas(document);
    if document.get("id").and_then(Value::as_str).is_some_and(|it| it != id) {
        let message = format!("document id does not match the path; set its id to '{id}' or use the path of its own id");
        return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, &uri, message).with_code("id_mismatch"));
    }
    let (document, issues) = check::check_document(&host, document).await.map_err(|it| ApiError::from_database(&it, &uri))?;
    if issues.iter().any(check::prevents_saving) {
        return Err(refuse(&uri, &issues));
    }
    // NUL, which text columns cannot store, is kept in the document.
    let name = document.get("name").and_then(Value::as_str).unwrap_or_default().replace('\0', "\u{fffd}");
    let saved = draft::save(&host.readers, &id, &name, &document.to_string(), clock::now()).await;
    let revision = saved.map_err(|it| ApiError::from_database(&it, &uri))?;
    Ok(Json(json!({"id": id, "revision": revision, "issues": issues})))
}

fn refuse(uri: &Uri, issues: &[DocumentIssue]) -> ApiError {
    let message = "document cannot be saved; correct the errors among its issues";
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, uri, message).with_code("invalid_document").with_issues(issues)
}

fn unreadable_issue() -> DocumentIssue {
    DocumentIssue::error("D001", "", "the document is not JSON").with_fix("send a flow document")
}
