//! `/v1/runtime/…/sessions`: sessions of assistants, workflows and AI agents in the simulator, for their authors (docs/spec/flows-http.md#4,
//! docs/spec/workflows-http.md#3).

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use convengine_access::api_error::ApiError;
use convengine_access::caller::ConversationAccess;
use convengine_content::Content;
use convengine_content::bundle::resolve_bundle;
use convengine_content::mcp_tools;
use convengine_content::version_cache::SessionDocument;
use convengine_core::turn::Map;
use convengine_storage as storage;
use convengine_storage::assistant::{DocumentKind, ProgramKey, draft};
use convengine_turns::running_session::{RunningSession, event_key};
use serde_json::Value;
use utoipa_axum::routes;
use uuid::Uuid;

use super::{Sender, Visibility, approvals, events, handoff, inspect, messages, run_event, sign_in};
use crate::api::assistant::body::{ObjectBody, ObjectRefusals};
use crate::api::assistant::kind_routes::{DocumentPath, SessionPath, for_kind};
use crate::api::assistant::{document, parse_version_number};
use crate::api::host::Host;
use crate::api::routes::Routes;

/// Authors see debug information.
pub const DEBUG_VISIBILITY: Visibility = Visibility { debug: true };

/// Adds the routes of the sessions of a kind.
pub fn add_all(routes: Routes, kind: DocumentKind) -> Routes {
    routes
        .add_admin(for_kind(kind, routes!(start)))
        .add_admin(for_kind(kind, routes!(turn)))
        .add_admin(for_kind(kind, routes!(inspect::state)))
        .add_admin(for_kind(kind, routes!(inspect::trace)))
        .add_admin(for_kind(kind, routes!(inspect::replay)))
}

/// Adds the routes of sessions that a person or a client other than the author takes part in.
pub fn add_participants(routes: Routes, kind: DocumentKind) -> Routes {
    routes
        .add_admin(for_kind(kind, routes!(messages::of_simulator)))
        .add_admin(for_kind(kind, routes!(handoff::status)))
        .add_admin(for_kind(kind, routes!(handoff::message)))
        .add_admin(for_kind(kind, routes!(approvals::decide)))
}

/// Starts a session with the draft or a version.
#[utoipa::path(
    post,
    path = "/v1/runtime/{programs}/{document}/sessions",
    tag = "documents",
    params(("stream" = Option<String>, Query, description = "`true` for live events, `ui` for a UI message stream")),
    request_body = ref("#/components/schemas/NewSession"),
    responses(
        ObjectRefusals,
        (status = 201, description = "The session has started", body = ref("#/components/schemas/TurnResponse")),
        (status = 404, description = "Document or version not found"),
        (status = 409, description = "The session id already exists"),
        (status = 422, description = "A member of the body is invalid, or the document runs too many others"),
    ),
)]
pub async fn start(
    State(host): State<Arc<Host>>,
    path: Result<DocumentPath, ApiError>,
    sender: Sender,
    ObjectBody(members): ObjectBody,
) -> Result<Response, ApiError> {
    let (program, members) = (path?.key()?, members?);
    let identity = sender.identify(&members).await?;
    let mut event = events::read_start(&members, None, identity)?;
    let (document, version) = load_requested_document(&host.content, &program, members.get("version")).await?;
    if let Some(trigger) = members.get("trigger").filter(|trigger| !trigger.is_null() && program.kind() == DocumentKind::Workflow) {
        check_trigger(&document.document, trigger)?;
        event.insert("trigger".to_owned(), trigger.clone());
    }
    let session = choose_session_id(&host.content, &members).await?;
    let access = sender.caller.access();
    let running = begin_session(&host.content, SessionStart { session, program, deployment: None, version, document, access }).await?;
    run_event(&host.turns, &sender, &running, event, DEBUG_VISIBILITY, StatusCode::CREATED).await
}

