//! `/v1/runtime/assistants/{agent}/sessions`: sessions in the simulator for authors of assistants.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use convengine_core::turn::Map;
use serde_json::Value;
use uuid::Uuid;

use super::{Visibility, events, load_session, run_event, sign_in};
use crate::api::assistant::{body, document, parse_version_number};
use crate::api::error::{ApiError, not_found};
use crate::auth::caller::{Caller, ConversationAccess};
use crate::auth::identity::UserVerifier;
use crate::runtime::assistant::bundle::resolve_bundle;
use crate::runtime::assistant::mcp_tools;
use crate::runtime::assistant::run::{RunningSession, event_key};
use crate::runtime::assistant::version_cache::SessionDocument;
use crate::runtime::turn_runner::Host;
use crate::storage;
use crate::storage::assistant::{DocumentKind, ProgramKey, draft};

/// Authors see debug information.
pub const DEBUG_VISIBILITY: Visibility = Visibility { debug: true };

/// Starts a session with the draft or a version.
#[utoipa::path(
    post,
    path = "/v1/runtime/assistants/{agent}/sessions",
    tag = "assistants",
    params(
        ("agent" = String, Path, description = "The assistant id"),
        ("stream" = Option<String>, Query, description = "`true` for live events, `ui` for a UI message stream"),
    ),
    request_body = ref("#/components/schemas/NewSession"),
    responses(
        (status = 201, description = "The session has started", body = ref("#/components/schemas/TurnResponse")),
        (status = 400, description = "The body is not valid JSON"),
        (status = 404, description = "Assistant or version not found"),
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
    let (key, members) = (document::parse_key(DocumentKind::Assistant, id, &uri)?, members?);
    start_session(&host, &uri, key, &members, (&caller, &users)).await
}

/// Sends an event to a session.
#[utoipa::path(
    post,
    path = "/v1/runtime/assistants/{agent}/sessions/{session}/turns",
    tag = "assistants",
    params(
        ("agent" = String, Path, description = "The assistant id"),
        ("session" = String, Path, format = "uuid", description = "The session id"),
        ("stream" = Option<String>, Query, description = "`true` for live events, `ui` for a UI message stream"),
    ),
    request_body = ref("#/components/schemas/TurnEvent"),
    responses(
        (status = 200, description = "The response of the assistant", body = ref("#/components/schemas/TurnResponse")),
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
    path: Result<Path<(String, String)>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let members = body::read_object(&uri, &headers, body).await;
    let running = load_running(&host, &uri, path).await?;
    run_turn(&host, &uri, &running, members?, &users).await
}

/// Starts a session of a caller with the draft or a version of a document.
///
/// # Errors
/// 401 if the token of the user is not accepted, 404 if there is no such document or version, 409 if the session id exists, 422 if a member is invalid or the document cannot run, 503
/// if the database is unavailable.
pub async fn start_session(
    host: &Arc<Host>,
    uri: &Uri,
    program: ProgramKey,
    members: &Map,
    (caller, users): (&Caller, &UserVerifier),
) -> Result<Response, ApiError> {
    let identity = users.identify(uri, caller, members).await?;
    let mut event = events::read_start(uri, members, None, identity)?;
    let (document, version) = load_requested_document(host, uri, &program, members.get("version")).await?;
    if let Some(trigger) = members.get("trigger").filter(|it| !it.is_null() && program.kind() == DocumentKind::Workflow) {
        check_trigger(uri, &document.document, trigger)?;
        event.insert("trigger".to_owned(), trigger.clone());
    }
    let session = choose_session_id(host, uri, members).await?;
    let access = caller.access();
    let running = begin_session(host, uri, SessionStart { session, program, deployment: None, version, document, access }).await?;
    run_event(host, uri, &running, event, DEBUG_VISIBILITY, StatusCode::CREATED).await
}

/// Checks that a workflow has a trigger with an id.
fn check_trigger(uri: &Uri, document: &Value, id: &Value) -> Result<(), ApiError> {
    let mut nodes = document.get("nodes").and_then(Value::as_array).into_iter().flatten();
    if nodes.any(|it| it.get("id") == Some(id) && it.get("type").is_some_and(|it| it == "trigger")) {
        return Ok(());
    }
    let message = "trigger is not the id of a trigger of the workflow; send one or omit it";
    Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, uri, message).with_code("invalid_session"))
}

/// Runs the turn of an event of any type.
///
/// # Errors
/// 401 if the token of the user is not accepted, 422 if the event is invalid, and the refusals of any turn.
pub async fn run_turn(
    host: &Arc<Host>,
    uri: &Uri,
    running: &RunningSession,
    members: Map,
    users: &UserVerifier,
) -> Result<Response, ApiError> {
    let user = users.verify_member(uri, &members).await?;
    let mut event = events::read_event(host, uri, members, false)?;
    sign_in(host, uri, &running.session, user, &mut event).await?;
    run_event(host, uri, running, event, DEBUG_VISIBILITY, StatusCode::OK).await
}

