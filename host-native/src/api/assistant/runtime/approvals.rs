//! `…/approvals/{call}`: decisions about tool calls that need approval.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use convengine_core::turn::Map;
use serde_json::{Value, json};

use super::{Visibility, events, is_already_sent, run_event, simulator};
use crate::api::assistant::body;
use crate::api::error::{ApiError, not_found};
use crate::runtime::assistant::run::RunningSession;
use crate::runtime::turn_runner::Host;
use crate::storage::assistant::session;

/// Approves or rejects a pending call.
#[utoipa::path(
    post,
    path = "/v1/runtime/assistants/{agent}/sessions/{session}/approvals/{call}",
    tag = "assistants",
    params(
        ("agent" = String, Path, description = "The assistant id"),
        ("session" = String, Path, format = "uuid", description = "The session id"),
        ("call" = String, Path, description = "The `call_id` of the pending call"),
    ),
    request_body = ref("#/components/schemas/Approval"),
    responses(
        (status = 200, description = "The response of the assistant", body = ref("#/components/schemas/TurnResponse")),
        (status = 400, description = "The body is not valid JSON"),
        (status = 404, description = "Session not found, or no such call is pending in it"),
        (status = 408, description = "The request body timed out"),
        (status = 409, description = "The session has ended"),
        (status = 413, description = "The request body is too large"),
        (status = 415, description = "The Content-Type is not JSON"),
        (status = 422, description = "The decision is invalid"),
        (status = 503, description = "The session or the database is busy; see Retry-After"),
    ),
)]
pub async fn decide(
    State(host): State<Arc<Host>>,
    uri: Uri,
    path: Result<Path<(String, String, String)>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let members = body::read_object(&uri, &headers, body).await;
    let Ok(Path((assistant, id, call))) = path else { return Err(not_found(&uri)) };
    let running = simulator::load_running(&host, &uri, Ok(Path((assistant, id)))).await?;
    decide_call(&host, &uri, &running, call, members?).await
}

/// Runs the decision about a pending call as a turn.
///
/// # Errors
/// 404 `unknown_call` if no such call is pending, 422 if the decision is invalid, and the refusals of any turn.
pub async fn decide_call(
    host: &Arc<Host>,
    uri: &Uri,
    running: &RunningSession,
    call: String,
    mut members: Map,
) -> Result<Response, ApiError> {
    let stored = session::find(&host.readers, &running.session).await.map_err(|it| ApiError::from_database(&it, uri))?;
    let active = stored.as_ref().is_some_and(|it| it.status == "active");
    let pending = stored.and_then(|it| it.state.pointer("/awaiting/call/call_id")?.as_str().map(str::to_owned));
    // An ended session is reported by the turn itself, and a repeated decision returns its first response.
    if active && pending.as_deref() != Some(call.as_str()) && !is_already_sent(host, uri, &running.session, &members).await? {
        let message = "no such call is pending in the session; it may already be decided";
        return Err(ApiError::new(StatusCode::NOT_FOUND, uri, message).with_code("unknown_call"));
    }
    members.insert("type".to_owned(), json!("approval.decision"));
    members.insert("call_id".to_owned(), Value::String(call));
    let event = events::read_event(host, uri, members, false)?;
    run_event(host, uri, running, event, Visibility { debug: true }, StatusCode::OK).await
}
