//! `/v1/runtime/ai-agents`: AI agents for their authors.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use axum::{Extension, Json};
use serde_json::Value;

use super::{AgentMessage, begin_conversation, find_conversation};
use crate::api::assistant::runtime::simulator::{DEBUG_VISIBILITY, load_requested_document, run_turn, start_session};
use crate::api::assistant::runtime::{inspect, load_session, run_event, sign_in};
use crate::api::assistant::{body, document};
use crate::api::error::{ApiError, not_found};
use crate::auth::caller::Caller;
use crate::auth::identity::UserVerifier;
use crate::runtime::assistant::run::RunningSession;
use crate::runtime::turn_runner::Host;
use crate::storage::assistant::DocumentKind;
use crate::storage::assistant::session::Session;

/// Sends a message to the draft or a version, in a new conversation or a known one.
#[utoipa::path(
    post,
    path = "/v1/runtime/ai-agents/{ai_agent}/turn",
    tag = "workflows",
    params(
        ("ai_agent" = String, Path, description = "The id of the AI agent"),
        ("stream" = Option<String>, Query, description = "`true` for live events, `ui` for a UI message stream"),
    ),
    request_body = ref("#/components/schemas/AgentMessage"),
    responses(
        (status = 200, description = "The response of the AI agent", body = ref("#/components/schemas/TurnResponse")),
        (status = 400, description = "The body is not valid JSON"),
        (status = 403, description = "The AI agent does not answer on the channel"),
        (status = 404, description = "AI agent, version or conversation not found"),
        (status = 408, description = "The request body timed out"),
        (status = 409, description = "The conversation has ended, or its first message is still being answered"),
        (status = 413, description = "The request body or the text is too large"),
        (status = 415, description = "The Content-Type is not JSON"),
        (status = 422, description = "A member of the body is invalid"),
        (status = 503, description = "The conversation or the database is busy; see Retry-After"),
    ),
)]
pub async fn turn(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    Extension(users): Extension<UserVerifier>,
    uri: Uri,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let members = body::read_object(&uri, &headers, body).await;
    let (key, members) = (document::parse_key(DocumentKind::Agent, id, &uri)?, members?);
    let mut message = AgentMessage::read(&host, &uri, &members, None)?;
    let running = match find_conversation(&host, &uri, &message, &key, None).await? {
        Some(running) => {
            sign_in(&host, &uri, &running.session, users.verify_member(&uri, &members).await?, &mut message.event).await?;
            running
        }
        None => {
            message.introduce(users.identify(&uri, &caller, &members).await?);
            let (document, version) = load_requested_document(&host, &uri, &key, members.get("version")).await?;
            begin_conversation(&host, &uri, &message, key, (None, caller.access()), (version, document)).await?
        }
    };
    message.check_channel(&uri, &running)?;
    run_event(&host, &uri, &running, message.event, DEBUG_VISIBILITY, StatusCode::OK).await
}

/// Starts a session with the draft or a version, without a message.
#[utoipa::path(
    post,
    path = "/v1/runtime/ai-agents/{ai_agent}/sessions",
    tag = "workflows",
    params(
        ("ai_agent" = String, Path, description = "The id of the AI agent"),
        ("stream" = Option<String>, Query, description = "`true` for live events, `ui` for a UI message stream"),
    ),
    request_body = ref("#/components/schemas/NewSession"),
    responses(
        (status = 201, description = "The session has started", body = ref("#/components/schemas/TurnResponse")),
        (status = 400, description = "The body is not valid JSON"),
        (status = 404, description = "AI agent or version not found"),
        (status = 408, description = "The request body timed out"),
        (status = 409, description = "The session id already exists"),
        (status = 413, description = "The request body is too large"),
        (status = 415, description = "The Content-Type is not JSON"),
        (status = 422, description = "A member of the body is invalid"),
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
    let (key, members) = (document::parse_key(DocumentKind::Agent, id, &uri)?, members?);
    start_session(&host, &uri, key, &members, (&caller, &users)).await
}

/// Sends an event of any type to a session, such as the decision about a pending call.
#[utoipa::path(
    post,
    path = "/v1/runtime/ai-agents/sessions/{session}/turns",
    tag = "workflows",
    params(
        ("session" = String, Path, format = "uuid", description = "The session id"),
        ("stream" = Option<String>, Query, description = "`true` for live events, `ui` for a UI message stream"),
    ),
    request_body = ref("#/components/schemas/TurnEvent"),
    responses(
        (status = 200, description = "The response of the AI agent", body = ref("#/components/schemas/TurnResponse")),
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
pub async fn event(
    State(host): State<Arc<Host>>,
    Extension(users): Extension<UserVerifier>,
    uri: Uri,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let members = body::read_object(&uri, &headers, body).await;
    let (_, running) = load_agent_session(&host, &uri, id).await?;
    run_turn(&host, &uri, &running, members?, &users).await
}

/// Returns the state of a session with private values masked.
#[utoipa::path(
    get,
    path = "/v1/runtime/ai-agents/sessions/{session}",
    tag = "workflows",
    params(("session" = String, Path, format = "uuid", description = "The session id")),
    responses(
        (status = 200, description = "The session state", body = ref("#/components/schemas/SessionState")),
        (status = 404, description = "Session not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn state(State(host): State<Arc<Host>>, uri: Uri, id: Result<Path<String>, PathRejection>) -> Result<Json<Value>, ApiError> {
    let (stored, running) = load_agent_session(&host, &uri, id).await?;
    inspect::render_state(&uri, stored, &running).map(Json)
}

/// Returns the trace of a session, turn by turn.
#[utoipa::path(
    get,
    path = "/v1/runtime/ai-agents/sessions/{session}/trace",
    tag = "workflows",
    params(("session" = String, Path, format = "uuid", description = "The session id")),
    responses(
        (status = 200, description = "The trace events of each turn", body = ref("#/components/schemas/SessionTrace")),
        (status = 404, description = "Session not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn trace(State(host): State<Arc<Host>>, uri: Uri, id: Result<Path<String>, PathRejection>) -> Result<Json<Value>, ApiError> {
    let (_, running) = load_agent_session(&host, &uri, id).await?;
    inspect::render_trace(&host, &uri, &running).await.map(Json)
}

/// Replays the turns of a session and compares the results.
#[utoipa::path(
    get,
    path = "/v1/runtime/ai-agents/sessions/{session}/replay",
    tag = "workflows",
    params(("session" = String, Path, format = "uuid", description = "The session id")),
    responses(
        (status = 200, description = "Whether all turns are equal, or the first divergence", body = ref("#/components/schemas/Replayed")),
        (status = 404, description = "Session not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn replay(State(host): State<Arc<Host>>, uri: Uri, id: Result<Path<String>, PathRejection>) -> Result<Json<Value>, ApiError> {
    let (_, running) = load_agent_session(&host, &uri, id).await?;
    inspect::check_replay(&host, &uri, &running).await.map(Json)
}

/// Loads the session of a path.
async fn load_agent_session(
    host: &Host,
    uri: &Uri,
    id: Result<Path<String>, PathRejection>,
) -> Result<(Session, RunningSession), ApiError> {
    let Ok(Path(id)) = id else { return Err(not_found(uri)) };
    let (stored, running) = load_session(host, uri, &id).await?;
    if stored.program.kind() == DocumentKind::Agent { Ok((stored, running)) } else { Err(not_found(uri)) }
}
