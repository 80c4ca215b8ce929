//! Inspection of sessions: state, trace and replay check.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use convengine_core::config::Config;
use serde_json::{Value, json};

use super::{load_session, simulator, trace_events};
use crate::api::error::{ApiError, not_found};
use crate::ops::audit::derive::replay_and_compare;
use crate::runtime::assistant::run::RunningSession;
use crate::runtime::turn_runner::Host;
use crate::storage::assistant::session::Session;
use crate::storage::assistant::{DocumentKind, ProgramKey};
use crate::storage::run_blocking;
use crate::storage::turn::{self, StoredTurn};

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
    let (stored, running) = load_session(&host, &uri, &id).await?;
    if stored.program != ProgramKey::new(DocumentKind::Assistant, &assistant) {
        return Err(not_found(&uri));
    }
    render_state(&uri, stored, &running).map(Json)
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
    let running = simulator::load_running(&host, &uri, path).await?;
    render_trace(&host, &uri, &running).await.map(Json)
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
    let running = simulator::load_running(&host, &uri, path).await?;
    check_replay(&host, &uri, &running).await.map(Json)
}

/// Renders the state of a session with private values masked.
///
/// # Errors
/// 500 `snapshot_lost` if its document is no longer stored.
pub fn render_state(uri: &Uri, stored: Session, running: &RunningSession) -> Result<Value, ApiError> {
    if running.is_document_missing {
        // Without the document it is unknown which values are private.
        let message = "snapshot of the session is no longer stored; start a new session";
        return Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, uri, message).with_code("snapshot_lost"));
    }
    let mut state = stored.state;
    if let Some(flow) = running.config.flow() {
        convengine_core::flow::redact_session(flow, &mut state);
    }
    Ok(state)
}

/// Renders the trace of a session, turn by turn.
///
/// # Errors
/// 503 if the database is unavailable.
pub async fn render_trace(host: &Host, uri: &Uri, running: &RunningSession) -> Result<Value, ApiError> {
    let turns = load_turns(host, uri, running).await?;
    let events =
        run_blocking(move || number_turns(&turns).map(|(number, run)| trace_events::render_turn(run, number)).collect::<Vec<Value>>())
            .await;
    Ok(json!({"turns": events.map_err(|it| ApiError::from_database(&it, uri))?}))
}

/// Explains the decisions of a turn of a session, which has this number among all its turns.
///
/// # Errors
/// 503 if the database is unavailable.
pub async fn explain_turn(host: &Host, uri: &Uri, running: &RunningSession, number: u32) -> Result<Vec<Value>, ApiError> {
    let turns = load_turns(host, uri, running).await?;
    let explain = move || turns.iter().find(|it| it.0.number == number).map(trace_events::explain_turn).unwrap_or_default();
    run_blocking(explain).await.map_err(|it| ApiError::from_database(&it, uri))
}

/// Replays the turns of a session and compares the results.
///
/// # Errors
/// 503 if the database is unavailable.
pub async fn check_replay(host: &Host, uri: &Uri, running: &RunningSession) -> Result<Value, ApiError> {
    let turns = load_turns(host, uri, running).await?;
    let count = turns.len();
    let divergence = run_blocking(move || number_turns(&turns).find_map(|(number, run)| find_divergence(run, number)))
        .await
        .map_err(|it| ApiError::from_database(&it, uri))?;
    Ok(json!({"equal": divergence.is_none(), "turns": count, "divergence": divergence}))
}

/// A stored turn with its configuration.
pub type TurnWithConfig = (StoredTurn, Option<Arc<Config>>);

async fn load_turns(host: &Host, uri: &Uri, running: &RunningSession) -> Result<Vec<TurnWithConfig>, ApiError> {
    load_turns_of(host, &running.session).await.map_err(|it| ApiError::from_database(&it, uri))
}

/// Loads the turns of a session.
pub async fn load_turns_of(host: &Host, session: &str) -> sqlx::Result<Vec<TurnWithConfig>> {
    with_configs(host, turn::list_ended(&host.readers, session).await?).await
}

/// Loads at most `most` turns of a session with a number above `number`, in order.
pub async fn load_turns_after(host: &Host, session: &str, number: u32, most: i64) -> sqlx::Result<Vec<TurnWithConfig>> {
    with_configs(host, turn::list_ended_after(&host.readers, session, number, most).await?).await
}

async fn with_configs(host: &Host, turns: Vec<StoredTurn>) -> sqlx::Result<Vec<TurnWithConfig>> {
    let mut runs = Vec::with_capacity(turns.len());
    for turn in turns {
        let config = host.flows.load(host, &turn.config_hash).await?;
        runs.push((turn, config));
    }
    Ok(runs)
}

/// Numbers turns like their responses: user turns are counted, other turns have the number of the turn before.
fn number_turns(turns: &[TurnWithConfig]) -> impl Iterator<Item = (u64, &TurnWithConfig)> {
    turns.iter().scan(0, |last, run| {
        *last = trace_events::turn_number(&run.0).unwrap_or(*last);
        Some((*last, run))
    })
}

/// Returns the first difference between a stored turn and its replay.
fn find_divergence((turn, config): &TurnWithConfig, number: u64) -> Option<Value> {
    if turn.is_unrecoverable() {
        return None;
    }
    let found = replay_and_compare(turn, config.as_ref()).err()?;
    Some(json!({
        "turn": number, "number": turn.number, "path": "/state_hash", "stored": turn.state_hash, "replayed": found.hash, "reason": found.reason,
        "node": found.node, "port": found.port,
    }))
}
