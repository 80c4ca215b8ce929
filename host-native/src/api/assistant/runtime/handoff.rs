//! `…/handoff`: what a desk reports about a session that a person has, or should have (docs/spec/flows.md#4.9).

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use convengine_access::api_error::ApiError;
use convengine_core::turn::Map;
use convengine_storage::assistant::session;
use convengine_turns::Turns;
use convengine_turns::message::SubmitResult;
use convengine_turns::running_session::RunningSession;
use serde_json::{Value, json};

use super::simulator::DEBUG_VISIBILITY;
use super::{events, is_already_sent, refuse, to_response};
use crate::api::assistant::body::{ObjectBody, ObjectRefusals};
use crate::api::assistant::kind_routes::SessionPath;
use crate::api::host::Host;

/// Maximum characters of a text for the user.
pub const MAX_TEXT_CHARS: usize = 8000;

/// Maximum characters of an author's name.
pub const MAX_AUTHOR_CHARS: usize = 200;

/// The warning of a turn that found nothing handed off.
const LATE: &str = "handoff.late";

/// The warning of a turn that found another person.
const TAKEN: &str = "handoff.taken";

/// Reports the status of a handoff.
#[utoipa::path(
    post,
    path = "/v1/runtime/{sessions}/{session}/handoff/status",
    tag = "documents",
    request_body = ref("#/components/schemas/HandoffStatus"),
    responses(
        ObjectRefusals,
        (status = 200, description = "The response of the document", body = ref("#/components/schemas/TurnResponse")),
        (status = 404, description = "Session not found"),
        (status = 409, description = "The session has ended, is not handed off, or another person has it"),
        (status = 413, description = "The request body or the message is too large"),
        (status = 422, description = "The status is invalid"),
        (status = 503, description = "The session or the database is busy; see Retry-After"),
    ),
)]
pub async fn status(
    State(host): State<Arc<Host>>,
    path: Result<SessionPath, ApiError>,
    ObjectBody(members): ObjectBody,
) -> Result<Response, ApiError> {
    report(&host.turns, &path?, "handoff.status", members).await
}

/// Sends a message of a person to the user.
#[utoipa::path(
    post,
    path = "/v1/runtime/{sessions}/{session}/handoff/messages",
    tag = "documents",
    request_body = ref("#/components/schemas/HandoffMessage"),
    responses(
        ObjectRefusals,
        (status = 200, description = "The response of the document", body = ref("#/components/schemas/TurnResponse")),
        (status = 404, description = "Session not found"),
        (status = 409, description = "The session has ended or is not handed off"),
        (status = 413, description = "The request body or the text is too large"),
        (status = 422, description = "The message is invalid"),
        (status = 503, description = "The session or the database is busy; see Retry-After"),
    ),
)]
pub async fn message(
    State(host): State<Arc<Host>>,
    path: Result<SessionPath, ApiError>,
    ObjectBody(members): ObjectBody,
) -> Result<Response, ApiError> {
    report(&host.turns, &path?, "handoff.message", members).await
}

/// Runs an event of a desk as a turn and returns its response.
async fn report(turns: &Arc<Turns>, path: &SessionPath, kind: &str, members: Result<Map, ApiError>) -> Result<Response, ApiError> {
    let (_, running) = path.load(&turns.content).await?;
    let answered = run_desk_event(turns, &running, kind, members?).await?;
    to_response(answered, DEBUG_VISIBILITY, StatusCode::OK)
}

/// Runs an event of a desk as a turn.
///
/// # Errors
/// 409 `not_handed_off` or `handoff_taken` if the event comes too late, and the refusals of any turn. The session is then unchanged.
pub async fn run_desk_event(turns: &Arc<Turns>, running: &RunningSession, kind: &str, mut members: Map) -> Result<SubmitResult, ApiError> {
    members.insert("type".to_owned(), json!(kind));
    let event = check_members(events::read_event(&turns.content, members, false)?)?;
    let stored = session::find(&turns.readers, &running.session).await?;
    // An ended session is reported by the turn itself, and a repeated event returns its first response.
    let is_active = stored.is_some_and(|it| it.status == "active");
    if is_active && !is_already_sent(&turns.content, &running.session, &event).await? {
        return Err(not_handed_off());
    }
    let answered = running.submit_event(turns, event).await.map_err(|it| refuse(it, &running.session))?;
    // The session may have changed since it was read: the turn decides.
    match answered.outcome.flow.as_deref() {
        Some(answer) if has_warning(answer, LATE) => Err(not_handed_off()),
        Some(answer) if has_warning(answer, TAKEN) => Err(taken(answer.pointer("/handoff/author"))),
        Some(_) | None => Ok(answered),
    }
}

fn check_members(event: Map) -> Result<Map, ApiError> {
    let text = |key: &str| event.get(key).and_then(Value::as_str);
    let is_longer = |it: &str, most: usize| it.chars().nth(most).is_some();
    if ["text", "message"].iter().filter_map(|it| text(it)).any(|it| is_longer(it, MAX_TEXT_CHARS)) {
        let message = format!("text is too long; send at most {MAX_TEXT_CHARS} characters");
        return Err(ApiError::too_large(message).with_code("text_too_long"));
    }
    let refuse = |reason: String| Err(ApiError::unprocessable(reason).with_code("invalid_event"));
    if text("text").is_some_and(|value| value.trim().is_empty()) {
        return refuse("text is blank; send what the user should read".to_owned());
    }
    if text("author").is_some_and(|author| author.trim().is_empty() || is_longer(author, MAX_AUTHOR_CHARS)) {
        return refuse(format!("author is not a name; send 1 to {MAX_AUTHOR_CHARS} characters or omit it"));
    }
    Ok(event)
}

fn has_warning(answer: &Value, code: &str) -> bool {
    answer.pointer("/debug/warnings").and_then(Value::as_array).is_some_and(|warnings| warnings.iter().any(|it| it == code))
}

fn not_handed_off() -> ApiError {
    let message = "session is not handed off; it was returned or not accepted in time";
    ApiError::conflict(message).with_code("not_handed_off")
}

/// Builds the error for a conversation that another person has.
pub fn taken(author: Option<&Value>) -> ApiError {
    let message = "another person has the conversation; choose another one";
    ApiError::conflict(message).with_code("handoff_taken").with_details(json!({"author": author}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_names_have_limits() {
        let check = |event: Value| check_members(event.as_object().cloned().unwrap_or_default());
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
