//! `POST /api/v1/conversation/message`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::{Extension, Json};
use serde_json::Value;

use super::error::ApiError;
use super::request::{MessageBody, json_body};
use crate::access::caller::Caller;
use crate::drive::{self, Host, Message};
use crate::observe;

/// Most characters of an `Idempotency-Key`.
const LONGEST_KEY: usize = 255;

/// Runs the turn of a message; also a failed turn answers with 200, as clients expect.
#[utoipa::path(
    post,
    path = "/api/v1/conversation/message",
    tag = "conversation",
    params(
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "The client's name for the message: sent twice, it is answered once"),
        ("traceparent" = Option<String>, Header, description = "The span that the trace of the turn is linked with"),
    ),
    request_body = ref("#/components/schemas/Message"),
    responses(
        (status = 200, description = "The answer, also of a turn that failed", body = ref("#/components/schemas/Answer")),
        (status = 400, description = "The body cannot be read"),
        (status = 406, description = "The client does not take JSON"),
        (status = 408, description = "The body does not go on"),
        (status = 413, description = "The body or the message is too long"),
        (status = 415, description = "The body does not say that it is JSON"),
        (status = 422, description = "The Idempotency-Key was used for another message"),
        (status = 503, description = "The conversation or the database is busy: see Retry-After"),
    ),
)]
pub async fn message(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<(HeaderMap, Json<Value>), ApiError> {
    let refuse = |status, message: String| ApiError::new(status, &uri, message);
    let bytes = json_body(&uri, &headers, body).await?;
    let body = MessageBody::parse(&bytes).map_err(|it| refuse(StatusCode::BAD_REQUEST, it))?;
    let most = host.current.now().config.settings.input_max_chars;
    if body.message.as_ref().is_some_and(|it| it.chars().nth(most).is_some()) {
        return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, format!("the message is too long: send at most {most} characters")));
    }
    let key = idempotency_key(&headers).map_err(|it| refuse(StatusCode::BAD_REQUEST, it))?;
    let mut told = HeaderMap::new();
    // Only now is it known which conversation is meant; a new one has had no message yet.
    if let Some(id) = &body.conversation
        && let Some(standing) = host.limits.conversation(id, &uri)?
    {
        standing.write(&mut told);
    }
    let key = key.map(|it| caller.own(it));
    let message = Message::now(body.conversation, body.message, body.reset, body.params).named(key).called(observe::caller(&headers));
    match drive::answer(host, message).await {
        Ok(outcome) => Ok((told, Json(outcome.response()))),
        Err(refusal) => Err(ApiError::of_refusal(&refusal, &uri)),
    }
}

/// The client's name for the message.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, String> {
    let mut given = headers.get_all("idempotency-key").iter();
    let Some(value) = given.next() else { return Ok(None) };
    let key = value.to_str().unwrap_or_default().trim();
    if key.is_empty() || key.len() > LONGEST_KEY || given.next().is_some() {
        return Err(format!("the Idempotency-Key cannot be used: send one, of 1 to {LONGEST_KEY} visible ASCII characters"));
    }
    Ok(Some(key.to_owned()))
}
