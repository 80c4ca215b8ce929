//! `…/messages`: what a session has shown since a position, so that clients see messages of people between their own turns
//! (docs/guide/desk.md).
//!
//! Nothing is stored for it: the messages are those of the journaled turns.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::{Extension, Json};
use convengine_access::api_error::{ApiError, path_not_found};
use convengine_access::refusal::unauthorized;
use convengine_content::Content;
use convengine_storage::assistant::deployment::Deployment;
use convengine_storage::assistant::session;
use convengine_storage::run_blocking;
use convengine_storage::turn;
use convengine_turns::Turns;
use convengine_turns::audit::derive::replay_turn;
use convengine_turns::session_changes::wait_for_session;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::inspect::{TurnWithConfig, with_configs};
use super::public::check_deployment;
use super::{Sender, load_session};
use crate::api::assistant::kind_routes::SessionPath;
use crate::api::host::Host;
use crate::api::query::{PathParams, QueryParams};

/// Longest wait of a request, below the idle timeouts of usual proxies.
const MAX_WAIT_S: u64 = 25;

/// How often a waiting request looks for turns of other processes.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum turns of a response, because each is replayed.
const MAX_TURNS: i64 = 50;

/// Query parameters.
#[derive(Debug, Default, Deserialize)]
pub struct MessagesQuery {
    /// The `seq` of the last response; 0 from the start.
    #[serde(default)]
    after: u32,
    /// Seconds to wait for something new.
    #[serde(default)]
    wait_s: u64,
}

/// Returns the messages and the status of a session since a position.
#[utoipa::path(
    get,
    path = "/v1/public/runtime/sessions/{session}/messages",
    tag = "assistants",
    params(
        ("after" = Option<u32>, Query, description = "The `seq` of the last response; default is the start of the session"),
        ("wait_s" = Option<u64>, Query, description = "Seconds to wait for something new, at most 25"),
    ),
    responses(
        (status = 200, description = "The messages, oldest first", body = ref("#/components/schemas/SessionMessages")),
        (status = 400, description = "A query parameter is invalid"),
        (status = 403, description = "The origin is not allowed"),
        (status = 404, description = "Session not found in the deployment"),
    ),
)]
pub async fn of_deployment(
    State(host): State<Arc<Host>>,
    sender: Sender,
    Extension(deployment): Extension<Arc<Deployment>>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<MessagesQuery>,
) -> Result<Json<Value>, ApiError> {
    let (stored, running) = load_session(&host.content, &id).await?;
    check_deployment(&stored, &deployment)?;
    wait_for_messages(&host.turns, &sender, &running.session, &query).await.map(Json)
}

/// Returns the messages and the status of a session since a position.
#[utoipa::path(
    get,
    path = "/v1/runtime/{sessions}/{session}/messages",
    tag = "documents",
    params(
        ("after" = Option<u32>, Query, description = "The `seq` of the last response; default is the start of the session"),
        ("wait_s" = Option<u64>, Query, description = "Seconds to wait for something new, at most 25"),
    ),
    responses(
        (status = 200, description = "The messages, oldest first", body = ref("#/components/schemas/SessionMessages")),
        (status = 400, description = "A query parameter is invalid"),
        (status = 404, description = "Session not found"),
    ),
)]
pub async fn of_simulator(
    State(host): State<Arc<Host>>,
    sender: Sender,
    path: SessionPath,
    QueryParams(query): QueryParams<MessagesQuery>,
) -> Result<Json<Value>, ApiError> {
    let (_, running) = path.load(&host.content).await?;
    wait_for_messages(&host.turns, &sender, &running.session, &query).await.map(Json)
}

/// Returns the messages of a session since a position, and waits for them as long as requested.
///
/// # Errors
/// 401 if the credential of the caller ends meanwhile, 503 if the database is unavailable.
pub async fn wait_for_messages(turns: &Turns, sender: &Sender, id: &str, query: &MessagesQuery) -> Result<Value, ApiError> {
    let mut changes = turns.session_changes.subscribe();
    let mut credential_end = pin!(turns.access.open_credentials.watch(&sender.caller).wait());
    let deadline = Instant::now() + Duration::from_secs(query.wait_s.min(MAX_WAIT_S));
    loop {
        let ended = turn::list_ended_after(&turns.readers, id, query.after, MAX_TURNS).await?;
        if !ended.is_empty() || Instant::now() >= deadline {
            return render_messages(&turns.content, id, ended, query.after).await;
        }
        let pause = deadline.min(Instant::now() + POLL_INTERVAL);
        tokio::select! {
            changed = timeout_at(pause, wait_for_session(&mut changes, id)) => {
                if changed.is_ok() && session::find_seq(&turns.readers, id).await?.is_none() {
                    return Err(path_not_found());
                }
            }
            () = &mut credential_end => return Err(unauthorized(&sender.uri, Some("revoked or expired"))),
            // A stopping server does not wait for its clients.
            () = turns.streams.wait_closed() => return render_messages(&turns.content, id, Vec::new(), query.after).await,
        }
    }
}

async fn render_messages(content: &Content, id: &str, turns: Vec<turn::StoredTurn>, after: u32) -> Result<Value, ApiError> {
    let stored = session::find(&content.readers, id).await?.ok_or_else(path_not_found)?;
    let seq = turns.last().map_or(after, |it| it.number);
    let runs = with_configs(content, turns).await?;
    let messages = run_blocking(move || runs.iter().flat_map(turn_messages).collect::<Vec<Value>>()).await?;
    let status = public_status(&stored.status);
    Ok(json!({
        "session_id": id, "seq": seq, "status": status, "handoff": shown_handoff(&stored.state), "messages": messages,
    }))
}

/// The messages of a turn; none if it cannot be replayed.
fn turn_messages((turn, config): &TurnWithConfig) -> Vec<Value> {
    let answer = replay_turn(turn, config.as_ref()).ok().and_then(|it| it.end).and_then(|it| it.flow);
    let messages = answer.and_then(|mut it| it.get_mut("messages").map(Value::take));
    if let Some(Value::Array(messages)) = messages { messages } else { Vec::new() }
}

/// The status of a stored session as responses of turns have it.
pub fn public_status(stored: &str) -> &str {
    match stored {
        "active" => "awaiting_input",
        "abandoned" => "completed",
        other => other,
    }
}

/// What users see of a handoff, as in the response of a turn.
pub fn shown_handoff(state: &Value) -> Value {
    let Some(handoff) = state.get("handoff").filter(|it| it.is_object()) else { return Value::Null };
    let member = |name: &str| handoff.get(name).cloned().unwrap_or_default();
    json!({
        "state": member("state"), "ticket": member("ticket"), "position": member("position"), "eta_ms": member("eta_ms"),
        "author": member("author"),
    })
}
