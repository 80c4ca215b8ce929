//! Drafts: the document of an author as it was saved last.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use convengine_access::api_error::ApiError;
use convengine_content::Content;
use convengine_content::plan::{self, quota_exceeded_error};
use convengine_content::saving::{SaveResult, save_draft};
use convengine_content::{check, workspace_tools};
use convengine_core::config::flow::{DocumentIssue, import_canvas};
use convengine_storage::assistant::draft::{self, Assistant, Draft};
use convengine_storage::assistant::{DocumentKind, ProgramKey};
use convengine_storage::chain::status;
use serde_json::{Value, json};

use super::document_not_found;
use super::precondition::{entity_tag, precondition_failed, read_expected};
use crate::api::assistant::body;
use crate::api::assistant::chains::describe_status;
use crate::api::assistant::kind_routes::DocumentPath;
use crate::api::host::Host;

/// Lists the documents.
#[utoipa::path(
    get,
    path = "/v1/{documents}",
    tag = "documents",
    responses((status = 200, description = "The documents, ordered by id", body = ref("#/components/schemas/Documents"))),
)]
pub async fn list(State(host): State<Arc<Host>>, Extension(kind): Extension<DocumentKind>) -> Result<Json<Value>, ApiError> {
    let all = draft::list(&host.content.readers, kind).await?;
    let member = match kind {
        DocumentKind::Assistant => "agents",
        DocumentKind::Workflow => "workflows",
        DocumentKind::Chain => "chains",
        DocumentKind::Agent => "ai_agents",
    };
    let mut entries: Vec<Value> = all.iter().map(describe).collect();
    if kind == DocumentKind::Chain {
        let statuses = status::list(&host.content.readers).await?;
        for (entry, it) in entries.iter_mut().zip(&all) {
            describe_status(entry, statuses.iter().find(|status| status.slug == it.key.id()), it.live_version.is_some());
        }
    }
    Ok(Json(json!({member: entries})))
}

fn describe(it: &Assistant) -> Value {
    let mut shown = json!({"id": it.key.id(), "name": it.name, "revision": it.revision});
    if it.live_version.is_some() || it.key.kind() == DocumentKind::Assistant {
        shown["live_version"] = json!(it.live_version);
    }
    shown
}

/// Returns the draft of a document as its author saved it.
#[utoipa::path(
    get,
    path = "/v1/{documents}/{document}/{draft}",
    tag = "documents",
    responses(
        (status = 200, description = "The draft, with its revision as the ETag", body = ref("#/components/schemas/DocumentDraft")),
        (status = 404, description = "Document not found"),
    ),
)]
pub async fn read(State(host): State<Arc<Host>>, path: DocumentPath) -> Result<Response, ApiError> {
    let Draft { revision, document } = find_draft(&host.content, &path.key()?).await?;
    Ok((entity_tag(revision), [(header::CONTENT_TYPE, "application/json")], document).into_response())
}

/// Finds a draft.
///
/// # Errors
/// 404 if there is none, 503 if the database is unavailable.
pub async fn find_draft(content: &Content, key: &ProgramKey) -> Result<Draft, ApiError> {
    let found = draft::find(&content.readers, key.as_str()).await?;
    found.ok_or_else(|| document_not_found(key.kind()))
}

/// Saves a draft. Creates the document if it does not exist.
#[utoipa::path(
    put,
    path = "/v1/{documents}/{document}/{draft}",
    tag = "documents",
    params(
        ("If-Match" = Option<String>, Header, description = "The ETag of the draft as it was read, or *"),
        ("If-None-Match" = Option<String>, Header, description = "* to create only"),
    ),
    request_body = ref("#/components/schemas/DocumentDraft"),
    responses(
        (status = 200, description = "The draft is saved; the response lists its issues", body = ref("#/components/schemas/Saved")),
        (status = 400, description = "If-Match or If-None-Match has no supported form"),
        (status = 404, description = "The path is invalid"),
        (status = 408, description = "The request body timed out"),
        (status = 412, description = "The draft is not as If-Match or If-None-Match expects"),
        (status = 415, description = "The Content-Type is not JSON"),
        (status = 422, description = "The body is not JSON, is not a valid document, or has another id"),
    ),
)]
pub async fn save(
    State(host): State<Arc<Host>>,
    path: Result<DocumentPath, ApiError>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let mut answer = answer_save(&host.content, path, &headers, body).await;
    plan::write_headers(plan::find_import_quota(&host.content).await, &mut answer);
    answer
}

async fn answer_save(
    content: &Content,
    path: Result<DocumentPath, ApiError>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let read = body::read_json(headers, body, check::MAX_DOCUMENT_BYTES).await;
    let DocumentPath { kind, id } = path?;
    let expected = read_expected(headers)?;
    let read = read.map_err(|error| if error.has_code("not_json") { refuse(&[unreadable_issue()]) } else { error })?;
    let document = import_canvas(read.ok_or_else(|| refuse(&[check::too_large_issue()]))?);
    check_id(&document, kind.id_member(), &id)?;
    let key = ProgramKey::new(kind, &id);
    let mut completed = document.clone();
    workspace_tools::complete(&content.readers, &mut completed).await?;
    let (_, issues) = check::check_document(content, &key, completed).await?;
    if issues.iter().any(check::prevents_saving) {
        return Err(refuse(&issues));
    }
    let saved = save_draft(content, &key, &document, expected).await?;
    let revision = match saved {
        SaveResult::Saved(revision) => revision,
        SaveResult::NotAsExpected => return Err(precondition_failed()),
        SaveResult::QuotaExceeded(quota) => return Err(import_quota_exceeded(quota)),
    };
    Ok((entity_tag(revision), Json(json!({"id": id, "revision": revision, "issues": issues}))).into_response())
}

/// Checks that a body has the id of its path, if any.
///
/// # Errors
/// 422 `id_mismatch` if it has another one.
pub fn check_id(body: &Value, member: &str, id: &str) -> Result<(), ApiError> {
    if body.get(member).and_then(Value::as_str).is_none_or(|it| it == id) {
        return Ok(());
    }
    let message = format!("document id does not match the path; set its {member} to '{id}' or use the path of its own {member}");
    Err(ApiError::unprocessable(message).with_code("id_mismatch"))
}

/// The error for a body that cannot be saved.
pub fn refuse(issues: &[DocumentIssue]) -> ApiError {
    let message = "document cannot be saved; correct the errors among its issues";
    ApiError::unprocessable(message).with_code("invalid_document").with_issues(issues)
}

fn import_quota_exceeded(quota: u32) -> ApiError {
    let message = format!("the plan allows {quota} imports of documents per month, and they are used; save the draft next month");
    quota_exceeded_error(message, "imports", quota)
}

fn unreadable_issue() -> DocumentIssue {
    DocumentIssue::error("D001", "", "the document is not JSON").with_fix("send a flow document")
}