/// Sends an event of any type to a session, such as the decision about a pending call.
#[utoipa::path(
    post,
    path = "/v1/runtime/{sessions}/{session}/turns",
    tag = "documents",
    params(("stream" = Option<String>, Query, description = "`true` for live events, `ui` for a UI message stream")),
    request_body = ref("#/components/schemas/TurnEvent"),
    responses(
        ObjectRefusals,
        (status = 200, description = "The response of the document", body = ref("#/components/schemas/TurnResponse")),
        (status = 404, description = "Session not found"),
        (status = 409, description = "The session has ended"),
        (status = 422, description = "The event is invalid"),
        (status = 503, description = "The session or the database is busy; see Retry-After"),
    ),
)]
pub async fn turn(
    State(host): State<Arc<Host>>,
    path: Result<SessionPath, ApiError>,
    sender: Sender,
    ObjectBody(members): ObjectBody,
) -> Result<Response, ApiError> {
    let (_, running) = path?.load(&host.content).await?;
    let members = members?;
    let user = sender.verify_user(&members).await?;
    let mut event = events::read_event(&host.content, members, false)?;
    sign_in(&host.content, &running.session, user, &mut event).await?;
    run_event(&host.turns, &sender, &running, event, DEBUG_VISIBILITY, StatusCode::OK).await
}

/// Checks that a workflow has a trigger with an id.
fn check_trigger(document: &Value, id: &Value) -> Result<(), ApiError> {
    let mut nodes = document.get("nodes").and_then(Value::as_array).into_iter().flatten();
    if nodes.any(|node| node.get("id") == Some(id) && node.get("type").is_some_and(|it| it == "trigger")) {
        return Ok(());
    }
    let message = "trigger is not the id of a trigger of the workflow; send one or omit it";
    Err(ApiError::unprocessable(message).with_code("invalid_session"))
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
pub async fn begin_session(content: &Content, beginning: SessionStart) -> Result<RunningSession, ApiError> {
    let SessionStart { session, program, deployment, version, document, access } = beginning;
    let message = "document is invalid; save a valid one";
    let unreadable = || ApiError::unprocessable(message).with_code("invalid_document");
    let SessionDocument { document, version: id } = document;
    let config = match id.as_ref().and_then(|it| content.versions.find_config(it)) {
        Some(config) => config,
        None => {
            let document = Arc::unwrap_or_clone(document);
            let mut bundle = resolve_bundle(&content.readers, &program, document).await?;
            mcp_tools::complete(&mut bundle, &content.config_manager.active().mcp);
            let compiled = content.flows.compile_and_store(content, bundle).await?;
            let config = compiled.ok_or_else(unreadable)?;
            id.iter().for_each(|it| content.versions.keep_config(it, &config));
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
    content: &Content,
    program: &ProgramKey,
    requested: Option<&Value>,
) -> Result<(SessionDocument, Option<i64>), ApiError> {
    match requested.filter(|it| !it.is_null()) {
        None => {
            let draft = document::find_draft(content, program).await?;
            Ok((SessionDocument::from_draft(parse_document(&draft.document)?), None))
        }
        Some(requested) => {
            let unknown = || document::version_not_found(program.kind());
            let found = draft::find_assistant(&content.readers, program.as_str()).await?;
            found.ok_or_else(|| document::document_not_found(program.kind()))?;
            let number = parse_version_number(&requested.to_string()).ok_or_else(unknown)?;
            let document = content.versions.load(&content.readers, program, number).await?;
            Ok((document.ok_or_else(unknown)?, Some(number)))
        }
    }
}

/// Parses a stored document.
///
/// # Errors
/// 500 if the stored document is not valid JSON.
pub fn parse_document(text: &str) -> Result<Value, ApiError> {
    serde_json::from_str(text).map_err(|error| {
        tracing::error!(%error, "cannot parse a stored document");
        ApiError::internal("stored document is invalid; save it again")
    })
}

/// Returns the requested session id, or a new one.
async fn choose_session_id(content: &Content, members: &Map) -> Result<String, ApiError> {
    let Some(requested) = members.get("session_id").filter(|it| !it.is_null()) else { return Ok(Uuid::new_v4().to_string()) };
    let refuse = || ApiError::unprocessable("session_id is not a UUID; send a UUID or omit it").with_code("invalid_session");
    let id = requested.as_str().and_then(|text| Uuid::try_parse(text).ok()).ok_or_else(refuse)?.to_string();
    let key = members.get("event_id").and_then(Value::as_str).map(|it| event_key(&id, it));
    let found = storage::assistant::session::load(&content.readers, &id, key.as_deref()).await?;
    // Clients without a response retry with the same event id. Pipeline conversations share the id space.
    if !found.is_duplicate && (found.has_open_turn || found.session.turns > 0) {
        let message = "session id already exists; choose another id or omit it";
        return Err(ApiError::conflict(message).with_code("session_exists"));
    }
    Ok(id)
}
