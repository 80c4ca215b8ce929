//! Publishing drafts, listing and restoring versions.

use std::sync::Arc;

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::{HeaderMap, StatusCode, Uri};
use convengine_core::config::flow::DocumentIssue;
use serde_json::{Value, json};

use super::precondition::{precondition_failed, read_expected};
use super::{document_not_found, find_draft, not_published, parse_key, version_not_found};
use crate::api::assistant::parse_version_number;
use crate::api::assistant::runtime::simulator::parse_document;
use crate::api::error::{ApiError, not_found};
use crate::clock;
use crate::runtime::assistant::upgrade::DryRun;
use crate::runtime::assistant::version_cache::SessionDocument;
use crate::runtime::assistant::{check, evals, mcp_tools, workspace_tools};
use crate::runtime::chain::schedule::publish_status;
use crate::runtime::turn_runner::Host;
use crate::storage;
use crate::storage::assistant::draft::{self, Expected};
use crate::storage::assistant::version::{self, NewVersion};
use crate::storage::assistant::{DocumentKind, ProgramKey};

/// A draft with its issues.
struct CheckedDraft {
    revision: i64,
    document: Value,
    text: String,
    issues: Vec<DocumentIssue>,
    /// The effect of publishing on open sessions.
    migration: DryRun,
}

/// Checks whether a draft can be published, without changing anything.
///
/// # Errors
/// 404 if there is no draft, 503 if the database is unavailable.
pub async fn validate(host: &Arc<Host>, uri: &Uri, key: &ProgramKey) -> Result<Json<Value>, ApiError> {
    let checked = check_draft(host, uri, key).await?;
    let ok = !checked.issues.iter().any(DocumentIssue::is_error);
    Ok(Json(json!({"ok": ok, "issues": checked.issues, "migration": checked.migration})))
}

/// Publishes a draft as the live version.
///
/// # Errors
/// 412 `draft_conflict` if the draft is not as `If-Match` expects, 422 `publish_blocked` if it has errors, 409 if it was changed
/// concurrently, 404 if there is none, 503 if the database is unavailable.
pub async fn publish(host: &Arc<Host>, uri: &Uri, key: &ProgramKey, headers: &HeaderMap) -> Result<(StatusCode, Json<Value>), ApiError> {
    let expected = read_expected(headers, uri)?;
    let CheckedDraft { revision, document, text, issues, migration } = check_draft(host, uri, key).await?;
    if !expected.is_met_by(revision) {
        return Err(precondition_failed(uri));
    }
    if issues.iter().any(DocumentIssue::is_error) {
        let message = "draft has errors; correct them and publish again";
        return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, uri, message).with_code("publish_blocked").with_issues(&issues));
    }
    let snapshot = check::snapshot_hash(&document);
    let published = NewVersion { assistant: key.as_str(), revision, snapshot: &snapshot, document: &text };
    let database = |error: sqlx::Error| ApiError::from_database(&error, uri);
    host.flows.prepare_classifiers(host, document.clone()).await.map_err(database)?;
    let mut connection = storage::open(host.config_manager.database(), false).await.map_err(database)?;
    let number = version::publish(&mut connection, &published, clock::now()).await.map_err(database)?;
    connection.close().await.map_err(database)?;
    let Some(number) = number else {
        let message = "draft was changed concurrently; review it and publish again";
        return Err(ApiError::new(StatusCode::CONFLICT, uri, message).with_code("draft_changed"));
    };
    if key.kind() == DocumentKind::Chain {
        publish_status(host, &document).await.map_err(database)?;
    }
    Ok((StatusCode::CREATED, Json(json!({"version": number, "snapshot": snapshot, "issues": issues, "migration": migration}))))
}

