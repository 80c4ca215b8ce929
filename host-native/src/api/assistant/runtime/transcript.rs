//! A session as its user saw it, for the pages and users of a deployment: what was said and what is waited for, without variables, trace or
//! debug information (docs/spec/flows-http.md#4).

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use convengine_access::api_error::ApiError;
use convengine_storage::assistant::deployment::Deployment;
use convengine_storage::assistant::session;
use convengine_storage::run_blocking;
use convengine_storage::turn;
use convengine_turns::Turns;
use convengine_turns::audit::derive::replay_turn;
use serde_json::{Value, json};

use super::inspect::{TurnWithConfig, render_state, with_configs};
use super::load_session;
use super::messages::{public_status, shown_handoff};
use super::public::check_deployment;
use crate::api::host::Host;
use crate::api::query::PathParams;
use crate::api::schemas::{list, nullable_text, object, text};

/// Maximum turns of a response, because each is replayed; the newest are returned.
const MAX_TURNS: u32 = 50;

/// Returns a session of a visitor, so that a reload keeps the chat. Its id is the capability to read it.
#[utoipa::path(
    get,
    path = "/v1/public/runtime/sessions/{session}",
    tag = "assistants",
    responses(
        (status = 200, description = "The session as its user saw it", body = ref("#/components/schemas/PublicSession")),
        (status = 403, description = "The origin is not allowed"),
        (status = 404, description = "Session not found in the deployment"),
    ),
)]
pub async fn of_deployment(
    State(host): State<Arc<Host>>,
    Extension(deployment): Extension<Arc<Deployment>>,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, ApiError> {
    render_session(&host.turns, &deployment, &id).await.map(Json)
}

/// Renders a session of a deployment.
///
/// # Errors
/// 404 for a session of another deployment, 503 if the database is unavailable.
pub async fn render_session(turns: &Turns, deployment: &Deployment, id: &str) -> Result<Value, ApiError> {
    let (stored, running) = load_session(&turns.content, id).await?;
    check_deployment(&stored, deployment)?;
    let id = running.session.as_str();
    let count = session::load(&turns.readers, id, None).await?.session.turns;
    let ended = turn::list_ended_after(&turns.readers, id, count.saturating_sub(MAX_TURNS), i64::from(MAX_TURNS)).await?;
    let seq = ended.last().map_or(count, |it| it.number);
    let (status, handoff) = (public_status(&stored.status).to_owned(), shown_handoff(&stored.state));
    // The history is masked; the events of the journals are not.
    let inputs = user_texts(&render_state(stored, &running)?);
    let runs = with_configs(&turns.content, ended).await?;
    let (turns, awaiting) = run_blocking(move || render_turns(&runs, inputs)).await?;
    Ok(json!({"session_id": id, "seq": seq, "status": status, "handoff": handoff, "awaiting": awaiting, "turns": turns}))
}

/// The texts of the user by turn.
fn user_texts(state: &Value) -> BTreeMap<u64, Value> {
    let history = state.get("history").and_then(Value::as_array).into_iter().flatten();
    let entries = history.filter(|entry| entry.get("role").is_some_and(|it| it == "user"));
    entries.filter_map(|entry| Some((entry.get("turn")?.as_u64()?, entry.get("text")?.clone()))).collect()
}

/// Renders the turns, and what the last one waits for.
fn render_turns(runs: &[TurnWithConfig], mut inputs: BTreeMap<u64, Value>) -> (Vec<Value>, Value) {
    let mut awaiting = Value::Null;
    let mut turns = Vec::with_capacity(runs.len());
    for (turn, config) in runs {
        // A turn that cannot be replayed has nothing to show.
        let Some(mut answer) = replay_turn(turn, config.as_ref()).ok().and_then(|it| it.end).and_then(|it| it.flow) else { continue };
        let mut take = |name: &str| answer.get_mut(name).map(Value::take).unwrap_or_default();
        awaiting = take("awaiting");
        let number = take("turn");
        let user = number.as_u64().and_then(|it| inputs.remove(&it)).unwrap_or_default();
        turns.push(json!({"turn": number, "user": user, "messages": take("messages")}));
    }
    (turns, awaiting)
}

/// The OpenAPI schema of a session as its user saw it.
pub fn public_session_schema() -> Value {
    let turn = object(json!({
        "turn": {"type": "integer", "description": "Number of user events"},
        "user": nullable_text("What the user wrote, with private values masked"),
        "messages": {"type": "array", "items": {"type": "object"}, "description": "As in the response of the turn"},
    }));
    object(json!({
        "session_id": text("The session id"), "seq": {"type": "integer", "description": "The position for `after` of `messages`"},
        "status": text("Same as in a turn response"), "handoff": {"description": "Same as in a turn response"},
        "awaiting": {"description": "What is waited for, as in the response of a turn"}, "turns": list(&turn),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_the_user_are_found_by_turn() {
        let history = json!({"history": [
            {"role": "bot", "text": "Welcome.", "turn": 0}, {"role": "user", "text": "hi", "turn": 1}, {"role": "human", "text": "Hello.", "turn": 1}
        ]});
        assert_eq!(user_texts(&history), BTreeMap::from([(1, json!("hi"))]));
        assert_eq!(user_texts(&json!({})), BTreeMap::new());
    }
}
