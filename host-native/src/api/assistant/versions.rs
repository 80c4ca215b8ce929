//! `/v1/agents/{agent}/publish` and `…/versions`: publishing drafts, listing and restoring versions.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use convengine_core::config::flow::DocumentIssue;
use serde_json::{Value, json};

use super::runtime::simulator::parse_document;
use super::{assistant_not_found, parse_assistant_id, parse_version_number};
use crate::api::error::{ApiError, not_found};
use crate::clock;
use crate::runtime::assistant::check;
use crate::runtime::assistant::upgrade::DryRun;
use crate::runtime::turn_runner::Host;
use crate::storage;
use crate::storage::assistant::draft;
use crate::storage::assistant::version::{self, NewVersion};

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
    path = "/v1/agents/{agent}/flow/validate-publish",
    tag = "assistants",
    params(("agent" = String, Path, description = "The assistant id")),
    responses(
        (status = 200, description = "Whether the draft can be published", body = ref("#/components/schemas/Validated")),
        (status = 404, description = "Assistant not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn validate(State(host): State<Arc<Host>>, uri: Uri, id: Result<Path<String>, PathRejection>) -> Result<Json<Value>, ApiError> {
    let checked = check_draft(&host, &uri, &parse_assistant_id(id, &uri)?).await?;
    let ok = !checked.issues.iter().any(DocumentIssue::is_error);
    Ok(Json(json!({"ok": ok, "issues": checked.issues, "migration": checked.migration})))
}

/// Publishes the draft as the live version.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/publish",
    tag = "assistants",
    params(("agent" = String, Path, description = "The assistant id")),
    responses(
        (status = 201, description = "The draft is published", body = ref("#/components/schemas/Published")),
        (status = 404, description = "Assistant not found"),
        (status = 409, description = "The draft was changed concurrently"),
        (status = 422, description = "The draft has errors; the live version is unchanged"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn publish(
    State(host): State<Arc<Host>>,
    uri: Uri,
    id: Result<Path<String>, PathRejection>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let id = parse_assistant_id(id, &uri)?;
    let CheckedDraft { revision, document, text, issues, migration } = check_draft(&host, &uri, &id).await?;
    if issues.iter().any(DocumentIssue::is_error) {
        let message = "draft has errors; correct them and publish again";
        return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, &uri, message).with_code("publish_blocked").with_issues(&issues));
    }
    let snapshot = check::snapshot_hash(&document);
    let published = NewVersion { assistant: &id, revision, snapshot: &snapshot, document: &text };
    let database = |error: sqlx::Error| ApiError::from_database(&error, &uri);
    let mut connection = storage::open(host.config_manager.database(), false).await.map_err(database)?;
    let number = version::publish(&mut connection, &published, clock::now()).await.map_err(database)?;
    connection.close().await.map_err(database)?;
    let Some(number) = number else {
        let message = "draft was changed concurrently; review it and publish again";
        return Err(ApiError::new(StatusCode::CONFLICT, &uri, message).with_code("draft_changed"));
    };
    Ok((StatusCode::CREATED, Json(json!({"version": number, "snapshot": snapshot, "issues": issues, "migration": migration}))))
}

/// Lists the versions of an assistant, newest first.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/versions",
    tag = "assistants",
    params(("agent" = String, Path, description = "The assistant id")),
    responses(
        (status = 200, description = "The versions and which one is live", body = ref("#/components/schemas/Versions")),
        (status = 404, description = "Assistant not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn list(State(host): State<Arc<Host>>, uri: Uri, id: Result<Path<String>, PathRejection>) -> Result<Json<Value>, ApiError> {
    let id = parse_assistant_id(id, &uri)?;
    let database = |error: sqlx::Error| ApiError::from_database(&error, &uri);
    draft::find_assistant(&host.readers, &id).await.map_err(database)?.ok_or_else(|| assistant_not_found(&uri))?;
    let all = version::list(&host.readers, &id).await.map_err(database)?;
    let one = |it: &version::Version| {
        let state = if it.live { "live" } else { "archived" };
        json!({"version": it.number, "snapshot": it.snapshot, "state": state, "published_at": clock::format_iso(it.published_at)})
    };
    Ok(Json(json!({"versions": all.iter().map(one).collect::<Vec<_>>()})))
}

/// Restores a version as the draft.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/versions/{version}/restore",
    tag = "assistants",
    params(
        ("agent" = String, Path, description = "The assistant id"),
        ("version" = String, Path, description = "The version number"),
    ),
    responses(
        (status = 200, description = "The version is restored as a new revision of the draft", body = ref("#/components/schemas/Restored")),
        (status = 404, description = "Assistant or version not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn restore(
    State(host): State<Arc<Host>>,
    uri: Uri,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Json<Value>, ApiError> {
    let Ok(Path((id, wanted))) = path else { return Err(not_found(&uri)) };
    let id = parse_assistant_id(Ok(Path(id)), &uri)?;
    let database = |error: sqlx::Error| ApiError::from_database(&error, &uri);
    let unknown = || ApiError::new(StatusCode::NOT_FOUND, &uri, "version not found; list the versions of the assistant");
    let number = parse_version_number(&wanted).ok_or_else(unknown)?;
    let text = version::find_document(&host.readers, &id, number).await.map_err(database)?.ok_or_else(unknown)?;
    let document = parse_document(&text, &uri)?;
    let name = document.get("name").and_then(Value::as_str).unwrap_or_default().replace('\0', "\u{fffd}");
    let revision = draft::save(&host.readers, &id, &name, &text, clock::now()).await.map_err(database)?;
    Ok(Json(json!({"id": id, "revision": revision})))
}

/// Loads the draft of an assistant and checks it.
async fn check_draft(host: &Host, uri: &Uri, id: &str) -> Result<CheckedDraft, ApiError> {
    let database = |error: sqlx::Error| ApiError::from_database(&error, uri);
    let draft = draft::find(&host.readers, id).await.map_err(database)?.ok_or_else(|| assistant_not_found(uri))?;
    let document = parse_document(&draft.document, uri)?;
    let (document, mut issues) = check::check_document(host, document).await.map_err(database)?;
    let migration = DryRun::run(host, id, &document).await.map_err(database)?;
    issues.extend(migration.warning());
    Ok(CheckedDraft { revision: draft.revision, document, text: draft.document, issues, migration })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_numbers() {
        assert_eq!(
            [
                parse_version_number("1"),
                parse_version_number("12"),
                parse_version_number("0"),
                parse_version_number("+1"),
                parse_version_number("-1"),
                parse_version_number("x"),
                parse_version_number("")
            ],
            [Some(1), Some(12), None, None, None, None, None]
        );
    }
}
