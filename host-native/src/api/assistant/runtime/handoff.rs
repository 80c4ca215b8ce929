//! `…/handoff`: what a desk reports about a session that a person has, or should have (docs/spec/flows.md#4.9).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use convengine_core::turn::Map;
use serde_json::{Value, json};

use super::{Visibility, events, is_already_sent, refuse, simulator, to_response};
use crate::api::assistant::body;
use crate::api::error::ApiError;
use crate::runtime::assistant::run::RunningSession;
use crate::runtime::turn_runner::{Host, SubmitResult};
use crate::storage::assistant::session;

/// Maximum characters of a text for the user.
pub const MAX_TEXT_CHARS: usize = 8000;

/// Maximum characters of an author's name.
pub const MAX_AUTHOR_CHARS: usize = 200;

/// Administrators see debug information.
const DEBUG_VISIBILITY: Visibility = Visibility { debug: true };

/// The warning of a turn that found nothing handed off.
const LATE: &str = "handoff.late";

/// The warning of a turn that found another person.
const TAKEN: &str = "handoff.taken";

/// Reports the status of a handoff.
#[utoipa::path(
    post,
    path = "/v1/runtime/assistants/{agent}/sessions/{session}/handoff/status",
    tag = "assistants",
    params(
        ("agent" = String, Path, description = "The assistant id"),
        ("session" = String, Path, format = "uuid", description = "The session id"),
    ),
    request_body = ref("#/components/schemas/HandoffStatus"),
    responses(
        (status = 200, description = "The response of the assistant", body = ref("#/components/schemas/TurnResponse")),
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
pub async fn status(
    State(host): State<Arc<Host>>,
    uri: Uri,
    path: Result<Path<(String, String)>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let members = body::read_object(&uri, &headers, body).await;
    let running = simulator::load_running(&host, &uri, path).await?;
    report(&host, &uri, &running, "handoff.status", members?).await
}

/// Sends a message of a person to the user.
#[utoipa::path(
    post,
    path = "/v1/runtime/assistants/{agent}/sessions/{session}/handoff/messages",
    tag = "assistants",
    params(
        ("agent" = String, Path, description = "The assistant id"),
        ("session" = String, Path, format = "uuid", description = "The session id"),
    ),
    request_body = ref("#/components/schemas/HandoffMessage"),
    responses(
        (status = 200, description = "The response of the assistant", body = ref("#/components/schemas/TurnResponse")),
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
pub async fn message(
    State(host): State<Arc<Host>>,
    uri: Uri,
    path: Result<Path<(String, String)>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let members = body::read_object(&uri, &headers, body).await;
    let running = simulator::load_running(&host, &uri, path).await?;
    report(&host, &uri, &running, "handoff.message", members?).await
}

/// Runs an event of a desk as a turn and returns its response.
///
/// # Errors
/// As [`run_desk_event`].
pub async fn report(host: &Arc<Host>, uri: &Uri, running: &RunningSession, kind: &str, members: Map) -> Result<Response, ApiError> {
    let answered = run_desk_event(host, uri, running, kind, members).await?;
    to_response(answered, uri, DEBUG_VISIBILITY, StatusCode::OK)
}

/// Runs an event of a desk as a turn.
///
/// # Errors
/// 409 `not_handed_off` or `handoff_taken` if the event comes too late, and the refusals of any turn. The session is then unchanged.
pub async fn run_desk_event(
    host: &Arc<Host>,
    uri: &Uri,
    running: &RunningSession,
    kind: &str,
    mut members: Map,
) -> Result<SubmitResult, ApiError> {
    members.insert("type".to_owned(), json!(kind));
    let event = check_members(uri, events::read_event(host, uri, members, false)?)?;
    let stored = session::find(&host.readers, &running.session).await.map_err(|it| ApiError::from_database(&it, uri))?;
    // An ended session is reported by the turn itself, and a repeated event returns its first response.
    let is_active = stored.is_some_and(|it| it.status == "active");
    if is_active && !is_already_sent(host, uri, &running.session, &event).await? {
        return Err(not_handed_off(uri));
    }
    let answered = running.submit_event(host, event).await.map_err(|it| refuse(&it, uri, &running.session))?;
    // The session may have changed since it was read: the turn decides.
    match answered.outcome.flow.as_deref() {
        Some(answer) if has_warning(answer, LATE) => Err(not_handed_off(uri)),
        Some(answer) if has_warning(answer, TAKEN) => Err(taken(uri, answer.pointer("/handoff/author"))),
        Some(_) | None => Ok(answered),
    }
}

fn check_members(uri: &Uri, event: Map) -> Result<Map, ApiError> {
    let text = |key: &str| event.get(key).and_then(Value::as_str);
    let is_longer = |it: &str, most: usize| it.chars().nth(most).is_some();
    if ["text", "message"].iter().filter_map(|it| text(it)).any(|it| is_longer(it, MAX_TEXT_CHARS)) {
        let message = format!("text is too long; send at most {MAX_TEXT_CHARS} characters");
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, uri, message).with_code("text_too_long"));
    }
    let refuse = |reason: String| Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, uri, reason).with_code("invalid_event"));
    if text("text").is_some_and(|it| it.trim().is_empty()) {
        return refuse("text is blank; send what the user should read".to_owned());
    }
    if text("author").is_some_and(|it| it.trim().is_empty() || is_longer(it, MAX_AUTHOR_CHARS)) {
        return refuse(format!("author is not a name; send 1 to {MAX_AUTHOR_CHARS} characters or omit it"));
    }
    Ok(event)
}

fn has_warning(answer: &Value, code: &str) -> bool {
    answer.pointer("/debug/warnings").and_then(Value::as_array).is_some_and(|it| it.iter().any(|it| it == code))
}

fn not_handed_off(uri: &Uri) -> ApiError {
    let message = "session is not handed off; a person may have returned it or nobody took it in time";
    ApiError::new(StatusCode::CONFLICT, uri, message).with_code("not_handed_off")
}

/// Builds the error for a conversation that another person has.
pub fn taken(uri: &Uri, author: Option<&Value>) -> ApiError {
    let message = "another person has the conversation; choose another one";
    ApiError::new(StatusCode::CONFLICT, uri, message).with_code("handoff_taken").with_details(json!({"author": author}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_names_have_limits() {
        let uri = Uri::from_static("/v1/runtime/assistants/a/sessions/s/handoff/messages");
        let check = |event: Value| check_members(&uri, event.as_object().cloned().unwrap_or_default());
        assert!(check(json!({"text": "x".repeat(8000), "author": "Mia"})).is_ok());
        assert!(check(json!({"state": "completed", "message": ""})).is_ok());
        for (event, code) in [
            (json!({"text": "x".repeat(8001)}), "text_too_long"),
            (json!({"message": "x".repeat(8001)}), "text_too_long"),
            (json!({"text": " \n"}), "invalid_event"),
            (json!({"text": "hi", "author": " "}), "invalid_event"),
            (json!({"text": "hi", "author": "x".repeat(201)}), "invalid_event"),
        ] {
            assert!(check(event.clone()).is_err_and(|it| it.has_code(code)), "{event}");
        }
    }
}
