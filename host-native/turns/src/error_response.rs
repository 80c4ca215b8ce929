//! The responses to requests whose turn is refused.

use axum::http::StatusCode;
use convengine_access::api_error::ApiError;
use convengine_content::plan;
use convengine_core::chain::RunRefusal;

use crate::refusal::Refusal;
use crate::writer::CommitError;

/// Converts a refused turn, and logs the details.
impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Busy(busy) => ApiError::unavailable(busy.to_string()),
            Refusal::Run(refusal) => {
                let RunRefusal { code, message, details } = *refusal;
                let status = if ["invalid_decision", "invalid_fields", "text_required"].contains(&&*code) {
                    StatusCode::UNPROCESSABLE_ENTITY
                } else {
                    StatusCode::CONFLICT
                };
                ApiError::with_status(status, message).with_code(code).with_details(details)
            }
            Refusal::StaleTimer => ApiError::unavailable(refusal.to_string()),
            Refusal::Unreachable(reason) => {
                tracing::error!(reason, "a turn cannot be run");
                ApiError::unavailable("the runtime of turns cannot be reached; try again")
            }
            Refusal::ForeignConversation => ApiError::not_found(refusal.to_string()),
            Refusal::SessionEnded => ApiError::conflict(refusal.to_string()).with_code("session_completed"),
            Refusal::SessionExists => ApiError::conflict(refusal.to_string()).with_code("session_exists"),
            Refusal::QuotaExceeded(limit) => plan::quota_exceeded_error(refusal.to_string(), "sessions", limit),
            Refusal::EventIdReused => ApiError::unprocessable(refusal.to_string()).with_code("event_id_reused"),
            Refusal::KeyReused => ApiError::unprocessable(refusal.to_string()),
            Refusal::Commit(CommitError::Conflict | CommitError::SameMessage | CommitError::TakenOver) => {
                ApiError::unavailable("conversation was changed concurrently; send the message again")
            }
            Refusal::Load(error) => {
                tracing::error!(%error, "cannot load a conversation");
                ApiError::unavailable("database is unavailable; send the message again later")
            }
            Refusal::Commit(CommitError::Unavailable(_)) => {
                ApiError::unavailable("database did not store the turn; send the message again later with the same Idempotency-Key, if any")
            }
            Refusal::Internal(error) | Refusal::Commit(CommitError::Rejected(error)) => {
                tracing::error!(error, "turn failed");
                ApiError::internal("internal server error; report it with the X-Request-Id of this response")
            }
        }
    }
}
