//! `/v1/runtime/workflows`: sessions of workflows in the simulator (docs/spec/workflows-http.md#3).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use axum::{Extension, Json};
use serde_json::Value;

use super::messages::{MessagesQuery, wait_for_messages};
use super::{approvals, handoff, inspect, load_session, simulator};
use crate::api::assistant::{body, document};
use crate::api::error::{ApiError, not_found};
use crate::api::query::QueryParams;
use crate::auth::caller::Caller;
use crate::auth::identity::UserVerifier;
use crate::runtime::assistant::run::RunningSession;
use crate::runtime::turn_runner::Host;
use crate::storage::assistant::DocumentKind;
use crate::storage::assistant::session::Session;

/// Starts a session with the draft or a version of a workflow, and with the published documents that it runs.
#[utoipa::path(
    post,
    path = "/v1/runtime/workflows/{workflow}/sessions",
    tag = "workflows",
    params(
        ("workflow" = String, Path, description = "The workflow id"),
        ("stream" = Option<String>, Query, description = "`true` for live events, `ui` for a UI message stream"),
    ),
    request_body = ref("#/components/schemas/NewSession"),
    responses(
        (status = 201, description = "The session has started", body = ref("#/components/schemas/TurnResponse")),
        (status = 400, description = "The body is not valid JSON"),
        (status = 404, description = "Workflow or version not found"),
        (status = 408, description = "The request body timed out"),
        (status = 409, description = "The session id already exists"),
        (status = 413, description = "The request body is too large"),
        (status = 415, description = "The Content-Type is not JSON"),
        (status = 422, description = "A member of the body is invalid, or the workflow runs too many documents"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn start(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    Extension(users): Extension<UserVerifier>,
    uri: Uri,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let members = body::read_object(&uri, &headers, body).await;
    let (key, members) = (document::parse_key(DocumentKind::Workflow, id, &uri)?, members?);
    simulator::start_session(&host, &uri, key, &members, (&caller, &users)).await
}

/// Sends an event to a session.
#[utoipa::path(
    post,
    path = "/v1/runtime/workflows/sessions/{session}/turns",
    tag = "workflows",
    params(
        ("session" = String, Path, format = "uuid", description = "The session id"),
        ("stream" = Option<String>, Query, description = "`true` for live events, `ui` for a UI message stream"),
    ),
    request_body = ref("#/components/schemas/TurnEvent"),
    responses(
        (status = 200, description = "The response of the workflow", body = ref("#/components/schemas/TurnResponse")),
        (status = 400, description = "The body is not valid JSON"),
        (status = 404, description = "Session not found"),
        (status = 408, description = "The request body timed out"),
        (status = 409, description = "The session has ended"),
        (status = 413, description = "The request body is too large"),
        (status = 415, description = "The Content-Type is not JSON"),
        (status = 422, description = "The event is invalid"),
        (status = 503, description = "The session or the database is busy; see Retry-After"),
    ),
)]
pub async fn turn(
    State(host): State<Arc<Host>>,
    Extension(users): Extension<UserVerifier>,
    uri: Uri,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let members = body::read_object(&uri, &headers, body).await;
    let (_, running) = load_workflow_session(&host, &uri, id).await?;
    simulator::run_turn(&host, &uri, &running, members?, &users).await
}

