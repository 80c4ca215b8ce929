//! `POST /api/v1/conversation/message`: runs the turn of a message.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::{Extension, Json};
use convengine_access::api_error::ApiError;
use convengine_access::caller::Caller;
use convengine_turns::message::Message;
use convengine_turns::turn_runner;
use serde_json::Value;

use super::request::{MessageBody, read_json_body};
use crate::api::host::Host;
use convengine_turns::observe::caller_span;

/// Maximum length of an `Idempotency-Key` in characters.
const MAX_KEY_LENGTH: usize = 255;

// Attributes take literals only.
const _: () = assert!(MAX_KEY_LENGTH == 255, "change the OpenAPI attribute of the header too");

/// Runs the turn of a message. Failed turns also return 200, as clients expect.
#[utoipa::path(
    post,
    path = "/api/v1/conversation/message",
    tag = "conversation",
    params(
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Idempotency key of the message: a repeated message returns the first response"),
        ("traceparent" = Option<String>, Header, description = "The caller's span, to which the trace of the turn is linked"),
    ),
    request_body = ref("#/components/schemas/Message"),
    responses(
        (status = 200, description = "The response, even if the turn failed", body = ref("#/components/schemas/Answer")),
        (status = 400, description = "The body is invalid"),
        (status = 404, description = "The conversation belongs to another caller"),
        (status = 406, description = "The client does not accept JSON"),
        (status = 408, description = "The request body timed out"),
        (status = 413, description = "The body or the message is too large"),
        (status = 415, description = "The Content-Type is not JSON"),
        (status = 422, description = "The Idempotency-Key was used for another message"),
        (status = 503, description = "The conversation or the database is busy; see Retry-After"),
    ),
)]
pub async fn message(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<(HeaderMap, Json<Value>), ApiError> {
    let refuse = |status, message: String| ApiError::with_status(status, message);
    let bytes = read_json_body(&headers, body).await?;
    let body = MessageBody::parse(&bytes).map_err(|it| refuse(StatusCode::BAD_REQUEST, it))?;
    let max_chars = host.content.config_manager.active().config.settings.input_max_chars;
    if body.message.as_ref().is_some_and(|message| message.chars().nth(max_chars).is_some()) {
        return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, format!("message is too long; send at most {max_chars} characters")));
    }
    let key = read_idempotency_key(&headers).map_err(|it| refuse(StatusCode::BAD_REQUEST, it))?;
    let mut response_headers = HeaderMap::new();
    // The conversation is known only now; a new one has no messages to limit.
    if let Some(id) = &body.conversation
        && let Some(status) = host.access.rate_limits.check_conversation(id, &uri)?
    {
        status.write_headers(&mut response_headers);
    }
    let key = key.map(|it| caller.scope_key(it));
    let message = Message::new(body.conversation, body.message, body.reset, body.params).with_key(key).with_caller(caller_span(&headers));
    let access = caller.access();
    let message = message.with_access(access.clone());
    match turn_runner::submit_for_outcome(Arc::clone(&host.turns), message).await {
        Ok(outcome) if access.sees_internals() => Ok((response_headers, Json(outcome.to_response()))),
        Ok(outcome) => Ok((response_headers, Json(outcome.to_public_response()))),
        Err(refusal) => Err(ApiError::from(refusal)),
    }
}

/// Reads the `Idempotency-Key` header.
fn read_idempotency_key(headers: &HeaderMap) -> Result<Option<String>, String> {
    let mut values = headers.get_all("idempotency-key").iter();
    let Some(value) = values.next() else { return Ok(None) };
    let key = value.to_str().unwrap_or_default().trim();
    if key.is_empty() || key.len() > MAX_KEY_LENGTH || values.next().is_some() {
        return Err(format!("invalid Idempotency-Key; send one of 1 to {MAX_KEY_LENGTH} visible ASCII characters"));
    }
    Ok(Some(key.to_owned()))
}
