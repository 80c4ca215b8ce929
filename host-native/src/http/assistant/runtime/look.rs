//! What is known of a session: its state, how its answers came about, and whether they come about again.

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

/// The state of a session, without what is to stay out of logs.
#[utoipa::path(
    get,
    path = "/v1/runtime/assistants/{agent}/sessions/{session}",
    tag = "assistants",
    params(
        ("agent" = String, Path, description = "The assistant"),
        ("session" = String, Path, format = "uuid", description = "The session"),
    ),
    responses(
        (status = 200, description = "Its state", body = ref("#/components/schemas/SessionState")),
        (status = 404, description = "There is no such session of the assistant"),
        (status = 503, description = "The database does not answer"),
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
        // Nobody knows any more what of it is private.
        let message = "what the session runs on is not kept any more: start a new one";
        return Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, &uri, message).coded("snapshot_lost"));
    }
    let mut state = stored.state;
    if let Some(flow) = &running.config.flow {
        convengine_core::flow::mask(flow, &mut state);
    }
    Ok(Json(state))
}

/// What happened in a session, turn by turn.
#[utoipa::path(
    get,
    path = "/v1/runtime/assistants/{agent}/sessions/{session}/trace",
    tag = "assistants",
    params(
        ("agent" = String, Path, description = "The assistant"),
        ("session" = String, Path, format = "uuid", description = "The session"),
    ),
    responses(
        (status = 200, description = "The events of its turns", body = ref("#/components/schemas/SessionTrace")),
        (status = 404, description = "There is no such session of the assistant"),
        (status = 503, description = "The database does not answer"),
    ),
)]
pub async fn trace(
    State(host): State<Arc<Host>>,
    uri: Uri,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Json<Value>, ApiError> {
    let turns = runs(&host, &uri, path).await?;
    let told = aside(move || numbered(&turns).map(|(number, run)| told::turn(run, number)).collect::<Vec<Value>>()).await;
    Ok(Json(json!({"turns": told.map_err(|it| ApiError::of_database(&it, &uri))?})))
}

/// Runs the turns of a session again and compares.
#[utoipa::path(
    get,
    path = "/v1/runtime/assistants/{agent}/sessions/{session}/replay",
    tag = "assistants",
    params(
        ("agent" = String, Path, description = "The assistant"),
        ("session" = String, Path, format = "uuid", description = "The session"),
    ),
    responses(
        (status = 200, description = "Whether they are equal, or the first that is not", body = ref("#/components/schemas/Replayed")),
        (status = 404, description = "There is no such session of the assistant"),
        (status = 503, description = "The database does not answer"),
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

/// A stored turn with what it ran on.
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

/// Turns under the numbers that their answers have: those of users count, and the others are part of the one before.
fn numbered(turns: &[Run]) -> impl Iterator<Item = (u64, &Run)> {
    turns.iter().scan(0, |last, run| {
        *last = told::number(&run.0).unwrap_or(*last);
        Some((*last, run))
    })
}

/// The first difference of a turn.
fn diverges((turn, config): &Run, number: u64) -> Option<Value> {
    if turn.is_given_up() {
        return None;
    }
    let found = compared(turn, config.as_ref()).err()?;
    Some(json!({
        "turn": number, "number": turn.number, "path": "/state_hash", "stored": turn.state_hash, "replayed": found.hash, "reason": found.reason,
    }))
}
