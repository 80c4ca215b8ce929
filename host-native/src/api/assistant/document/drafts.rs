//! Drafts: the document of an author as it was saved last.

use axum::Json;
use axum::body::Body;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use convengine_core::config::flow::{DocumentIssue, import_canvas};
use serde_json::{Value, json};

use super::document_not_found;
use super::precondition::{entity_tag, precondition_failed, read_expected};
use crate::api::assistant::body;
use crate::api::assistant::chains::describe_status;
use crate::api::error::{ApiError, not_found};
use crate::runtime::assistant::plan::{self, quota_exceeded_error};
use crate::runtime::assistant::saving::{SaveResult, save_draft};
use crate::runtime::assistant::{check, workspace_tools};
use crate::runtime::turn_runner::Host;
use crate::storage::assistant::draft::{self, Assistant, Draft};
use crate::storage::assistant::{DocumentKind, ProgramKey};
use crate::storage::chain::status;

/// Lists the documents of a kind.
///
/// # Errors
/// 503 if the database is unavailable.
pub async fn list(host: &Host, uri: &Uri, kind: DocumentKind) -> Result<Json<Value>, ApiError> {
    let all = draft::list(&host.readers, kind).await.map_err(|it| ApiError::from_database(&it, uri))?;
    let member = match kind {
        DocumentKind::Assistant => "agents",
        DocumentKind::Workflow => "workflows",
        DocumentKind::Chain => "chains",
        DocumentKind::Agent => "ai_agents",
    };
    let mut entries: Vec<Value> = all.iter().map(describe).collect();
    if kind == DocumentKind::Chain {
        let statuses = status::list(&host.readers).await.map_err(|it| ApiError::from_database(&it, uri))?;
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

/// Returns a draft as its author saved it, with its revision as the entity tag.
///
/// # Errors
/// 404 if there is none, 503 if the database is unavailable.
pub async fn read(host: &Host, uri: &Uri, key: &ProgramKey) -> Result<Response, ApiError> {
    let Draft { revision, document } = find_draft(host, uri, key).await?;
    Ok((entity_tag(revision), [(header::CONTENT_TYPE, "application/json")], document).into_response())
}

/// Finds a draft.
///
/// # Errors
/// 404 if there is none, 503 if the database is unavailable.
pub async fn find_draft(host: &Host, uri: &Uri, key: &ProgramKey) -> Result<Draft, ApiError> {
    let found = draft::find(&host.readers, key.as_str()).await.map_err(|it| ApiError::from_database(&it, uri))?;
    found.ok_or_else(|| document_not_found(key.kind(), uri))
}

/// Saves a draft. Creates the document if it does not exist.
///
/// # Errors
/// 412 `draft_conflict` if the draft is not as `If-Match` or `If-None-Match` expects, 429 if the plan allows no more imports, 422 if the body is not such a document or has another id, 503 if the database is unavailable.
pub async fn save(
    host: &Host,
    uri: &Uri,
    kind: DocumentKind,
    id: Result<Path<String>, PathRejection>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let mut answer = answer_save(host, uri, kind, id, headers, body).await;
    plan::write_headers(plan::find_import_quota(host).await, &mut answer);
    answer
}

async fn answer_save(
    host: &Host,
    uri: &Uri,
    kind: DocumentKind,
    id: Result<Path<String>, PathRejection>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let read = body::read_json(uri, headers, body, check::MAX_DOCUMENT_BYTES).await;
    let Ok(Path(id)) = id else { return Err(not_found(uri)) };
    let expected = read_expected(headers, uri)?;
    let read = read.map_err(|it| if it.has_code("not_json") { refuse(uri, &[unreadable_issue()]) } else { it })?;
    let document = import_canvas(read.ok_or_else(|| refuse(uri, &[check::too_large_issue()]))?);
    check_id(uri, &document, kind.id_member(), &id)?;
    let key = ProgramKey::new(kind, &id);
    let mut completed = document.clone();
    workspace_tools::complete(&host.readers, &mut completed).await.map_err(|it| ApiError::from_database(&it, uri))?;
    let (_, issues) = check::check_document(host, &key, completed).await.map_err(|it| ApiError::from_database(&it, uri))?;
    if issues.iter().any(check::prevents_saving) {
        return Err(refuse(uri, &issues));
    }
    let saved = save_draft(host, &key, &document, expected).await.map_err(|it| ApiError::from_database(&it, uri))?;
    let revision = match saved {
        SaveResult::Saved(revision) => revision,
        SaveResult::NotAsExpected => return Err(precondition_failed(uri)),
        SaveResult::QuotaExceeded(quota) => return Err(import_quota_exceeded(quota, uri)),
    };
    Ok((entity_tag(revision), Json(json!({"id": id, "revision": revision, "issues": issues}))).into_response())
}

/// Checks that a body has the id of its path, if any.
///
/// # Errors
/// 422 `id_mismatch` if it has another one.
pub fn check_id(uri: &Uri, body: &Value, member: &str, id: &str) -> Result<(), ApiError> {
    if body.get(member).and_then(Value::as_str).is_none_or(|it| it == id) {
        return Ok(());
    }
    let message = format!("document id does not match the path; set its {member} to '{id}' or use the path of its own {member}");
    Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, uri, message).with_code("id_mismatch"))
}

/// The error for a body that cannot be saved.
pub fn refuse(uri: &Uri, issues: &[DocumentIssue]) -> ApiError {
    let message = "document cannot be saved; correct the errors among its issues";
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, uri, message).with_code("invalid_document").with_issues(issues)
}

fn import_quota_exceeded(quota: u32, uri: &Uri) -> ApiError {
    let message = format!("the plan allows {quota} imports of documents per month, and they are used; save the draft next month");
    quota_exceeded_error(message, "imports", quota, uri)
}

fn unreadable_issue() -> DocumentIssue {
    DocumentIssue::error("D001", "", "the document is not JSON").with_fix("send a flow document")
}
