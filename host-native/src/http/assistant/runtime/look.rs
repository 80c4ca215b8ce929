//! Inspection of sessions: state, trace and replay check.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use convengine_core::config::Config;
use serde_json::{Value, json};

use super::{session_of, simulator, told};
use crate::audit::derive::{aside, compared};
use crate::drive::Host;
use crate::http::error::{ApiError, not_found};
use crate::store::turn::{self, StoredTurn};

/// Returns the state of a session with private values masked.
#[utoipa::path(
    get,
    path = "/v1/runtime/assistants/{agent}/sessions/{session}",
    tag = "assistants",
    params(
        ("agent" = String, Path, description = "The assistant id"),
        ("session" = String, Path, format = "uuid", description = "The session id"),
    ),
    responses(
        (status = 200, description = "The session state", body = ref("#/components/schemas/SessionState")),
        (status = 404, description = "Session not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn state(
    State(host): State<Arc<Host>>,
    uri: Uri,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Json<Value>, ApiError> {
    let Ok(Path((assistant, id))) = path else { return Err(not_found(&uri)) };
    let (stored, running) = session_of(&host, &uri, &id).await?;
    if stored.assistant != assistant {
        return Err(not_found(&uri));
    }
    if running.is_lost {
        // Without the document it is unknown which values are private.
        let message = "snapshot of the session is no longer stored; start a new session";
        return Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, &uri, message).coded("snapshot_lost"));
    }
    let mut state = stored.state;
    if let Some(flow) = &running.config.flow {
        convengine_core::flow::mask(flow, &mut state);
    }
    Ok(Json(state))
}

/// Returns the trace of a session, turn by turn.
#[utoipa::path(
    get,
    path = "/v1/runtime/assistants/{agent}/sessions/{session}/trace",
    tag = "assistants",
    params(
        ("agent" = String, Path, description = "The assistant id"),
        ("session" = String, Path, format = "uuid", description = "The session id"),
    ),
    responses(
        (status = 200, description = "The trace events of each turn", body = ref("#/components/schemas/SessionTrace")),
        (status = 404, description = "Session not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn trace(
    State(host): State<Arc<Host>>,
    uri: Uri,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Json<Value>, ApiError> {
    let turns = runs(&host, &uri, path).await?;
    let events = aside(move || numbered(&turns).map(|(number, run)| told::turn(run, number)).collect::<Vec<Value>>()).await;
    Ok(Json(json!({"turns": events.map_err(|it| ApiError::of_database(&it, &uri))?})))
}

/// Replays the turns of a session and compares the results.
#[utoipa::path(
    get,
    path = "/v1/runtime/assistants/{agent}/sessions/{session}/replay",
    tag = "assistants",
    params(
        ("agent" = String, Path, description = "The assistant id"),
        ("session" = String, Path, format = "uuid", description = "The session id"),
    ),
    responses(
        (status = 200, description = "Whether all turns are equal, or the first divergence", body = ref("#/components/schemas/Replayed")),
        (status = 404, description = "Session not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn replay(
    State(host): State<Arc<Host>>,
    uri: Uri,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Json<Value>, ApiError> {
    let turns = runs(&host, &uri, path).await?;
    let count = turns.len();
    let divergence = aside(move || numbered(&turns).find_map(|(number, run)| diverges(run, number)))
        .await
        .map_err(|it| ApiError::of_database(&it, &uri))?;
    Ok(Json(json!({"equal": divergence.is_none(), "turns": count, "divergence": divergence})))
}

/// A stored turn with its configuration.
pub(super) type Run = (StoredTurn, Option<Arc<Config>>);

async fn runs(host: &Host, uri: &Uri, path: Result<Path<(String, String)>, PathRejection>) -> Result<Vec<Run>, ApiError> {
    let running = simulator::running(host, uri, path).await?;
    let database = |error: sqlx::Error| ApiError::of_database(&error, uri);
    let turns = turn::of_conversation(&host.readers, &running.session).await.map_err(database)?;
    let mut runs = Vec::with_capacity(turns.len());
    for turn in turns {
        let config = host.flows.of(&host.readers, &turn.config_hash).await.map_err(database)?;
        runs.push((turn, config));
    }
    Ok(runs)
}

/// Numbers turns like their responses: user turns are counted, other turns have the number of the turn before.
fn numbered(turns: &[Run]) -> impl Iterator<Item = (u64, &Run)> {
    turns.iter().scan(0, |last, run| {
        *last = told::number(&run.0).unwrap_or(*last);
        Some((*last, run))
    })
}

/// Returns the first difference between a stored turn and its replay.
fn diverges((turn, config): &Run, number: u64) -> Option<Value> {
    if turn.is_given_up() {
        return None;
    }
    let found = compared(turn, config.as_ref()).err()?;
    Some(json!({
        "turn": number, "number": turn.number, "path": "/state_hash", "stored": turn.state_hash, "replayed": found.hash, "reason": found.reason,
    }))
}
