//! SockJS without WebSockets: XHR polling and XHR streaming of protocol 0.3.3 (docs/spec/data-and-api.md#8.6).

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use convengine_access::api_error::{ApiError, path_not_found};
use convengine_access::caller::Caller;
use convengine_access::client_address::ClientAddress;
use futures_util::stream;

use super::outbox::{Receiver, TooManySessions, XhrSession};
use super::socket::{MAX_MESSAGE_BYTES, NO_STORE, check_origin, serve_session};
use super::sockjs;
use crate::api::assistant::body::read_whole;
use crate::api::host::Host;

/// Bytes after which a streamed response ends, because browsers keep the whole of it. The client then sends another request.
const MAX_STREAM_BYTES: usize = 128 * 1024;

/// What a streamed response begins with: some browsers show nothing before they have this much.
const PRELUDE_BYTES: usize = 2048;

/// The frame for a second request that wants to fetch.
const STILL_OPEN: &str = "c[2010,\"Another connection still open\"]";

type Names = Result<Path<(String, String)>, PathRejection>;

/// A response with the next frame.
pub async fn poll(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    Extension(client): Extension<ClientAddress>,
    headers: HeaderMap,
    names: Names,
) -> Result<Response, ApiError> {
    let Some(receiver) = attach(&host, &caller, client, &headers, names)? else {
        return Ok(respond(frame_line(STILL_OPEN).into()));
    };
    let (frame, _) = receiver.next().await;
    Ok(respond(frame_line(&frame).into()))
}

/// A response with frames until it is long, or the session ends.
pub async fn stream(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    Extension(client): Extension<ClientAddress>,
    headers: HeaderMap,
    names: Names,
) -> Result<Response, ApiError> {
    let prelude = Bytes::from(frame_line(&"h".repeat(PRELUDE_BYTES)));
    let Some(receiver) = attach(&host, &caller, client, &headers, names)? else {
        return Ok(respond([prelude, Bytes::from(frame_line(STILL_OPEN))].concat().into()));
    };
    let frames = stream::unfold((Some(receiver), Some(prelude), 0), |(receiver, prelude, sent)| async move {
        if let Some(prelude) = prelude {
            return Some((Ok::<Bytes, std::convert::Infallible>(prelude), (receiver, None, sent)));
        }
        let receiver: Receiver = receiver?;
        let (frame, is_last) = receiver.next().await;
        let sent = sent + frame.len();
        let more = (!is_last && sent < MAX_STREAM_BYTES).then_some(receiver);
        Some((Ok(Bytes::from(frame_line(&frame))), (more, None, sent)))
    });
    Ok(respond(Body::from_stream(frames)))
}

/// Takes the messages of a client.
pub async fn send(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    Extension(client): Extension<ClientAddress>,
    headers: HeaderMap,
    names: Names,
    body: Body,
) -> Result<Response, ApiError> {
    let bytes = read_whole(body, MAX_MESSAGE_BYTES).await?;
    check_origin(&host.turns, &headers)?;
    let session = session_id(names)?;
    let XhrSession { incoming, .. } = host.xhr_sessions.find(&caller_id(&caller, client), &session).ok_or_else(path_not_found)?;
    let Some(bytes) = bytes else {
        let message = format!("body is too large; send at most {MAX_MESSAGE_BYTES} bytes");
        return Err(ApiError::too_large(message));
    };
    let broken = |text: &'static str| Ok((StatusCode::INTERNAL_SERVER_ERROR, text).into_response());
    let text = String::from_utf8(bytes).unwrap_or_default();
    if text.is_empty() {
        return broken("Payload expected.");
    }
    if sockjs::decode(&text).is_none() {
        return broken("Broken JSON encoding.");
    }
    if incoming.send(text).await.is_err() {
        return Err(path_not_found());
    }
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=UTF-8"));
    Ok((StatusCode::NO_CONTENT, [kind, (header::CACHE_CONTROL, NO_STORE)]).into_response())
}

/// Begins to fetch the messages of a session, which is created when it is new; `None` while another request fetches them.
fn attach(
    host: &Arc<Host>,
    caller: &Caller,
    client: ClientAddress,
    headers: &HeaderMap,
    names: Names,
) -> Result<Option<Receiver>, ApiError> {
    check_origin(&host.turns, headers)?;
    let id = session_id(names)?;
    let name = caller_id(caller, client);
    let (session, frames) = host.xhr_sessions.open(&name, &id).map_err(|TooManySessions| {
        ApiError::with_status(StatusCode::TOO_MANY_REQUESTS, "too many SockJS sessions; close some, or connect with WebSockets")
    })?;
    let receiver = session.outbox.attach();
    if let Some(frames) = frames {
        serve_session(host, (name, id), caller, &session, frames);
    }
    Ok(receiver)
}

fn session_id(names: Names) -> Result<String, ApiError> {
    let is_valid = |it: &String| !it.is_empty() && it.len() <= 128 && !it.contains('.');
    names.ok().map(|it| it.0).filter(|names| is_valid(&names.0) && is_valid(&names.1)).map(|it| it.1).ok_or_else(path_not_found)
}

/// Whose sessions a request may use: those of its caller and the user that it acts for, else those of its address.
fn caller_id(caller: &Caller, client: ClientAddress) -> String {
    let owner = caller.access().owner.unwrap_or_default();
    caller.id().map_or_else(|| format!("address:{}", client.to_text()), |it| format!("caller:{it} {owner}"))
}

fn frame_line(frame: &str) -> String {
    format!("{frame}\n")
}

fn respond(body: Body) -> Response {
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static("application/javascript; charset=UTF-8"));
    let unbuffered = (header::HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    ([kind, (header::CACHE_CONTROL, NO_STORE), unbuffered], body).into_response()
}
