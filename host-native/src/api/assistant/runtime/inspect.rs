//! Inspection of sessions: state, trace and replay check.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use convengine_access::api_error::ApiError;
use convengine_content::Content;
use convengine_core::config::Config;
use convengine_storage::assistant::session::Session;
use convengine_storage::run_blocking;
use convengine_storage::turn::{self, StoredTurn};
use convengine_turns::audit::derive::replay_and_compare;
use convengine_turns::running_session::RunningSession;
use serde_json::{Value, json};

use super::trace_events;
use crate::api::assistant::kind_routes::SessionPath;
use crate::api::host::Host;

/// Returns the state of a session with private values masked.
#[utoipa::path(
    get,
    path = "/v1/runtime/{sessions}/{session}",
    tag = "documents",
    responses(
        (status = 200, description = "The session state", body = ref("#/components/schemas/SessionState")),
        (status = 404, description = "Session not found"),
    ),
)]
pub async fn state(State(host): State<Arc<Host>>, path: SessionPath) -> Result<Json<Value>, ApiError> {
    let (stored, running) = path.load(&host.content).await?;
    render_state(stored, &running).map(Json)
}

/// Returns the trace of a session, turn by turn.
#[utoipa::path(
    get,
    path = "/v1/runtime/{sessions}/{session}/trace",
    tag = "documents",
    responses(
        (status = 200, description = "The trace events of each turn", body = ref("#/components/schemas/SessionTrace")),
        (status = 404, description = "Session not found"),
    ),
)]
pub async fn trace(State(host): State<Arc<Host>>, path: SessionPath) -> Result<Json<Value>, ApiError> {
    let (_, running) = path.load(&host.content).await?;
    render_trace(&host.content, &running).await.map(Json)
}

/// Replays the turns of a session and compares the results.
#[utoipa::path(
    get,
    path = "/v1/runtime/{sessions}/{session}/replay",
    tag = "documents",
    responses(
        (status = 200, description = "Whether every turn replays identically, else the first divergence", body = ref("#/components/schemas/Replayed")),
        (status = 404, description = "Session not found"),
    ),
)]
pub async fn replay(State(host): State<Arc<Host>>, path: SessionPath) -> Result<Json<Value>, ApiError> {
    let (_, running) = path.load(&host.content).await?;
    let turns = load_turns_of(&host.content, &running.session).await?;
    let count = turns.len();
    let divergence = run_blocking(move || number_turns(&turns).find_map(|(number, run)| find_divergence(run, number))).await?;
    Ok(Json(json!({"equal": divergence.is_none(), "turns": count, "divergence": divergence})))
}

/// Renders the state of a session with private values masked.
///
/// # Errors
/// 500 `snapshot_lost` if its document is no longer stored.
pub fn render_state(stored: Session, running: &RunningSession) -> Result<Value, ApiError> {
    if running.is_document_missing {
        // Without the document it is unknown which values are private.
        let message = "snapshot of the session is no longer stored; start a new session";
        return Err(ApiError::internal(message).with_code("snapshot_lost"));
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
pub async fn render_trace(content: &Content, running: &RunningSession) -> Result<Value, ApiError> {
    let turns = load_turns_of(content, &running.session).await?;
    let events =
        run_blocking(move || number_turns(&turns).map(|(number, run)| trace_events::render_turn(run, number)).collect::<Vec<Value>>())
            .await;
    Ok(json!({"turns": events?}))
}

/// Explains the decisions of a turn of a session, which has this number among all its turns.
///
/// # Errors
/// 503 if the database is unavailable.
pub async fn explain_turn(content: &Content, running: &RunningSession, number: u32) -> Result<Vec<Value>, ApiError> {
    let turns = load_turns_of(content, &running.session).await?;
    let explain = move || turns.iter().find(|it| it.0.number == number).map(trace_events::explain_turn).unwrap_or_default();
    Ok(run_blocking(explain).await?)
}

/// A stored turn with its configuration.
pub type TurnWithConfig = (StoredTurn, Option<Arc<Config>>);

/// Loads the turns of a session.
pub async fn load_turns_of(content: &Content, session: &str) -> sqlx::Result<Vec<TurnWithConfig>> {
    with_configs(content, turn::list_ended(&content.readers, session).await?).await
}

/// Loads at most `most` turns of a session with a number above `number`, in order.
pub async fn load_turns_after(content: &Content, session: &str, number: u32, most: i64) -> sqlx::Result<Vec<TurnWithConfig>> {
    with_configs(content, turn::list_ended_after(&content.readers, session, number, most).await?).await
}

/// Adds their configurations to turns.
pub async fn with_configs(content: &Content, turns: Vec<StoredTurn>) -> sqlx::Result<Vec<TurnWithConfig>> {
    let mut runs = Vec::with_capacity(turns.len());
    for turn in turns {
        let config = content.flows.load(content, &turn.config_hash).await?;
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
