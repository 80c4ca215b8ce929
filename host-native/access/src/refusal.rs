//! The refusals of the auth gateway.

use axum::http::{HeaderValue, StatusCode, Uri, header};

use super::guessing::Guess;
use crate::api_error::ApiError;

const MISSING_CREDENTIALS: &str = "missing credentials; send Authorization: Bearer KEY or X-API-Key: KEY";

/// The part of a challenge that says that the credentials are wrong (RFC 6750, section 3.1).
const INVALID_TOKEN: &str = "error=\"invalid_token\"";

/// What the operator of a server without `convengine.security.mode` can do.
const HOW_TO_OPEN: &str = "create a key with `convengine key create --name NAME --scope SCOPE`, or set convengine.security.mode=none to \
                           serve everyone who reaches the server";

/// Builds the 401 response for missing credentials, or for invalid ones with a reason.
pub fn unauthorized(uri: &Uri, reason: Option<&str>) -> ApiError {
    let Some(reason) = reason else { return unauthorized_with(uri, MISSING_CREDENTIALS) };
    outdated(uri, reason).with_guess(Guess::Wrong)
}

/// Builds the 401 response for credentials that are genuine but not valid now, which is no guess.
pub fn outdated(uri: &Uri, reason: &str) -> ApiError {
    let mut refused = unauthorized_with(uri, format!("invalid credentials: {reason}"));
    set_challenge(&mut refused, &format!("Bearer realm=\"convengine\", {INVALID_TOKEN}"));
    refused
}

/// Builds the 401 response for missing credentials where `convengine.security.mode` is absent.
pub fn missing_key(uri: &Uri) -> ApiError {
    unauthorized_with(uri, format!("{MISSING_CREDENTIALS}; {HOW_TO_OPEN}"))
}

/// Builds the 401 response for callers from elsewhere while the server is open to its own machine.
pub fn not_this_machine(uri: &Uri) -> ApiError {
    unauthorized_with(uri, format!("server is open to its own machine only; {HOW_TO_OPEN}"))
}

/// Builds the 503 response for a tenant that has not started.
pub fn tenant_unavailable(uri: &Uri) -> ApiError {
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, uri, "tenant is not available at the moment; try again later")
}

/// Builds the 503 response for a credential that could not be looked up; one that this process knows is no guess.
pub fn lookup_failed(error: &sqlx::Error, is_known: bool, uri: &Uri) -> ApiError {
    let guess = if is_known { Guess::No } else { Guess::Unknown };
    ApiError::from_database(error, uri).with_guess(guess)
}

/// Builds a 401 response with a message.
pub fn unauthorized_with(uri: &Uri, message: impl Into<String>) -> ApiError {
    let mut refused = ApiError::new(StatusCode::UNAUTHORIZED, uri, message);
    set_challenge(&mut refused, "Bearer realm=\"convengine\"");
    refused
}

/// Sets the `WWW-Authenticate` header.
pub fn set_challenge(refused: &mut ApiError, challenge: &str) {
    if let Ok(value) = HeaderValue::from_str(challenge) {
        refused.headers_mut().insert(header::WWW_AUTHENTICATE, value);
    }
}
