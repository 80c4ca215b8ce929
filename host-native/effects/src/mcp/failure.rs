//! Converts failures of connections and calls to errors of effects.

use std::error::Error;

use convengine_core::turn::{EffectError, EffectErrorDetail, EffectErrorKind};
use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpError;

use super::transport::MAX_MESSAGE_BYTES;
use crate::http::find_private_host;

/// Characters of a name of a server that are passed on.
const MAX_NAME_CHARS: usize = 2000;

/// The error of a connection that cannot be opened. Nothing was called, which status 503 says.
pub fn connection_error(server: &str, error: &(dyn Error + 'static)) -> EffectError {
    if let Some(refused) = find_private_host(error) {
        return refused;
    }
    if error.downcast_ref::<ClientInitializeError>().is_some_and(ClientInitializeError::is_authorization_required) {
        return authorization_error(server);
    }
    let message = format!("the MCP server '{server}' cannot be reached: {}", innermost(error));
    EffectError { status: Some(503), ..EffectError::new(EffectErrorKind::Unavailable, message) }
}

/// The error of a call. `is_too_long` is whether the server sent a message beyond the limit.
pub fn call_error(server: &str, error: &ServiceError, is_too_long: bool) -> EffectError {
    let (kind, reason) = match error {
        _ if is_too_long => {
            let message = format!("the MCP server '{server}' sent a message of more than {MAX_MESSAGE_BYTES} bytes");
            return EffectError::new(EffectErrorKind::Invalid, message).with_detail(EffectErrorDetail::TOO_LARGE);
        }
        error if error.is_authorization_required() => return authorization_error(server),
        ServiceError::McpError(error) => {
            let data = error.data.as_ref().filter(|it| !it.is_null()).map(|it| format!(" {it}")).unwrap_or_default();
            let message = format!("the MCP server '{server}' answered with the error {}: {}{data}", error.code.0, error.message);
            return EffectError::new(EffectErrorKind::Refused, message).with_detail(EffectErrorDetail::TOOL_ERROR);
        }
        ServiceError::TransportClosed => (EffectErrorKind::Unavailable, "it ended or closed the connection".to_owned()),
        ServiceError::TransportSend(error) => {
            let too_long = is_size_error(error);
            let kind = if too_long { EffectErrorKind::Invalid } else { EffectErrorKind::Unavailable };
            (kind, innermost(error))
        }
        ServiceError::UnexpectedResponse => (EffectErrorKind::Invalid, "unexpected response".to_owned()),
        other => (EffectErrorKind::Unavailable, other.to_string()),
    };
    EffectError::new(kind, format!("the call of the MCP server '{server}' failed: {reason}"))
}

fn authorization_error(server: &str) -> EffectError {
    let message = format!("the MCP server '{server}' answered 401: check the secret that auth_ref names");
    EffectError { status: Some(401), ..EffectError::new(EffectErrorKind::Refused, message) }
}

fn is_size_error(error: &(dyn Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |&it| it.source());
    let too_large = |error: &StreamableHttpError<reqwest::Error>| matches!(error, StreamableHttpError::ResponseBodyTooLarge { .. });
    causes.any(|cause| cause.downcast_ref().is_some_and(too_large))
}

/// The message of the innermost cause.
fn innermost(error: &(dyn Error + 'static)) -> String {
    std::iter::successors(Some(error), |&it| cause(it)).last().map(ToString::to_string).unwrap_or_default()
}

/// What caused an error. The transport names the error of its HTTP client in its text alone.
fn cause<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(StreamableHttpError::Client(error)) => Some(error),
        _ => error.source(),
    }
}

/// The beginning of a text.
pub fn excerpt(text: &str) -> String {
    text.chars().take(MAX_NAME_CHARS).collect()
}
