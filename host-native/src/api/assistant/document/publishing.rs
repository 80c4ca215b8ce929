//! Publishing drafts, listing and restoring versions.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use convengine_access::api_error::{ApiError, path_not_found};
use convengine_content::Content;
use convengine_content::version_cache::SessionDocument;
use convengine_content::{check, mcp_tools, workspace_tools};
use convengine_core::config::flow::DocumentIssue;
use convengine_host_base::clock;
use convengine_storage as storage;
use convengine_storage::assistant::draft::{self, Expected};
use convengine_storage::assistant::version::{self, NewVersion};
use convengine_storage::assistant::{DocumentKind, ProgramKey};
use convengine_turns::Turns;
use convengine_turns::chain::schedule::publish_status;
use convengine_turns::evals;
use convengine_turns::upgrade::DryRun;
use serde::Deserialize;
use serde_json::{Value, json};

use super::precondition::{precondition_failed, read_expected};
use super::{document_not_found, find_draft, not_published, version_not_found};
use crate::api::assistant::kind_routes::DocumentPath;
use crate::api::assistant::parse_version_number;
use crate::api::assistant::runtime::simulator::parse_document;
use crate::api::host::Host;
use crate::api::query::PathParams;

/// A draft with its issues.
struct CheckedDraft {
    revision: i64,
    document: Value,
    text: String,
    issues: Vec<DocumentIssue>,
    /// The effect of publishing on open sessions.
    migration: DryRun,
}

/// Checks whether the draft can be published, without changing anything.
#[utoipa::path(
    post,
    path = "/v1/{documents}/{document}/{validate}",
    tag = "documents",
    responses(
        (status = 200, description = "Whether the draft can be published", body = ref("#/components/schemas/Validated")),
        (status = 404, description = "Document not found"),
    ),
)]
pub async fn validate(State(host): State<Arc<Host>>, path: DocumentPath) -> Result<Json<Value>, ApiError> {
    let checked = check_draft(&host.turns, &path.key()?).await?;
    let ok = !checked.issues.iter().any(DocumentIssue::is_error);
    Ok(Json(json!({"ok": ok, "issues": checked.issues, "migration": checked.migration})))
}

/// Publishes the draft as the live version.
#[utoipa::path(
    post,
    path = "/v1/{documents}/{document}/publish",
    tag = "documents",
    params(("If-Match" = Option<String>, Header, description = "The ETag of the draft as it was read, or *")),
    responses(
        (status = 201, description = "The draft is published", body = ref("#/components/schemas/Published")),
        (status = 400, description = "If-Match has no supported form"),
        (status = 404, description = "Document not found"),
        (status = 409, description = "The draft was changed concurrently"),
        (status = 412, description = "The draft is not as If-Match expects"),
        (status = 422, description = "The draft has errors; the live version is unchanged"),
    ),
)]
pub async fn publish(State(host): State<Arc<Host>>, path: DocumentPath, headers: HeaderMap) -> Result<(StatusCode, Json<Value>), ApiError> {
    let (key, expected) = (path.key()?, read_expected(&headers)?);
    let CheckedDraft { revision, document, text, issues, migration } = check_draft(&host.turns, &key).await?;
    if !expected.is_met_by(revision) {
        return Err(precondition_failed());
    }
    if issues.iter().any(DocumentIssue::is_error) {
        let message = "draft has errors; correct them and publish again";
        return Err(ApiError::unprocessable(message).with_code("publish_blocked").with_issues(&issues));
    }
    let snapshot = check::snapshot_hash(&document);
    let published = NewVersion { assistant: key.as_str(), revision, snapshot: &snapshot, document: &text };
    host.content.flows.prepare_classifiers(&host.content, document.clone()).await?;
    let mut connection = storage::open(host.content.config_manager.database(), false).await?;
    let number = version::publish(&mut connection, &published, clock::now()).await?;
    connection.close().await?;
    let Some(number) = number else {
        let message = "draft was changed concurrently; review it and publish again";
        return Err(ApiError::conflict(message).with_code("draft_changed"));
    };
    if key.kind() == DocumentKind::Chain {
        publish_status(&host.content, &document).await?;
    }
    Ok((StatusCode::CREATED, Json(json!({"version": number, "snapshot": snapshot, "issues": issues, "migration": migration}))))
}

