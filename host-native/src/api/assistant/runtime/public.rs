//! `/v1/public/runtime/sessions`: sessions of assistants and workflows for the pages of a deployment.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use convengine_access::api_error::ApiError;
use convengine_core::turn::Map;
use convengine_storage::assistant::deployment::Deployment;
use convengine_storage::assistant::session::Session;
use serde_json::Value;
use uuid::Uuid;

use super::simulator::{SessionStart, begin_session};
use super::{Sender, Visibility, events, load_session, run_event, sign_in};
use crate::api::assistant::body::{ObjectBody, ObjectRefusals};
use crate::api::assistant::document;
use crate::api::host::Host;
use crate::api::query::PathParams;

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
        ObjectRefusals,
        (status = 201, description = "The session has started", body = ref("#/components/schemas/TurnResponse")),
        (status = 401, description = "The token of the deployment or of the user is not accepted"),
        (status = 404, description = "The assistant no longer exists"),
        (status = 409, description = "The assistant has no published version"),
        (status = 422, description = "A member of the body is invalid"),
    ),
)]
pub async fn start(
    State(host): State<Arc<Host>>,
    sender: Sender,
    Extension(deployment): Extension<Arc<Deployment>>,
    headers: HeaderMap,
    ObjectBody(members): ObjectBody,
) -> Result<Response, ApiError> {
    let members = members?;
    let identity = sender.identify(&members).await?;
    let event = events::read_start(&members, Some(&deployment.channel), identity)?;
    let program = deployment.program.clone();
    let (live, document) = document::live_document(&host.content, &program).await?;
    check_params(&document.document, &event)?;
    let beginning = SessionStart {
        session: Uuid::new_v4().to_string(),
        program,
        deployment: Some(deployment.id.clone()),
        version: Some(live),
        document,
        access: sender.caller.access(),
    };
    let running = begin_session(&host.content, beginning).await?;
    run_event(&host.turns, &sender, &running, event, visibility(&deployment, &headers), StatusCode::CREATED).await
}

/// Sends a user event to a session.
#[utoipa::path(
    post,
    path = "/v1/public/runtime/sessions/{session}/turns",
    tag = "assistants",
    params(
        ("X-Debug" = Option<String>, Header, description = "`1` to include debug information, if the deployment allows it"),
        ("stream" = Option<String>, Query, description = "`true` for live events, `ui` for a UI message stream"),
    ),
    request_body = ref("#/components/schemas/UserEvent"),
    responses(
        ObjectRefusals,
        (status = 200, description = "The response of the assistant", body = ref("#/components/schemas/TurnResponse")),
        (status = 401, description = "The token of the deployment or of the user is not accepted"),
        (status = 403, description = "The event or the origin is not allowed"),
        (status = 404, description = "Session not found in the deployment"),
        (status = 409, description = "The session has ended, or is another user's"),
        (status = 422, description = "The event is invalid"),
        (status = 503, description = "The session or the database is busy; see Retry-After"),
    ),
)]
pub async fn turn(
    State(host): State<Arc<Host>>,
    sender: Sender,
    Extension(deployment): Extension<Arc<Deployment>>,
    id: Result<PathParams<String>, ApiError>,
    headers: HeaderMap,
    ObjectBody(members): ObjectBody,
) -> Result<Response, ApiError> {
    let (stored, running) = load_session(&host.content, &id?.0).await?;
    check_deployment(&stored, &deployment)?;
    let members = members?;
    let user = sender.verify_user(&members).await?;
    let mut event = events::read_event(&host.content, members, true)?;
    sign_in(&host.content, &running.session, user, &mut event).await?;
    run_event(&host.turns, &sender, &running, event, visibility(&deployment, &headers), StatusCode::OK).await
}

/// Checks that a page sets only variables that the document declares as inputs.
fn check_params(document: &Value, event: &Map) -> Result<(), ApiError> {
    // Workflows name their variables differently.
    let list = |name: &str| document.get(name).and_then(Value::as_array).into_iter().flatten();
    let is_set = |it: &Value, member: &str| it.get(member).is_some_and(|it| it == true);
    let variables = || list("variables").chain(list("shared_state"));
    let names_with = |member: &str| -> Vec<&str> {
        variables().filter(|it| is_set(it, member)).filter_map(|variable| variable.get("name")?.as_str()).collect()
    };
    let redacted = names_with("redact");
    let inputs = names_with("input").into_iter().chain(list("inputs").filter_map(Value::as_str));
    let declared: Vec<&str> = inputs.filter(|name| !redacted.contains(name) && !name.starts_with('_')).collect();
    let params = event.get("params").and_then(Value::as_object).into_iter().flatten();
    let unknown: Vec<&str> = params.map(|it| it.0.as_str()).filter(|it| !declared.contains(it)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let names = unknown.join("', '");
    let message = format!(
        "variables that are not inputs of the document: '{names}'; omit them, or declare each in \"inputs\" or with \"input\": true"
    );
    Err(ApiError::unprocessable(message).with_code("unknown_param"))
}

/// Checks that a session belongs to a deployment.
///
/// # Errors
/// 404 for a session of another deployment.
pub fn check_deployment(stored: &Session, deployment: &Deployment) -> Result<(), ApiError> {
    if stored.deployment.as_ref() == Some(&deployment.id) {
        return Ok(());
    }
    Err(ApiError::not_found("session not found; start a new one"))
}

fn visibility(deployment: &Deployment, headers: &HeaderMap) -> Visibility {
    Visibility { debug: deployment.debug && headers.get("x-debug").is_some_and(|it| it == "1") }
}
