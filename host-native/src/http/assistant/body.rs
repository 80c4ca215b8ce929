//! Reads the bodies of assistants' routes whole: what a document has in it is its author's.
//!
//! Routes read them before they refuse anything: many a client looks for no answer before it has sent everything.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, Uri};
use convengine_core::turn::Map;
use http_body::Body as _;
use serde_json::Value;
use tokio::time::timeout;

use crate::http::error::ApiError;
use crate::http::request::{SILENCE, sends_json};

/// Bytes of a body that is too long that are read all the same.
const ENDURED: usize = 64 * 1024 * 1024;

/// A body of JSON of at most so many bytes; nothing for a longer one.
///
/// # Errors
/// A refusal of what is no JSON.
pub async fn json(uri: &Uri, headers: &HeaderMap, body: Body, most: usize) -> Result<Option<Value>, ApiError> {
    let bytes = whole(uri, body, most).await?;
    if !sends_json(headers) {
        let message = "the body is not JSON: send Content-Type: application/json";
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, uri, message));
    }
    let Some(bytes) = bytes else { return Ok(None) };
    let read = serde_json::from_slice(&bytes);
    read.map(Some).map_err(|it| {
        let message = format!("the body is not JSON: {it}: send one JSON object");
        ApiError::new(StatusCode::BAD_REQUEST, uri, message).coded("not_json")
    })
}

/// A body that is a JSON object of a few members.
///
/// # Errors
/// A refusal of what is none.
pub async fn object(uri: &Uri, headers: &HeaderMap, body: Body) -> Result<Map, ApiError> {
    const MOST: usize = 256 * 1024;
    match json(uri, headers, body, MOST).await? {
        Some(Value::Object(members)) => Ok(members),
        Some(_) => Err(ApiError::new(StatusCode::BAD_REQUEST, uri, "the body is no object: send one JSON object").coded("not_json")),
        None => Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, uri, format!("the body is too long: send at most {MOST} bytes"))),
    }
}

async fn whole(uri: &Uri, mut body: Body, most: usize) -> Result<Option<Vec<u8>>, ApiError> {
    let (mut kept, mut read) = (Vec::new(), 0);
    loop {
        let Ok(frame) = timeout(SILENCE, poll_fn(|context| Pin::new(&mut body).poll_frame(context))).await else {
            let message = "the body does not go on: send it again, without pauses";
            return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, uri, message));
        };
        // What of a body that breaks off has come is no JSON.
        let Some(Ok(frame)) = frame else { break };
        let Ok(bytes) = frame.into_data() else { continue };
        read += bytes.len();
        if read <= most {
            kept.extend_from_slice(&bytes);
        }
        if read > ENDURED {
            break;
        }
    }
    Ok((read <= most).then_some(kept))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderValue, header};

    use super::*;

    #[tokio::test]
    async fn a_body_is_json_or_says_what_to_send() {
        let uri = Uri::from_static("/v1/secrets");
        let json_type = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"))]);
        let read = async |text: &'static str, most| json(&uri, &json_type, Body::from(text), most).await;
        assert_eq!(read(r#"{"b":1,"a":[1.0]}"#, 20).await.ok().flatten().map(|it| it.to_string()).as_deref(), Some(r#"{"b":1,"a":[1.0]}"#));
        assert_eq!(read("[1,2]", 4).await.ok(), Some(None), "it is too long");
        for text in ["", "{", "{} {}", "nothing"] {
            assert!(read(text, 20).await.is_err(), "{text}");
        }
        assert!(json(&uri, &HeaderMap::new(), Body::from("{}"), 20).await.is_err(), "it does not say what it is");
        assert!(object(&uri, &json_type, Body::from("[]")).await.is_err());
    }
}
