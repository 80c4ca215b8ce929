//! What is known of a session: its state, how its answers came about, and whether they come about again.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use convengine_core::config::Config;
use convengine_core::turn::{Journal, NoticeBody, Slice, Write};
use serde_json::{Value, json};

use super::{session_of, simulator};
use crate::assistant::run::OF_SEQ;
use crate::audit::derive::{again, aside};
use crate::clock;
use crate::drive::Host;
use crate::http::error::{ApiError, not_found};
use crate::store::turn::{self, StoredTurn, decompress};

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
    let told = aside(move || turns.iter().map(told).collect::<Vec<Value>>()).await;
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
    let divergence = aside(move || turns.iter().find_map(diverges)).await.map_err(|it| ApiError::of_database(&it, &uri))?;
    Ok(Json(json!({"equal": divergence.is_none(), "turns": count, "divergence": divergence})))
}

/// A stored turn with what it ran on.
type Run = (StoredTurn, Option<Arc<Config>>);

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

/// A turn as the trace tells it; one that cannot be run again says why in the place of its events.
fn told((turn, config): &Run) -> Value {
    let journal = decompress(&turn.journal).ok();
    let event = journal.as_ref().map(event);
    match again(turn, config.as_ref()) {
        Ok(slice) => hidden(config.as_deref(), event.unwrap_or_default(), &slice, turn.number),
        Err(reason) => json!({"turn": turn.number, "event": Value::Null, "events": [], "reason": reason}),
    }
}

fn event(journal: &Journal) -> Value {
    let mut event = journal.input.event.flow.as_deref().cloned().unwrap_or_default();
    if let Some(members) = event.as_object_mut() {
        ["budget_left", OF_SEQ].into_iter().for_each(|it| drop(members.shift_remove(it)));
    }
    event
}

/// A turn without what is to stay out of logs, be it in what came in, in what the session knows then, or in what happened.
fn hidden(config: Option<&Config>, event: Value, slice: &Slice, turn: u32) -> Value {
    let writes = slice.end.as_ref().map(|it| it.writes.as_slice()).unwrap_or_default();
    let state = writes.iter().find_map(|it| if let Write::Flow { state } = it { Some(state.as_ref()) } else { None });
    let of_state = |key: &str| state.and_then(|it| it.get(key)).cloned().unwrap_or_default();
    let mut frames = of_state("stack").as_array().cloned().unwrap_or_default();
    frames.push(json!({"locals": event.get("params")}));
    let told = json!({"turn": turn, "event": heard(event, state), "events": events(slice, turn)});
    let mut whole = json!({"vars": of_state("vars"), "stack": frames, "told": told});
    if let Some(flow) = config.and_then(|it| it.flow.as_ref()) {
        convengine_core::flow::mask(flow, &mut whole);
    }
    whole["told"].take()
}

/// The event; what its user has said stands as the session remembers it.
fn heard(mut event: Value, state: Option<&Value>) -> Value {
    let heard = state.and_then(|it| {
        let history = it.get("history")?.as_array()?;
        let said = history.iter().rev().find(|said| said.get("role") == Some(&json!("user")) && said.get("turn") == it.get("turn"))?;
        said.get("text").cloned()
    });
    if let (Some(members), Some(heard)) = (event.as_object_mut(), heard)
        && members.contains_key("text")
    {
        members.insert("text".to_owned(), heard);
    }
    event
}

fn events(slice: &Slice, turn: u32) -> Vec<Value> {
    let one = |it: &convengine_core::turn::Notice| match &it.body {
        NoticeBody::Audit { stage, payload } => {
            Some(json!({"turn": turn, "seq": it.seq, "at": clock::iso_text(it.at), "kind": stage, "data": payload}))
        }
        NoticeBody::Verbose(_) | NoticeBody::Message { .. } => None,
    };
    slice.notices.iter().filter_map(one).collect()
}

/// The first difference of a turn.
fn diverges((turn, config): &Run) -> Option<Value> {
    if turn.is_given_up() {
        return None;
    }
    let reason = again(turn, config.as_ref()).err()?;
    Some(json!({"turn": turn.number, "path": "/state_hash", "stored": turn.state_hash, "replayed": reason}))
}
