//! `/api/v1/config`: lists configuration snapshots and activates one of them.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use convengine_access::api_error::ApiError;
use convengine_content::Content;
use convengine_content::config::snapshot::{RestoreError, RestoreTarget};
use convengine_host_base::clock;
use convengine_storage::{self as storage, snapshot};
use serde_json::{Value, json};

use crate::api::host::Host;

/// Lists the snapshots, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/config/snapshots",
    tag = "operations",
    responses(
        (status = 200, description = "The snapshots and which one is active", body = ref("#/components/schemas/Snapshots")),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn list(State(host): State<Arc<Host>>) -> Result<Json<Value>, ApiError> {
    let mut connection = storage::open(host.content.config_manager.database(), false).await?;
    let all = snapshot::list(&mut connection).await?;
    connection.close().await?;
    let current = host.content.config_manager.active();
    let active = current.config.hash_source();
    let one = |it: &snapshot::Snapshot| json!({"hash": it.hash, "keptAt": clock::format_iso(it.stored_at), "active": it.hash == active});
    Ok(Json(json!({"active": active, "snapshots": all.iter().map(one).collect::<Vec<_>>()})))
}

/// Restores the rows of a snapshot and activates them.
#[utoipa::path(
    post,
    path = "/api/v1/config/snapshots/{hash}/activate",
    tag = "operations",
    params(("hash" = String, Path, description = "The snapshot hash, or a unique prefix of at least eight digits")),
    responses(
        (status = 200, description = "The rows are active", body = ref("#/components/schemas/Activated")),
        (status = 400, description = "The hash is invalid"),
        (status = 404, description = "Snapshot not found"),
        (status = 422, description = "The rows have new errors or are incompatible; nothing is changed"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn activate(State(host): State<Arc<Host>>, hash: Result<Path<String>, PathRejection>) -> Result<Json<Value>, ApiError> {
    let Ok(Path(hash)) = hash else {
        return Err(ApiError::bad_request("invalid hash; send its hexadecimal digits"));
    };
    activate_snapshot(&host.content, &RestoreTarget::Snapshot(hash)).await
}

/// Restores the previous rows and activates them; repeated calls go back further.
#[utoipa::path(
    post,
    path = "/api/v1/config/rollback",
    tag = "operations",
    responses(
        (status = 200, description = "The rows are active", body = ref("#/components/schemas/Activated")),
        (status = 404, description = "The previous snapshot is missing"),
        (status = 409, description = "No previous snapshot"),
        (status = 422, description = "The rows have new errors or are incompatible; nothing is changed"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn rollback(State(host): State<Arc<Host>>) -> Result<Json<Value>, ApiError> {
    activate_snapshot(&host.content, &RestoreTarget::Previous).await
}

async fn activate_snapshot(content: &Content, target: &RestoreTarget) -> Result<Json<Value>, ApiError> {
    let refuse = |status, message: String| ApiError::with_status(status, message);
    match content.config_manager.activate(target).await {
        Ok((current, done)) => Ok(Json(json!({
            "hash": done.hash,
            "config": current.config.hash_source(),
            "tables": done.difference.tables,
            "settings": done.settings,
            "issues": done.issues,
        }))),
        Err(RestoreError::UnknownSnapshot(line)) => Err(refuse(StatusCode::NOT_FOUND, line)),
        Err(RestoreError::NothingEarlier) => {
            Err(refuse(StatusCode::CONFLICT, "no previous snapshot; activate a snapshot by its hash".to_owned()))
        }
        Err(RestoreError::NotStorable(lines)) => Err(refuse(StatusCode::UNPROCESSABLE_ENTITY, lines.join("; "))),
        Err(RestoreError::NewErrors(issues)) => {
            let message = "rows of the snapshot have new errors; nothing is changed".to_owned();
            Err(refuse(StatusCode::UNPROCESSABLE_ENTITY, message).with_issues(&issues))
        }
        Err(RestoreError::Database(error)) => Err(ApiError::from(error)),
    }
}
