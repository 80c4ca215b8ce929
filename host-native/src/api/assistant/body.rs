//! Reads request bodies of assistant routes.
//!
//! Routes read the body before they refuse a request: many clients read no response before they have sent everything.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode};
use convengine_access::api_error::ApiError;
use convengine_core::turn::Map;
use http_body::Body as _;
use serde_json::Value;
use utoipa::IntoResponses;

use crate::api::connection::body_timeout::{BodyTimedOut, is_timeout};
use crate::api::json_text;
use crate::api::request::has_json_body;

/// Maximum bytes read of a body that is too large.
const MAX_DRAINED_BYTES: usize = 64 * 1024 * 1024;

/// The body of a request that is a small JSON object, as [`read_object`] reads it. A handler looks at the result after the path.
#[derive(Debug)]
pub struct ObjectBody(pub Result<Map, ApiError>);

impl<S: Send + Sync> FromRequest<S> for ObjectBody {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &S) -> Result<Self, Infallible> {
        let (head, body) = request.into_parts();
        Ok(ObjectBody(read_object(&head.headers, body).await))
    }
}

/// The body of a request that is a small JSON object, or empty.
#[derive(Debug)]
pub struct OptionalObjectBody(pub Map);

impl<S: Send + Sync> FromRequest<S> for OptionalObjectBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let (head, body) = request.into_parts();
        let is_empty = body.size_hint().exact() == Some(0);
        Ok(OptionalObjectBody(if is_empty { Map::new() } else { read_object(&head.headers, body).await? }))
    }
}

/// The error responses of routes that read an object.
#[derive(Debug, IntoResponses)]
pub enum ObjectRefusals {
    /// The body is not valid JSON
    #[response(status = 400)]
    NotJson,
    /// The request body timed out
    #[response(status = 408)]
    TimedOut,
    /// The request body is too large
    #[response(status = 413)]
    TooLarge,
    /// The Content-Type is not JSON
    #[response(status = 415)]
    OtherType,
}

/// Reads a JSON body of at most `max_bytes` bytes. Returns `None` for a larger one.
///
/// # Errors
/// 415 or 400 if the body is not JSON, 408 if it times out.
pub async fn read_json(headers: &HeaderMap, body: Body, max_bytes: usize) -> Result<Option<Value>, ApiError> {
    let bytes = read_whole(body, max_bytes).await?;
    if !has_json_body(headers) {
        let message = "unsupported content type; send Content-Type: application/json";
        return Err(ApiError::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let Some(bytes) = bytes else { return Ok(None) };
    let read = json_text::parse(&bytes);
    read.map(Some).map_err(|error| {
        let message = format!("invalid JSON body: {error}; send one JSON object");
        ApiError::bad_request(message).with_code("not_json")
    })
}

/// Reads a body that is a small JSON object.
///
/// # Errors
/// As [`read_json`], and 400 if the body is not an object, 413 if it is too large.
pub async fn read_object(headers: &HeaderMap, body: Body) -> Result<Map, ApiError> {
    const MAX_OBJECT_BYTES: usize = 256 * 1024;
    match read_json(headers, body, MAX_OBJECT_BYTES).await? {
        Some(Value::Object(members)) => Ok(members),
        Some(_) => Err(ApiError::bad_request("body is not an object; send one JSON object").with_code("not_json")),
        None => Err(ApiError::too_large(format!("body is too large; send at most {MAX_OBJECT_BYTES} bytes"))),
    }
}

/// Reads a body of at most `max_bytes` bytes. Returns `None` for a larger one.
///
/// # Errors
/// 408 if it times out.
pub async fn read_whole(mut body: Body, max_bytes: usize) -> Result<Option<Vec<u8>>, ApiError> {
    let (mut kept, mut bytes_read) = (Vec::new(), 0);
    loop {
        let frame = match poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            Some(Ok(frame)) => frame,
            Some(Err(error)) if is_timeout(&error) => {
                return Err(ApiError::with_status(StatusCode::REQUEST_TIMEOUT, BodyTimedOut.to_string()));
            }
            // The received part of an interrupted body is not valid JSON.
            Some(Err(_)) | None => break,
        };
        let Ok(bytes) = frame.into_data() else { continue };
        bytes_read += bytes.len();
        if bytes_read <= max_bytes {
            kept.extend_from_slice(&bytes);
        }
        if bytes_read > MAX_DRAINED_BYTES {
            break;
        }
    }
    Ok((bytes_read <= max_bytes).then_some(kept))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderValue, header};

    use super::*;

    #[tokio::test]
    async fn a_body_is_json_or_says_what_to_send() {
        let json_type = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"))]);
        let read = async |text: &'static str, most| read_json(&json_type, Body::from(text), most).await;
        assert_eq!(read(r#"{"b":1,"a":[1.0]}"#, 20).await.ok().flatten().map(|it| it.to_string()).as_deref(), Some(r#"{"b":1,"a":[1.0]}"#));
        assert_eq!(read("[1,2]", 4).await.ok(), Some(None), "too large");
        for text in ["", "{", "{} {}", "nothing"] {
            assert!(read(text, 20).await.is_err(), "{text}");
        }
        assert!(read_json(&HeaderMap::new(), Body::from("{}"), 20).await.is_err(), "no content type");
        assert!(read_object(&json_type, Body::from("[]")).await.is_err());
    }
}
