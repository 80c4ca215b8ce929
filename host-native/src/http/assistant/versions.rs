//! `/v1/agents/{agent}/publish` and `…/versions`: publishing drafts, listing and restoring versions.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use convengine_core::config::flow::DocumentIssue;
use serde_json::{Value, json};

use super::runtime::simulator::document;
use super::{named, no_assistant, number};
use crate::assistant::check;
use crate::assistant::upgrade::DryRun;
use crate::clock;
use crate::drive::Host;
use crate::http::error::{ApiError, not_found};
use crate::store;
use crate::store::assistant::draft;
use crate::store::assistant::version::{self, Published};

/// A draft with its issues.
struct Checked {
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
    let checked = checked(&host, &uri, &named(id, &uri)?).await?;
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
    let id = named(id, &uri)?;
    let Checked { revision, document, text, issues, migration } = checked(&host, &uri, &id).await?;
    if issues.iter().any(DocumentIssue::is_error) {
        let message = "draft has errors; correct them and publish again";
        return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, &uri, message).coded("publish_blocked").because(&issues));
    }
    let snapshot = check::snapshot(&document);
    let published = Published { assistant: &id, revision, snapshot: &snapshot, document: &text };
    let database = |error: sqlx::Error| ApiError::of_database(&error, &uri);
    let mut connection = store::open(host.current.place(), false).await.map_err(database)?;
    let number = version::publish(&mut connection, &published, clock::now()).await.map_err(database)?;
    connection.close().await.map_err(database)?;
    let Some(number) = number else {
        let message = "draft was changed concurrently; review it and publish again";
        return Err(ApiError::new(StatusCode::CONFLICT, &uri, message).coded("draft_changed"));
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
    let id = named(id, &uri)?;
    let database = |error: sqlx::Error| ApiError::of_database(&error, &uri);
    draft::about(&host.readers, &id).await.map_err(database)?.ok_or_else(|| no_assistant(&uri))?;
    let all = version::all(&host.readers, &id).await.map_err(database)?;
    let one = |it: &version::Version| {
        let state = if it.live { "live" } else { "archived" };
        json!({"version": it.number, "snapshot": it.snapshot, "state": state, "published_at": clock::iso_text(it.published_at)})
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
        (status = 200, description = "The version is the draft, as a new revision", body = ref("#/components/schemas/Restored")),
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
    let id = named(Ok(Path(id)), &uri)?;
    let database = |error: sqlx::Error| ApiError::of_database(&error, &uri);
    let unknown = || ApiError::new(StatusCode::NOT_FOUND, &uri, "version not found; list the versions of the assistant");
    let number = number(&wanted).ok_or_else(unknown)?;
    let text = version::document(&host.readers, &id, number).await.map_err(database)?.ok_or_else(unknown)?;
    let document = document(&text, &uri)?;
    let name = document.get("name").and_then(Value::as_str).unwrap_or_default().replace('\0', "\u{fffd}");
    let revision = draft::save(&host.readers, &id, &name, &text, clock::now()).await.map_err(database)?;
    Ok(Json(json!({"id": id, "revision": revision})))
}

/// Loads the draft of an assistant and checks it.
async fn checked(host: &Host, uri: &Uri, id: &str) -> Result<Checked, ApiError> {
    let database = |error: sqlx::Error| ApiError::of_database(&error, uri);
    let draft = draft::find(&host.readers, id).await.map_err(database)?.ok_or_else(|| no_assistant(uri))?;
    let document = document(&draft.document, uri)?;
    let (document, mut issues) = check::issues(host, document).await.map_err(database)?;
    let migration = DryRun::of(host, id, &document).await.map_err(database)?;
    issues.extend(migration.issue());
    Ok(Checked { revision: draft.revision, document, text: draft.document, issues, migration })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_numbers() {
        assert_eq!(
            [number("1"), number("12"), number("0"), number("+1"), number("-1"), number("x"), number("")],
            [Some(1), Some(12), None, None, None, None, None]
        );
    }
}
