//! `/v1/runtime` and `/v1/public`: sessions of assistants, workflows and AI agents, and their turns (docs/spec/flows-http.md#4,
//! docs/spec/workflows-http.md#3).

pub mod ai_agents;
pub mod approvals;
pub mod events;
pub mod handoff;
pub mod inspect;
pub mod messages;
pub mod public;
pub mod simulator;
pub mod stream;
pub mod trace_events;
pub mod transcript;

use std::sync::Arc;

use axum::Extension;
use axum::extract::FromRequestParts;
use axum::extract::rejection::ExtensionRejection;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use convengine_core::turn::Map;
use convengine_host_base::event_members::IDENTITY;
use serde_json::{Value, json};

use convengine_access::api_error::ApiError;
use convengine_access::caller::Caller;
use convengine_access::identity::{Identity, UserVerifier};
use convengine_content::Content;
use convengine_content::plan;
use convengine_storage::assistant::session::{self, Session};
use convengine_turns::Turns;
use convengine_turns::message::SubmitResult;
use convengine_turns::refusal::Refusal;
use convengine_turns::running_session::{RunningSession, event_key};

/// Marks the repeated response to an event that was already handled.
const REPLAYED: HeaderName = HeaderName::from_static("x-replayed");

/// What a caller may see of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visibility {
    /// Whether debug information is included.
    pub debug: bool,
}

/// Loads the session of a path with the document it runs on.
///
/// # Errors
/// 404 if there is no such session, 503 if the database is unavailable.
pub async fn load_session(content: &Content, id: &str) -> Result<(Session, RunningSession), ApiError> {
    let unknown = || ApiError::not_found("session not found; start a new one");
    let id = uuid::Uuid::try_parse(id).map_err(|_| unknown())?.to_string();
    let stored = session::find(&content.readers, &id).await?.ok_or_else(unknown)?;
    let running = RunningSession::from_stored(content, &id, &stored).await?;
    Ok((stored, running))
}

/// The caller of a session, and how its users are verified.
#[derive(Debug)]
pub struct Sender {
    caller: Caller,
    users: UserVerifier,
    uri: Uri,
}

impl Sender {
    /// Identifies the user of a new session by the caller and the members of the request.
    ///
    /// # Errors
    /// As [`UserVerifier::identify`].
    pub async fn identify(&self, members: &Map) -> Result<Identity, ApiError> {
        self.users.identify(&self.uri, &self.caller, members).await
    }

    /// Verifies the token of the user among the members of the request, if any.
    ///
    /// # Errors
    /// As [`UserVerifier::verify_member`].
    pub async fn verify_user(&self, members: &Map) -> Result<Option<Value>, ApiError> {
        self.users.verify_member(&self.uri, members).await
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Sender {
    type Rejection = ExtensionRejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ExtensionRejection> {
        let Extension(caller) = Extension::from_request_parts(parts, state).await?;
        let Extension(users) = Extension::from_request_parts(parts, state).await?;
        Ok(Sender { caller, users, uri: parts.uri.clone() })
    }
}

/// Runs the turn of an event and returns its response, as a stream if the query of the request wants one.
///
/// # Errors
/// A refusal, which leaves the session unchanged.
pub async fn run_event(
    turns: &Arc<Turns>,
    sender: &Sender,
    running: &RunningSession,
    event: Map,
    sees: Visibility,
    status: StatusCode,
) -> Result<Response, ApiError> {
    let mut answer = answer_event(turns, sender, running, event, sees, status).await;
    if running.is_metered() {
        plan::write_headers(plan::find_session_quota(&turns.content).await, &mut answer);
    }
    answer
}

async fn answer_event(
    turns: &Arc<Turns>,
    sender: &Sender,
    running: &RunningSession,
    event: Map,
    sees: Visibility,
    status: StatusCode,
) -> Result<Response, ApiError> {
    if let Some(form) = stream::requested_format(&sender.uri)? {
        let mut streamed = stream::stream_turn(turns, running, event, sees, form).await?;
        *streamed.status_mut() = status;
        return Ok(streamed);
    }
    let answered = running.submit_event(turns, event).await.map_err(|it| refuse(it, &running.session))?;
    to_response(answered, sees, status)
}

/// Adds to an event of a session the user that its request has proven, if any.
///
/// # Errors
/// 409 `user_mismatch` if the session is another user's, 503 if the database is unavailable.
pub async fn sign_in(content: &Content, session: &str, user: Option<Value>, event: &mut Map) -> Result<(), ApiError> {
    let Some(user) = user else { return Ok(()) };
    let stored = session::find(&content.readers, session).await?;
    let known = stored.as_ref().and_then(|it| it.state.get("user"));
    // Earlier versions stored a user as a text where a rule of redaction named `user`: whose it was is not known any more.
    let is_lost = known.is_some_and(Value::is_string);
    if is_lost || known.and_then(|it| it.get("id")).is_some_and(|id| Some(id) != user.get("id")) {
        let message = "session is another user's; start a new one for this user";
        return Err(ApiError::conflict(message).with_code("user_mismatch"));
    }
    event.insert(IDENTITY.to_owned(), json!({"user": user}));
    Ok(())
}

/// Converts the refusal of an event into an API error.
pub fn refuse(refusal: Refusal, session: &str) -> ApiError {
    let has_ended = matches!(refusal, Refusal::SessionEnded);
    let refused = ApiError::from(refusal);
    if has_ended { refused.with_details(json!({"session_id": session})) } else { refused }
}

/// Whether the session already has a turn with the event id of these members.
///
/// # Errors
/// 503 if the database is unavailable.
async fn is_already_sent(content: &Content, session: &str, members: &Map) -> Result<bool, ApiError> {
    let Some(key) = members.get("event_id").and_then(Value::as_str).map(|it| event_key(session, it)) else { return Ok(false) };
    Ok(session::load(&content.readers, session, Some(&key)).await?.is_duplicate)
}

/// Builds the response of a turn.
fn to_response(answered: SubmitResult, sees: Visibility, status: StatusCode) -> Result<Response, ApiError> {
    let SubmitResult { outcome, is_repeat: again } = answered;
    let Some(shown) = outcome.flow.and_then(|it| filter_answer(*it, sees)) else {
        let message = "turn was lost when a server stopped; send the event again with a new event_id";
        return Err(ApiError::internal(message).with_code("turn_lost"));
    };
    let mut response = (status, axum::Json(shown)).into_response();
    if again {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// Removes from an answer what the caller may not see.
pub fn filter_answer(mut answer: Value, sees: Visibility) -> Option<Value> {
    let members = answer.as_object_mut()?;
    if !sees.debug {
        members.shift_remove("debug");
    }
    Some(answer)
}