/// Lists the versions of a document, newest first.
///
/// # Errors
/// 404 if there is no such document, 503 if the database is unavailable.
pub async fn versions(host: &Host, uri: &Uri, key: &ProgramKey) -> Result<Json<Value>, ApiError> {
    let database = |error: sqlx::Error| ApiError::from_database(&error, uri);
    let found = draft::find_assistant(&host.readers, key.as_str()).await.map_err(database)?;
    found.ok_or_else(|| document_not_found(key.kind(), uri))?;
    let all = version::list(&host.readers, key.as_str()).await.map_err(database)?;
    let one = |it: &version::Version| {
        let state = if it.live { "live" } else { "archived" };
        json!({"version": it.number, "snapshot": it.snapshot, "state": state, "published_at": clock::format_iso(it.published_at)})
    };
    Ok(Json(json!({"versions": all.iter().map(one).collect::<Vec<_>>()})))
}

/// Restores a version as the draft.
///
/// # Errors
/// 412 `draft_conflict` if the draft is not as `If-Match` expects, 404 if there is no such document or version, 503 if the database is
/// unavailable.
pub async fn restore(
    host: &Host,
    uri: &Uri,
    kind: DocumentKind,
    path: Result<Path<(String, String)>, PathRejection>,
    headers: &HeaderMap,
) -> Result<Json<Value>, ApiError> {
    let Ok(Path((id, requested))) = path else { return Err(not_found(uri)) };
    let key = parse_key(kind, Ok(Path(id)), uri)?;
    let database = |error: sqlx::Error| ApiError::from_database(&error, uri);
    let unknown = || version_not_found(kind, uri);
    let number = parse_version_number(&requested).ok_or_else(unknown)?;
    let text = version::find_document(&host.readers, key.as_str(), number).await.map_err(database)?.ok_or_else(unknown)?;
    let name = draft::display_name(&parse_document(&text, uri)?);
    let expected = read_expected(headers, uri)?;
    let conflict = || if expected == Expected::Anything { document_not_found(kind, uri) } else { precondition_failed(uri) };
    // A version is restored only over a draft.
    let over = if expected == Expected::Anything { Expected::Draft } else { expected };
    let saved = draft::save(&host.readers, key.as_str(), &name, &text, over, clock::now()).await.map_err(database)?;
    let revision = saved.ok_or_else(conflict)?;
    Ok(Json(json!({"id": key.id(), "revision": revision})))
}

/// Returns the live version with its document.
///
/// # Errors
/// 404 if there is no such document, 409 `not_published` if it has no version, 503 if the database is unavailable.
pub async fn live_document(host: &Host, uri: &Uri, key: &ProgramKey) -> Result<(i64, SessionDocument), ApiError> {
    let database = |error: sqlx::Error| ApiError::from_database(&error, uri);
    let about = draft::find_assistant(&host.readers, key.as_str()).await.map_err(database)?.ok_or_else(|| not_found(uri))?;
    let none = || not_published(key.kind(), uri);
    let live = about.live_version.ok_or_else(none)?;
    let document = host.versions.load(&host.readers, key, live).await.map_err(database)?.ok_or_else(none)?;
    Ok((live, document))
}

/// Loads a draft and checks it. The evals of an AI agent without errors are played.
async fn check_draft(host: &Arc<Host>, uri: &Uri, key: &ProgramKey) -> Result<CheckedDraft, ApiError> {
    let draft = find_draft(host, uri, key).await?;
    let stored = parse_document(&draft.document, uri)?;
    let mut completed = stored.clone();
    workspace_tools::complete(&host.readers, &mut completed).await.map_err(|it| ApiError::from_database(&it, uri))?;
    mcp_tools::complete(&mut completed, &host.config_manager.active().mcp);
    let (document, mut issues) = check::check_document(host, key, completed).await.map_err(|it| ApiError::from_database(&it, uri))?;
    let migration = DryRun::run(host, key, &document).await.map_err(|it| ApiError::from_database(&it, uri))?;
    issues.extend(migration.warning());
    if key.kind() == DocumentKind::Agent && !issues.iter().any(DocumentIssue::is_error) {
        issues.extend(evals::check_evals(host, key, &document).await.map_err(|it| ApiError::from_database(&it, uri))?);
    }
    let text = if document == stored { draft.document } else { document.to_string() };
    Ok(CheckedDraft { revision: draft.revision, document, text, issues, migration })
}
