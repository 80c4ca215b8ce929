//! The responses to messages whose turn is refused.

use axum::http::{StatusCode, Uri};
pub use convengine_access::api_error::{ASSISTANTS_PREFIX, ApiError, RETRY_AFTER, method_not_allowed, no_route, not_found};

use crate::runtime::assistant::plan;
use crate::runtime::turn_runner::Refusal;
use crate::runtime::writer::CommitError;

/// Returns the response to a message whose turn is refused; details are logged.
pub fn refusal_error(refusal: &Refusal, uri: &Uri) -> ApiError {
    let unavailable = |message: &str| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, uri, message);
    match refusal {
        Refusal::Busy(busy) => unavailable(&busy.to_string()),
        Refusal::Run(refusal) => {
            let status = if ["invalid_decision", "invalid_fields", "text_required"].contains(&&*refusal.code) {
                StatusCode::UNPROCESSABLE_ENTITY
            } else {
                StatusCode::CONFLICT
            };
            ApiError::new(status, uri, refusal.message.clone()).with_code(refusal.code.clone()).with_details(refusal.details.clone())
        }
        Refusal::StaleTimer => unavailable(&refusal.to_string()),
        Refusal::Unreachable(reason) => {
            tracing::error!(reason, "a turn cannot be run");
            unavailable("the runtime of turns cannot be reached; try again")
        }
        Refusal::ForeignConversation => ApiError::new(StatusCode::NOT_FOUND, uri, refusal.to_string()),
        Refusal::SessionEnded => ApiError::new(StatusCode::CONFLICT, uri, refusal.to_string()).with_code("session_completed"),
        Refusal::SessionExists => ApiError::new(StatusCode::CONFLICT, uri, refusal.to_string()).with_code("session_exists"),
        Refusal::QuotaExceeded(limit) => plan::quota_exceeded_error(refusal.to_string(), "sessions", *limit, uri),
        Refusal::EventIdReused => ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, uri, refusal.to_string()).with_code("event_id_reused"),
        Refusal::KeyReused => ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, uri, refusal.to_string()),
        Refusal::Commit(CommitError::Conflict | CommitError::SameMessage | CommitError::TakenOver) => {
            unavailable("conversation was changed concurrently; send the message again")
        }
        Refusal::Load(error) => {
            tracing::error!(%error, "cannot load a conversation");
            unavailable("database is unavailable; send the message again later")
        }
        Refusal::Commit(CommitError::Unavailable(_)) => {
            unavailable("database did not store the turn; send the message again later with the same Idempotency-Key, if any")
        }
        Refusal::Internal(error) | Refusal::Commit(CommitError::Rejected(error)) => {
            tracing::error!(error, "turn failed");
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, uri, "internal server error; report it with the X-Request-Id of this response")
        }
    }
}