/// Loads the session of a path.
///
/// # Errors
/// 404 if the assistant has no such session, 503 if the database is unavailable.
pub async fn load_running(host: &Host, uri: &Uri, path: Result<Path<(String, String)>, PathRejection>) -> Result<RunningSession, ApiError> {
    let Ok(Path((assistant, session))) = path else { return Err(not_found(uri)) };
    let (_, running) = load_session(host, uri, &session).await?;
    if running.program == ProgramKey::new(DocumentKind::Assistant, &assistant) { Ok(running) } else { Err(not_found(uri)) }
}

/// What a new session starts with.
#[derive(Debug)]
pub struct SessionStart {
    /// The session id.
    pub session: String,
    /// The assistant, workflow or AI agent.
    pub program: ProgramKey,
    /// The deployment that starts the session, if any.
    pub deployment: Option<String>,
    /// The version the session runs on; absent for the draft.
    pub version: Option<i64>,
    /// The document.
    pub document: SessionDocument,
    /// The caller, to whom the session belongs.
    pub access: ConversationAccess,
}

/// Compiles and stores the document of a new session, with what it is bound to at this time.
///
/// # Errors
/// 422 if the document cannot run or runs too many others, 503 if the database is unavailable.
pub async fn begin_session(host: &Host, uri: &Uri, beginning: SessionStart) -> Result<RunningSession, ApiError> {
    let SessionStart { session, program, deployment, version, document, access } = beginning;
    let message = "document is invalid; save a valid one";
    let unreadable = || ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, uri, message).with_code("invalid_document");
    let SessionDocument { document, version: id } = document;
    let config = match id.as_ref().and_then(|it| host.versions.find_config(it)) {
        Some(config) => config,
        None => {
            let document = Arc::unwrap_or_clone(document);
            let mut bundle = resolve_bundle(&host.readers, &program, document).await.map_err(|it| document::bundle_failed(&it, uri))?;
            mcp_tools::complete(&mut bundle, &host.config_manager.active().mcp);
            let compiled = host.flows.compile_and_store(host, bundle).await.map_err(|it| ApiError::from_database(&it, uri))?;
            let config = compiled.ok_or_else(unreadable)?;
            id.iter().for_each(|it| host.versions.keep_config(it, &config));
            config
        }
    };
    Ok(RunningSession { session, program, deployment, version, config, is_document_missing: false, is_new: true, access, upgrade: None })
}

/// Loads the requested document: the draft or a version.
///
/// # Errors
/// 404 if there is none, 503 if the database is unavailable.
pub async fn load_requested_document(
    host: &Host,
    uri: &Uri,
    program: &ProgramKey,
    requested: Option<&Value>,
) -> Result<(SessionDocument, Option<i64>), ApiError> {
    let database = |error: sqlx::Error| ApiError::from_database(&error, uri);
    match requested.filter(|it| !it.is_null()) {
        None => {
            let draft = document::find_draft(host, uri, program).await?;
            Ok((SessionDocument::from_draft(parse_document(&draft.document, uri)?), None))
        }
        Some(requested) => {
            let unknown = || document::version_not_found(program.kind(), uri);
            let found = draft::find_assistant(&host.readers, program.as_str()).await.map_err(database)?;
            found.ok_or_else(|| document::document_not_found(program.kind(), uri))?;
            let number = parse_version_number(&requested.to_string()).ok_or_else(unknown)?;
            let document = host.versions.load(&host.readers, program, number).await.map_err(database)?;
            Ok((document.ok_or_else(unknown)?, Some(number)))
        }
    }
}

/// Parses a stored document.
///
/// # Errors
/// 500 if the stored document is not valid JSON.
pub fn parse_document(text: &str, uri: &Uri) -> Result<Value, ApiError> {
    serde_json::from_str(text).map_err(|error| {
        tracing::error!(%error, "cannot parse a stored document");
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, uri, "stored document is invalid; save it again")
    })
}

/// Returns the requested session id, or a new one.
async fn choose_session_id(host: &Host, uri: &Uri, members: &Map) -> Result<String, ApiError> {
    let Some(requested) = members.get("session_id").filter(|it| !it.is_null()) else { return Ok(Uuid::new_v4().to_string()) };
    let refuse = || {
        ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, uri, "session_id is not a UUID; send a UUID or omit it")
            .with_code("invalid_session")
    };
    let id = requested.as_str().and_then(|it| Uuid::try_parse(it).ok()).ok_or_else(refuse)?.to_string();
    let key = members.get("event_id").and_then(Value::as_str).map(|it| event_key(&id, it));
    let found = storage::assistant::session::load(&host.readers, &id, key.as_deref()).await;
    let found = found.map_err(|it| ApiError::from_database(&it, uri))?;
    // Clients without a response retry with the same event id. Pipeline conversations share the id space.
    if !found.is_duplicate && (found.has_open_turn || found.session.turns > 0) {
        let message = "session id already exists; choose another id or omit it";
        return Err(ApiError::new(StatusCode::CONFLICT, uri, message).with_code("session_exists"));
    }
    Ok(id)
}
