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

/// Most characters of an `Idempotency-Key`.
const LONGEST_KEY: usize = 255;

/// Runs the turn of a message; also a failed turn answers with 200, as clients expect.
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
    let message = Message::now(body.conversation, body.message, body.reset, body.params).named(key);
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
