//! `/v1/public/runtime/sessions`: sessions of assistants and workflows for the pages of a deployment.

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

use super::simulator::{SessionStart, begin_session};
use super::{Visibility, events, load_session, run_event, sign_in};
use crate::api::assistant::{body, document};
use crate::api::error::{ApiError, not_found};
use crate::auth::caller::Caller;
use crate::auth::identity::UserVerifier;
use crate::runtime::turn_runner::Host;
use crate::storage::assistant::deployment::Deployment;
use crate::storage::assistant::session::Session;

/// Starts a session with the live version.
#[utoipa::path(
    post,
    path = "/v1/public/runtime/sessions",
    tag = "assistants",
    params(
        ("X-Debug" = Option<String>, Header, description = "`1` to include debug information, if the deployment allows it"),
        ("stream" = Option<String>, Query, description = "`true` for live events, `ui` for a UI message stream"),
    ),
    request_body = ref("#/components/schemas/NewSession"),
    responses(
        (status = 201, description = "The session has started", body = ref("#/components/schemas/TurnResponse")),
        (status = 400, description = "The body is not valid JSON"),
        (status = 401, description = "The token of the deployment or of the user is not accepted"),
        (status = 404, description = "The assistant no longer exists"),
        (status = 408, description = "The request body timed out"),
        (status = 409, description = "The assistant has no published version"),
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
    Extension(deployment): Extension<Arc<Deployment>>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let members = body::read_object(&uri, &headers, body).await?;
    let identity = users.identify(&uri, &caller, &members).await?;
    let event = events::read_start(&uri, &members, Some(&deployment.channel), identity)?;
    let program = deployment.program.clone();
    let (live, document) = document::live_document(&host, &uri, &program).await?;
    check_params(&uri, &document.document, &event)?;
    let beginning = SessionStart {
        session: Uuid::new_v4().to_string(),
        program,
        deployment: Some(deployment.id.clone()),
        version: Some(live),
        document,
        access: caller.access(),
    };
    let running = begin_session(&host, &uri, beginning).await?;
    run_event(&host, &uri, &running, event, visibility(&deployment, &headers), StatusCode::CREATED).await
}

/// Sends a user event to a session.
#[utoipa::path(
    post,
    path = "/v1/public/runtime/sessions/{session}/turns",
    tag = "assistants",
    params(
        ("session" = String, Path, format = "uuid", description = "The session id"),
        ("X-Debug" = Option<String>, Header, description = "`1` to include debug information, if the deployment allows it"),
        ("stream" = Option<String>, Query, description = "`true` for live events, `ui` for a UI message stream"),
    ),
    request_body = ref("#/components/schemas/UserEvent"),
    responses(
        (status = 200, description = "The response of the assistant", body = ref("#/components/schemas/TurnResponse")),
        (status = 400, description = "The body is not valid JSON"),
        (status = 401, description = "The token of the deployment or of the user is not accepted"),
        (status = 403, description = "The event or the origin is not allowed"),
        (status = 404, description = "Session not found in the deployment"),
        (status = 408, description = "The request body timed out"),
        (status = 409, description = "The session has ended, or is another user's"),
        (status = 413, description = "The request body is too large"),
        (status = 415, description = "The Content-Type is not JSON"),
        (status = 422, description = "The event is invalid"),
        (status = 503, description = "The session or the database is busy; see Retry-After"),
    ),
)]
pub async fn turn(
    State(host): State<Arc<Host>>,
    Extension(users): Extension<UserVerifier>,
    Extension(deployment): Extension<Arc<Deployment>>,
    uri: Uri,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let members = body::read_object(&uri, &headers, body).await;
    let Ok(Path(id)) = id else { return Err(not_found(&uri)) };
    let (stored, running) = load_session(&host, &uri, &id).await?;
    check_deployment(&stored, &deployment, &uri)?;
    let members = members?;
    let user = users.verify_member(&uri, &members).await?;
    let mut event = events::read_event(&host, &uri, members, true)?;
    sign_in(&host, &uri, &running.session, user, &mut event).await?;
    run_event(&host, &uri, &running, event, visibility(&deployment, &headers), StatusCode::OK).await
}

/// Checks that a page sets only variables that the document declares as inputs.
fn check_params(uri: &Uri, document: &Value, event: &Map) -> Result<(), ApiError> {
    // Workflows name their variables differently.
    let list = |name: &str| document.get(name).and_then(Value::as_array).into_iter().flatten();
    let is_set = |it: &Value, member: &str| it.get(member).is_some_and(|it| it == true);
    let variables = || list("variables").chain(list("shared_state"));
    let names_with =
        |member: &str| -> Vec<&str> { variables().filter(|it| is_set(it, member)).filter_map(|it| it.get("name")?.as_str()).collect() };
    let redacted = names_with("redact");
    let inputs = names_with("input").into_iter().chain(list("inputs").filter_map(Value::as_str));
    let declared: Vec<&str> = inputs.filter(|it| !redacted.contains(it) && !it.starts_with('_')).collect();
    let params = event.get("params").and_then(Value::as_object).into_iter().flatten();
    let unknown: Vec<&str> = params.map(|it| it.0.as_str()).filter(|it| !declared.contains(it)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let names = unknown.join("', '");
    let message = format!(
        "variables that are not inputs of the document: '{names}'; omit them, or declare each in \"inputs\" or with \"input\": true"
    );
    Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, uri, message).with_code("unknown_param"))
}

/// Checks that a session belongs to a deployment.
///
/// # Errors
/// 404 for a session of another deployment.
pub fn check_deployment(stored: &Session, deployment: &Deployment, uri: &Uri) -> Result<(), ApiError> {
    if stored.deployment.as_ref() == Some(&deployment.id) {
        return Ok(());
    }
    Err(ApiError::new(StatusCode::NOT_FOUND, uri, "session not found; start a new one"))
}

fn visibility(deployment: &Deployment, headers: &HeaderMap) -> Visibility {
    Visibility { debug: deployment.debug && headers.get("x-debug").is_some_and(|it| it == "1") }
}
