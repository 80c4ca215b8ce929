//! `/v1`: assistants, their versions, deployments, secrets, knowledge bases and sessions (docs/spec/flows-http.md#1 to docs/spec/flows-http.md#3).

pub mod body;
pub mod deployments;
pub mod desk;
pub mod flow;
pub mod knowledge;
pub mod runtime;
pub mod schemas;
pub mod secrets;
pub mod versions;

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::{StatusCode, Uri};

use super::error::ApiError;
use crate::runtime::assistant::check::is_assistant_id;

/// Reads the assistant id of a path.
///
/// # Errors
/// 404 if the id is invalid.
fn parse_assistant_id(id: Result<Path<String>, PathRejection>, uri: &Uri) -> Result<String, ApiError> {
    id.ok().map(|it| it.0).filter(|it| is_assistant_id(it)).ok_or_else(|| assistant_not_found(uri))
}

fn assistant_not_found(uri: &Uri) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, uri, "assistant not found; save its flow document first")
}

/// Parses a version number.
fn parse_version_number(text: &str) -> Option<i64> {
    text.parse().ok().filter(|it| *it > 0 && text.bytes().all(|it| it.is_ascii_digit()))
}
