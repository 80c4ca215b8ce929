//! `/api/v1/config`: the configurations that have been, and the way back to one of them.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use serde_json::{Value, json};

use super::error::ApiError;
use crate::clock;
use crate::drive::Host;
use crate::snapshot::{Refusal, Wanted};
use crate::store::{self, snapshot};

/// The snapshots, the newest first.
#[utoipa::path(
    get,
    path = "/api/v1/config/snapshots",
    tag = "operations",
    responses(
        (status = 200, description = "The snapshots, and which one runs", body = ref("#/components/schemas/Snapshots")),
        (status = 503, description = "The database does not answer"),
    ),
)]
pub async fn list(State(host): State<Arc<Host>>, uri: Uri) -> Result<Json<Value>, ApiError> {
    let database = |error: sqlx::Error| ApiError::of_database(&error, &uri);
    let mut connection = store::open(host.current.place(), false).await.map_err(database)?;
    let all = snapshot::all(&mut connection).await.map_err(database)?;
    connection.close().await.map_err(database)?;
    let current = host.current.now();
    let active = current.config.hash();
    let one = |it: &snapshot::Snapshot| json!({"hash": it.hash, "keptAt": clock::iso_text(it.kept_at), "active": it.hash == active});
    Ok(Json(json!({"active": active, "snapshots": all.iter().map(one).collect::<Vec<_>>()})))
}

/// Puts the rows of a snapshot back and takes them.
#[utoipa::path(
    post,
    path = "/api/v1/config/snapshots/{hash}/activate",
    tag = "operations",
    params(("hash" = String, Path, description = "The snapshot's hash, or at least eight digits that no other one begins with")),
    responses(
        (status = 200, description = "They are the rows now", body = ref("#/components/schemas/Activated")),
        (status = 400, description = "The hash cannot be read"),
        (status = 404, description = "There is no such snapshot"),
        (status = 422, description = "They have errors that were not there before, or do not fit; everything stays as it was"),
        (status = 503, description = "The database does not answer"),
    ),
)]
pub async fn activate(State(host): State<Arc<Host>>, uri: Uri, hash: Result<Path<String>, PathRejection>) -> Result<Json<Value>, ApiError> {
    let Ok(Path(hash)) = hash else {
        return Err(ApiError::new(StatusCode::BAD_REQUEST, &uri, "the hash cannot be read: send its hexadecimal digits"));
    };
    put_back(&host, &uri, &Wanted::Snapshot(hash)).await
}

/// Puts the rows back that were there before, and takes them; once more, those before them.
#[utoipa::path(
    post,
    path = "/api/v1/config/rollback",
    tag = "operations",
    responses(
        (status = 200, description = "They are the rows now", body = ref("#/components/schemas/Activated")),
        (status = 404, description = "Their snapshot cannot be read"),
        (status = 409, description = "No other rows were there before"),
        (status = 422, description = "They have errors that are not there now, or do not fit; everything stays as it was"),
        (status = 503, description = "The database does not answer"),
    ),
)]
pub async fn rollback(State(host): State<Arc<Host>>, uri: Uri) -> Result<Json<Value>, ApiError> {
    put_back(&host, &uri, &Wanted::Before).await
}

async fn put_back(host: &Host, uri: &Uri, wanted: &Wanted) -> Result<Json<Value>, ApiError> {
    let refuse = |status, message: String| ApiError::new(status, uri, message);
    match host.current.activate(wanted).await {
        Ok((taken, done)) => Ok(Json(json!({
            "hash": done.hash,
            "config": taken.config.hash(),
            "tables": done.difference.tables,
            "settings": done.settings,
            "issues": done.issues,
        }))),
        Err(Refusal::Unknown(line)) => Err(refuse(StatusCode::NOT_FOUND, line)),
        Err(Refusal::Nothing) => {
            Err(refuse(StatusCode::CONFLICT, "no other rows were there before: activate a snapshot by its hash".to_owned()))
        }
        Err(Refusal::Unfit(lines)) => Err(refuse(StatusCode::UNPROCESSABLE_ENTITY, lines.join("; "))),
        Err(Refusal::Errors(issues)) => {
            let message = "the rows have errors that are not there now: everything stays as it is".to_owned();
            Err(refuse(StatusCode::UNPROCESSABLE_ENTITY, message).because(&issues))
        }
        Err(Refusal::Database(error)) => Err(ApiError::of_database(&error, uri)),
    }
}
