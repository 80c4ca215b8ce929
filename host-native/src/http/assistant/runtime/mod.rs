//! `/v1/runtime` and `/v1/public/runtime`: sessions of assistants and what happens to them. (`convoship-http.md` 4)

pub mod approvals;
pub mod events;
pub mod look;
pub mod public;
pub mod simulator;
pub mod stream;
mod told;

use std::sync::Arc;

use axum::http::{HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use convengine_core::turn::Map;
use serde_json::{Value, json};

use crate::assistant::run::Running;
use crate::drive::{Answered, Host, Refusal};
use crate::http::error::ApiError;
use crate::store::assistant::session::{self, Session};

/// Says that an event was answered before.
const REPLAYED: HeaderName = HeaderName::from_static("x-replayed");

/// What a caller may see of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sees {
    /// How the answer came about.
    pub debug: bool,
}

/// The session that a path names, with what it runs on.
///
/// # Errors
/// A refusal when there is none, or when the database cannot be read.
pub async fn session_of(host: &Host, uri: &Uri, id: &str) -> Result<(Session, Running), ApiError> {
    let unknown = || ApiError::new(StatusCode::NOT_FOUND, uri, "there is no such session: start one");
    let id = uuid::Uuid::try_parse(id).map_err(|_| unknown())?.to_string();
    let database = |error: sqlx::Error| ApiError::of_database(&error, uri);
    let stored = session::find(&host.readers, &id).await.map_err(database)?.ok_or_else(unknown)?;
    let running = Running::of(host, &id, &stored).await.map_err(database)?;
    Ok((stored, running))
}

/// Runs the turn of an event and answers it.
///
/// # Errors
/// A refusal; the session is then as it was before.
pub async fn heard(
    host: &Arc<Host>,
    uri: &Uri,
    running: &Running,
    event: Map,
    sees: Sees,
    status: StatusCode,
) -> Result<Response, ApiError> {
    if let Some(form) = stream::form(uri)? {
        let mut told = stream::told(host, uri, running, event, sees, form).await?;
        *told.status_mut() = status;
        return Ok(told);
    }
    let answered = running.hears(host, event).await.map_err(|it| refused(&it, uri, &running.session))?;
    answer(answered, uri, sees, status)
}

/// What a client gets of an event that was not taken.
pub fn refused(refusal: &Refusal, uri: &Uri, session: &str) -> ApiError {
    let refused = ApiError::of_refusal(refusal, uri);
    if matches!(refusal, Refusal::Closed) { refused.telling(json!({"session_id": session})) } else { refused }
}

/// The answer of a turn.
fn answer(answered: Answered, uri: &Uri, sees: Sees, status: StatusCode) -> Result<Response, ApiError> {
    let Answered { outcome, again } = answered;
    let Some(shown) = outcome.flow.and_then(|it| shown(*it, sees)) else {
        let message = "the turn was lost when a server stopped: send the event again, under another event_id";
        return Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, uri, message).coded("turn_lost"));
    };
    let mut response = (status, axum::Json(shown)).into_response();
    if again {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// The answer as its reader may see it.
pub fn shown(mut answer: Value, sees: Sees) -> Option<Value> {
    let members = answer.as_object_mut()?;
    if !sees.debug {
        members.shift_remove("debug");
    }
    Some(answer)
}
