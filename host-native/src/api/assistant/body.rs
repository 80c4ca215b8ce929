//! Reads request bodies of assistant routes.
//!
//! Routes read the body before they refuse a request: many clients read no response before they have sent everything.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, Uri};
use convengine_core::turn::Map;
use http_body::Body as _;
use serde_json::Value;

use crate::api::connection::body_timeout::{BodyTimedOut, is_timeout};
use crate::api::error::ApiError;
use crate::api::json_text;
use crate::api::request::has_json_body;

/// Maximum bytes read of a body that is too large.
const MAX_DRAINED_BYTES: usize = 64 * 1024 * 1024;

/// Reads a JSON body of at most `max_bytes` bytes. Returns `None` for a larger one.
///
/// # Errors
/// 415 or 400 if the body is not JSON, 408 if it times out.
pub async fn read_json(uri: &Uri, headers: &HeaderMap, body: Body, max_bytes: usize) -> Result<Option<Value>, ApiError> {
    let bytes = read_whole(uri, body, max_bytes).await?;
    if !has_json_body(headers) {
        let message = "unsupported content type; send Content-Type: application/json";
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, uri, message));
    }
    let Some(bytes) = bytes else { return Ok(None) };
    let read = json_text::parse(&bytes);
    read.map(Some).map_err(|it| {
        let message = format!("invalid JSON body: {it}; send one JSON object");
        ApiError::new(StatusCode::BAD_REQUEST, uri, message).with_code("not_json")
    })
}

/// Reads a body that is a small JSON object.
///
/// # Errors
/// As [`read_json`], and 400 if the body is not an object, 413 if it is too large.
pub async fn read_object(uri: &Uri, headers: &HeaderMap, body: Body) -> Result<Map, ApiError> {
    const MAX_OBJECT_BYTES: usize = 256 * 1024;
    match read_json(uri, headers, body, MAX_OBJECT_BYTES).await? {
        Some(Value::Object(members)) => Ok(members),
        Some(_) => Err(ApiError::new(StatusCode::BAD_REQUEST, uri, "body is not an object; send one JSON object").with_code("not_json")),
        None => Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, uri, format!("body is too large; send at most {MAX_OBJECT_BYTES} bytes"))),
    }
}

/// Reads a body that is a small JSON object, or empty.
///
/// # Errors
/// As [`read_object`].
pub async fn read_optional_object(uri: &Uri, headers: &HeaderMap, body: Body) -> Result<Map, ApiError> {
    if body.size_hint().exact() == Some(0) { Ok(Map::new()) } else { read_object(uri, headers, body).await }
}

/// Reads a body of at most `max_bytes` bytes. Returns `None` for a larger one.
///
/// # Errors
/// 408 if it times out.
pub async fn read_whole(uri: &Uri, mut body: Body, max_bytes: usize) -> Result<Option<Vec<u8>>, ApiError> {
    let (mut kept, mut bytes_read) = (Vec::new(), 0);
    loop {
        let frame = match poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            Some(Ok(frame)) => frame,
            Some(Err(error)) if is_timeout(&error) => {
                return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, uri, BodyTimedOut.to_string()));
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
        let uri = Uri::from_static("/v1/secrets");
        let json_type = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"))]);
        let read = async |text: &'static str, most| read_json(&uri, &json_type, Body::from(text), most).await;
        assert_eq!(read(r#"{"b":1,"a":[1.0]}"#, 20).await.ok().flatten().map(|it| it.to_string()).as_deref(), Some(r#"{"b":1,"a":[1.0]}"#));
        assert_eq!(read("[1,2]", 4).await.ok(), Some(None), "too large");
        for text in ["", "{", "{} {}", "nothing"] {
            assert!(read(text, 20).await.is_err(), "{text}");
        }
        assert!(read_json(&uri, &HeaderMap::new(), Body::from("{}"), 20).await.is_err(), "no content type");
        assert!(read_object(&uri, &json_type, Body::from("[]")).await.is_err());
    }
}