/// Returns the state of a session with private values masked.
#[utoipa::path(
    get,
    path = "/v1/runtime/workflows/sessions/{session}",
    tag = "workflows",
    params(("session" = String, Path, format = "uuid", description = "The session id")),
    responses(
        (status = 200, description = "The session state", body = ref("#/components/schemas/SessionState")),
        (status = 404, description = "Session not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn state(State(host): State<Arc<Host>>, uri: Uri, id: Result<Path<String>, PathRejection>) -> Result<Json<Value>, ApiError> {
    let (stored, running) = load_workflow_session(&host, &uri, id).await?;
    inspect::render_state(&uri, stored, &running).map(Json)
}

/// Returns the trace of a session, turn by turn.
#[utoipa::path(
    get,
    path = "/v1/runtime/workflows/sessions/{session}/trace",
    tag = "workflows",
    params(("session" = String, Path, format = "uuid", description = "The session id")),
    responses(
        (status = 200, description = "The trace events of each turn", body = ref("#/components/schemas/SessionTrace")),
        (status = 404, description = "Session not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn trace(State(host): State<Arc<Host>>, uri: Uri, id: Result<Path<String>, PathRejection>) -> Result<Json<Value>, ApiError> {
    let (_, running) = load_workflow_session(&host, &uri, id).await?;
    inspect::render_trace(&host, &uri, &running).await.map(Json)
}

/// Replays the turns of a session and compares the results.
#[utoipa::path(
    get,
    path = "/v1/runtime/workflows/sessions/{session}/replay",
    tag = "workflows",
    params(("session" = String, Path, format = "uuid", description = "The session id")),
    responses(
        (status = 200, description = "Whether all turns are equal, or the first divergence", body = ref("#/components/schemas/Replayed")),
        (status = 404, description = "Session not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn replay(State(host): State<Arc<Host>>, uri: Uri, id: Result<Path<String>, PathRejection>) -> Result<Json<Value>, ApiError> {
    let (_, running) = load_workflow_session(&host, &uri, id).await?;
    inspect::check_replay(&host, &uri, &running).await.map(Json)
}

/// Returns the messages and the status of a session since a position.
#[utoipa::path(
    get,
    path = "/v1/runtime/workflows/sessions/{session}/messages",
    tag = "workflows",
    params(
        ("session" = String, Path, format = "uuid", description = "The session id"),
        ("after" = Option<u32>, Query, description = "The `seq` of the last response; default is the start of the session"),
        ("wait_s" = Option<u64>, Query, description = "Seconds to wait for something new, at most 25"),
    ),
    responses(
        (status = 200, description = "The messages, oldest first", body = ref("#/components/schemas/SessionMessages")),
        (status = 400, description = "A query parameter is invalid"),
        (status = 404, description = "Session not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn messages(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    id: Result<Path<String>, PathRejection>,
    QueryParams(query): QueryParams<MessagesQuery>,
) -> Result<Json<Value>, ApiError> {
    let (_, running) = load_workflow_session(&host, &uri, id).await?;
    wait_for_messages(&host, &uri, &caller, &running.session, &query).await.map(Json)
}

/// Reports the status of a handoff.
#[utoipa::path(
    post,
    path = "/v1/runtime/workflows/sessions/{session}/handoff/status",
    tag = "workflows",
    params(("session" = String, Path, format = "uuid", description = "The session id")),
    request_body = ref("#/components/schemas/HandoffStatus"),
    responses(
        (status = 200, description = "The response of the workflow", body = ref("#/components/schemas/TurnResponse")),
        (status = 400, description = "The body is not valid JSON"),
        (status = 404, description = "Session not found"),
        (status = 408, description = "The request body timed out"),
        (status = 409, description = "The session has ended, is not handed off, or another person has it"),
        (status = 413, description = "The request body or the message is too large"),
        (status = 415, description = "The Content-Type is not JSON"),
        (status = 422, description = "The status is invalid"),
        (status = 503, description = "The session or the database is busy; see Retry-After"),
    ),
)]
pub async fn handoff_status(
    State(host): State<Arc<Host>>,
    uri: Uri,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let members = body::read_object(&uri, &headers, body).await;
    let (_, running) = load_workflow_session(&host, &uri, id).await?;
    handoff::report(&host, &uri, &running, "handoff.status", members?).await
}

/// Sends a message of a person to the user.
#[utoipa::path(
    post,
    path = "/v1/runtime/workflows/sessions/{session}/handoff/messages",
    tag = "workflows",
    params(("session" = String, Path, format = "uuid", description = "The session id")),
    request_body = ref("#/components/schemas/HandoffMessage"),
    responses(
        (status = 200, description = "The response of the workflow", body = ref("#/components/schemas/TurnResponse")),
        (status = 400, description = "The body is not valid JSON"),
        (status = 404, description = "Session not found"),
        (status = 408, description = "The request body timed out"),
        (status = 409, description = "The session has ended or is not handed off"),
        (status = 413, description = "The request body or the text is too large"),
        (status = 415, description = "The Content-Type is not JSON"),
        (status = 422, description = "The message is invalid"),
        (status = 503, description = "The session or the database is busy; see Retry-After"),
    ),
)]
pub async fn handoff_message(
    State(host): State<Arc<Host>>,
    uri: Uri,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let members = body::read_object(&uri, &headers, body).await;
    let (_, running) = load_workflow_session(&host, &uri, id).await?;
    handoff::report(&host, &uri, &running, "handoff.message", members?).await
}

/// Approves or rejects a pending call.
#[utoipa::path(
    post,
    path = "/v1/runtime/workflows/sessions/{session}/approvals/{call}",
    tag = "workflows",
    params(
        ("session" = String, Path, format = "uuid", description = "The session id"),
        ("call" = String, Path, description = "The `call_id` of the pending call"),
    ),
    request_body = ref("#/components/schemas/Approval"),
    responses(
        (status = 200, description = "The response of the workflow", body = ref("#/components/schemas/TurnResponse")),
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
    path: Result<Path<(String, String)>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let members = body::read_object(&uri, &headers, body).await;
    let Ok(Path((id, call))) = path else { return Err(not_found(&uri)) };
    let (_, running) = load_workflow_session(&host, &uri, Ok(Path(id))).await?;
    approvals::decide_call(&host, &uri, &running, call, members?).await
}

/// Loads the session of a path.
async fn load_workflow_session(
    host: &Host,
    uri: &Uri,
    id: Result<Path<String>, PathRejection>,
) -> Result<(Session, RunningSession), ApiError> {
    let Ok(Path(id)) = id else { return Err(not_found(uri)) };
    let (stored, running) = load_session(host, uri, &id).await?;
    if stored.program.kind() == DocumentKind::Workflow { Ok((stored, running)) } else { Err(not_found(uri)) }
}