/// Lists the versions of a document, newest first.
#[utoipa::path(
    get,
    path = "/v1/{documents}/{document}/versions",
    tag = "documents",
    responses(
        (status = 200, description = "The versions and which one is live", body = ref("#/components/schemas/Versions")),
        (status = 404, description = "Document not found"),
    ),
)]
pub async fn versions(State(host): State<Arc<Host>>, path: DocumentPath) -> Result<Json<Value>, ApiError> {
    let key = path.key()?;
    let found = draft::find_assistant(&host.content.readers, key.as_str()).await?;
    found.ok_or_else(|| document_not_found(key.kind()))?;
    let all = version::list(&host.content.readers, key.as_str()).await?;
    let one = |it: &version::Version| {
        let state = if it.live { "live" } else { "archived" };
        json!({"version": it.number, "snapshot": it.snapshot, "state": state, "published_at": clock::format_iso(it.published_at)})
    };
    Ok(Json(json!({"versions": all.iter().map(one).collect::<Vec<_>>()})))
}

/// A version in a path.
#[derive(Debug, Deserialize)]
pub struct VersionParam {
    version: String,
}

/// Restores a version as the draft.
#[utoipa::path(
    post,
    path = "/v1/{documents}/{document}/versions/{version}/restore",
    tag = "documents",
    params(
        ("version" = String, Path, description = "The version number"),
        ("If-Match" = Option<String>, Header, description = "The ETag of the draft as it was read, or *"),
    ),
    responses(
        (status = 200, description = "The version is restored as a new revision of the draft", body = ref("#/components/schemas/Restored")),
        (status = 400, description = "If-Match has no supported form"),
        (status = 404, description = "Document or version not found"),
        (status = 412, description = "The draft is not as If-Match expects"),
    ),
)]
pub async fn restore(
    State(host): State<Arc<Host>>,
    path: DocumentPath,
    PathParams(VersionParam { version: requested }): PathParams<VersionParam>,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    let (kind, key) = (path.kind, path.key()?);
    let unknown = || version_not_found(kind);
    let number = parse_version_number(&requested).ok_or_else(unknown)?;
    let text = version::find_document(&host.content.readers, key.as_str(), number).await?.ok_or_else(unknown)?;
    let name = draft::display_name(&parse_document(&text)?);
    let expected = read_expected(&headers)?;
    let conflict = || if expected == Expected::Anything { document_not_found(kind) } else { precondition_failed() };
    // A version is restored only over a draft.
    let over = if expected == Expected::Anything { Expected::Draft } else { expected };
    let saved = draft::save(&host.content.readers, key.as_str(), &name, &text, over, clock::now()).await?;
    let revision = saved.ok_or_else(conflict)?;
    Ok(Json(json!({"id": key.id(), "revision": revision})))
}

/// Returns the live version with its document.
///
/// # Errors
/// 404 if there is no such document, 409 `not_published` if it has no version, 503 if the database is unavailable.
pub async fn live_document(content: &Content, key: &ProgramKey) -> Result<(i64, SessionDocument), ApiError> {
    let about = draft::find_assistant(&content.readers, key.as_str()).await?.ok_or_else(path_not_found)?;
    let none = || not_published(key.kind());
    let live = about.live_version.ok_or_else(none)?;
    let document = content.versions.load(&content.readers, key, live).await?.ok_or_else(none)?;
    Ok((live, document))
}

/// Loads a draft and checks it. The evals of an AI agent without errors are played.
async fn check_draft(turns: &Arc<Turns>, key: &ProgramKey) -> Result<CheckedDraft, ApiError> {
    let draft = find_draft(&turns.content, key).await?;
    let stored = parse_document(&draft.document)?;
    let mut completed = stored.clone();
    workspace_tools::complete(&turns.readers, &mut completed).await?;
    mcp_tools::complete(&mut completed, &turns.content.config_manager.active().mcp);
    let (document, mut issues) = check::check_document(&turns.content, key, completed).await?;
    let migration = DryRun::run(&turns.content, key, &document).await?;
    issues.extend(migration.warning());
    if key.kind() == DocumentKind::Agent && !issues.iter().any(DocumentIssue::is_error) {
        issues.extend(evals::check_evals(turns, key, &document).await?);
    }
    let text = if document == stored { draft.document } else { document.to_string() };
    Ok(CheckedDraft { revision: draft.revision, document, text, issues, migration })
}
