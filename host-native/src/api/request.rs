//! Reads request bodies; that of `POST /message` with the coercions that existing clients rely on (docs/spec/data-and-api.md#9.1).

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::Body;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::{HeaderMap, StatusCode, header};
use convengine_access::api_error::ApiError;
use convengine_core::turn::Map;
use convengine_host_base::uuid_text::parse_uuid;
use http_body::Body as _;
use serde_json::Value;

use super::attachment::{self, AttachmentFilter};
use super::connection::body_timeout::{BodyTimedOut, is_timeout};
use super::json_text;

/// Maximum bytes of a body with attachments: five files of 10 MB are 70 MB of Base64.
const MAX_BODY_BYTES: usize = 80 * 1024 * 1024;

/// Maximum bytes of a body without the contents of its attachments.
const MAX_FILTERED_BYTES: usize = 2 * 1024 * 1024;

/// Maximum nesting depth of parameters. They are stored within other JSON, which is parsed up to 127 levels deep.
pub const MAX_PARAM_DEPTH: usize = 64;

/// The parsed body of a message.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageBody {
    /// The conversation id, a lower-case UUID; absent for a new conversation.
    pub conversation: Option<String>,
    /// The message.
    pub message: Option<String>,
    /// Whether to restart the conversation.
    pub reset: bool,
    /// The input parameters.
    pub params: Map,
}

impl MessageBody {
    /// Parses a body; ignores unknown members and uses the last of repeated ones.
    ///
    /// # Errors
    /// A message that names the invalid member and what to send.
    pub fn parse(bytes: &[u8]) -> Result<MessageBody, String> {
        let mut body = parse_object(bytes, "{\"message\": …}")?;
        let mut take = |key: &str| body.remove(key).unwrap_or(Value::Null);
        let (conversation, message) = (parse_conversation_id(take("conversationId"))?, parse_text("message", take("message"))?);
        let (reset, mut params) = (parse_reset(&take("reset"))?, parse_params(take("inputParams"))?);
        attachment::apply_digests(&mut params);
        Ok(MessageBody { conversation, message, reset, params })
    }
}

/// Parses a body as an object; `example` is the expected form in error messages.
///
/// # Errors
/// A message that says what is wrong and what to send.
pub fn parse_object(bytes: &[u8], example: &str) -> Result<Map, String> {
    match json_text::parse(bytes) {
        Ok(Value::Object(body)) => Ok(body),
        Ok(_) => Err(format!("body is not an object; send {example}")),
        Err(error) => Err(format!("invalid JSON body: {error}; send one JSON object")),
    }
}

/// Reads a JSON body without the contents of its attachments, for a client that accepts JSON.
///
/// # Errors
/// 415 or 406 for unsuitable headers, 408 if the body times out, 413 if it is too large.
pub async fn read_json_body(headers: &HeaderMap, body: Body) -> Result<Vec<u8>, ApiError> {
    let refuse = |status, message: String| ApiError::with_status(status, message);
    if !has_json_body(headers) {
        return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported content type; send Content-Type: application/json".to_owned()));
    }
    if !accepts_json(headers) {
        return Err(refuse(StatusCode::NOT_ACCEPTABLE, "responses are JSON; send Accept: application/json".to_owned()));
    }
    read_filtered(body).await.map_err(|it| refuse(it.0, it.1))
}

/// Reads a body without the contents of its attachments.
async fn read_filtered(mut body: Body) -> Result<Vec<u8>, (StatusCode, String)> {
    let mut filter = AttachmentFilter::default();
    let mut bytes_read = 0;
    // An interrupted body is not valid JSON and has no client left to answer. A body that is too large is drained up to a limit, because
    // many clients read no response before they have sent the whole body.
    loop {
        let frame = match poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            Some(Ok(frame)) => frame,
            Some(Err(error)) if is_timeout(&error) => return Err((StatusCode::REQUEST_TIMEOUT, BodyTimedOut.to_string())),
            Some(Err(_)) | None => break,
        };
        let Ok(bytes) = frame.into_data() else { continue };
        bytes_read += bytes.len();
        if bytes_read > 2 * MAX_BODY_BYTES {
            break;
        }
        if bytes_read <= MAX_BODY_BYTES && filter.output_len() <= MAX_FILTERED_BYTES {
            filter.push(&bytes);
        }
    }
    let too_long = |most: String| Err((StatusCode::PAYLOAD_TOO_LARGE, format!("body is too large; send at most {most}")));
    if bytes_read > MAX_BODY_BYTES {
        return too_long(format!("{MAX_BODY_BYTES} bytes"));
    }
    if filter.output_len() > MAX_FILTERED_BYTES {
        return too_long(format!("{MAX_FILTERED_BYTES} bytes besides the contents of inputParams.files"));
    }
    Ok(filter.finish())
}

/// Parses the conversation id of a body.
///
/// # Errors
/// A message if the value is not a UUID.
pub fn parse_conversation_id(value: Value) -> Result<Option<String>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) if text.trim().is_empty() => Ok(None),
        Value::String(text) => {
            parse_uuid(text.trim()).map(Some).ok_or_else(|| "conversationId is not a UUID; send its 36 characters or omit it".to_owned())
        }
        _ => Err("conversationId is not a string; send a UUID or omit it".to_owned()),
    }
}

/// Parses the conversation id of a path.
///
/// # Errors
/// 400 if it is not a UUID.
pub fn conversation_from_path(id: Result<Path<String>, PathRejection>) -> Result<String, ApiError> {
    id.ok().and_then(|it| parse_uuid(&it.0)).ok_or_else(|| ApiError::bad_request("conversation id is not a UUID; send its 36 characters"))
}

/// Reads an optional string; numbers and Booleans are converted, as clients of the original server expect.
///
/// # Errors
/// A message if the value is a list or an object.
pub fn parse_text(name: &str, value: Value) -> Result<Option<String>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        Value::Bool(_) | Value::Number(_) => Ok(Some(value.to_string())),
        Value::Array(_) | Value::Object(_) => Err(format!("{name} is not a string; send a string or omit it")),
    }
}

fn parse_reset(value: &Value) -> Result<bool, String> {
    let word = value.as_str().map(|text| text.trim().to_ascii_lowercase());
    match (value, word.as_deref()) {
        (Value::Null, _) | (_, Some("" | "false")) => Ok(false),
        (Value::Bool(on), _) => Ok(*on),
        (_, Some("true")) => Ok(true),
        (Value::Number(number), _) if !number.is_f64() => Ok(number.as_i64() != Some(0)),
        _ => Err("reset is not a Boolean; send true or false".to_owned()),
    }
}

fn parse_params(value: Value) -> Result<Map, String> {
    match value {
        Value::Null => Ok(Map::new()),
        Value::Object(map) if map.values().all(|member| is_within_depth(member, MAX_PARAM_DEPTH - 1)) => Ok(map),
        Value::Object(_) => Err(format!("inputParams is nested too deeply; send at most {MAX_PARAM_DEPTH} levels")),
        _ => Err("inputParams is not an object; send an object or omit it".to_owned()),
    }
}

fn is_within_depth(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| is_within_depth(item, levels - 1)),
        Value::Object(members) => levels > 0 && members.values().all(|member| is_within_depth(member, levels - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// Whether the content type is JSON.
pub fn has_json_body(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media = media_type(content_type);
    media == "application/json" || (media.starts_with("application/") && media.ends_with("+json"))
}

/// Whether the client accepts JSON; without an `Accept` header it accepts everything.
fn accepts_json(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(header::ACCEPT).iter().peekable();
    if accepted.peek().is_none() {
        return true;
    }
    let accepted: Vec<&str> = accepted.filter_map(|value| value.to_str().ok()).flat_map(|it| it.split(',')).collect();
    let refused = |it: &str| it.split(';').skip(1).any(|parameter| matches!(parameter.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
    let fits = |it: &str| matches!(media_type(it).as_str(), "*/*" | "application/*" | "application/json" | "application/*+json");
    accepted.iter().any(|range| fits(range) && !refused(range)) || accepted.iter().all(|range| range.trim().is_empty())
}

fn media_type(text: &str) -> String {
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4D7FE557-03ba-56be-b8c3-a9a5d12f0d69";

    fn parse(text: &str) -> Result<MessageBody, String> {
        MessageBody::parse(text.as_bytes())
    }

    #[test]
    fn members_are_coerced() {
        let body =
            parse(&format!(r#"{{"conversationId":"{ID}","message":12.0,"reset":1,"x":1,"inputParams":{{"a":1}}}}"#)).expect("a body");
        assert_eq!(body.conversation.as_deref(), Some("4d7fe557-03ba-56be-b8c3-a9a5d12f0d69"));
        assert_eq!((body.message.as_deref(), body.reset, body.params.len()), (Some("12.0"), true, 1));
        for (text, message, reset) in [
            ("{}", None, false),
            (r#"{"message":null,"conversationId":"","reset":null,"inputParams":null}"#, None, false),
            (r#"{"message":true,"reset":"true"}"#, Some("true"), true),
            (r#"{"message":"a","message":"b","reset":0}"#, Some("b"), false),
            (r#"{"message":"\u0000","reset":"false"}"#, Some("\0"), false),
        ] {
            let body = parse(text).expect(text);
            assert_eq!((body.conversation, body.message.as_deref(), body.reset), (None, message, reset), "{text}");
        }
    }

    #[test]
    fn invalid_bodies_are_rejected() {
        for text in [
            "",
            "null",
            "[]",
            "\"text\"",
            "{bad",
            "{} xx",
            "{'message':'single'}",
            r#"{"conversationId":"1-1-1-1-1"}"#,
            r#"{"conversationId":1}"#,
            r#"{"message":{"a":1}}"#,
            r#"{"message":["a"]}"#,
            r#"{"inputParams":"s"}"#,
            r#"{"inputParams":[1]}"#,
            r#"{"reset":"yes"}"#,
            r#"{"reset":1.5}"#,
            r#"{"reset":{}}"#,
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        let nested = |levels: usize| parse(&format!("{{\"inputParams\":{}1{}}}", "{\"a\":".repeat(levels), "}".repeat(levels)));
        assert!(nested(MAX_PARAM_DEPTH).is_ok() && nested(MAX_PARAM_DEPTH + 1).is_err());
        assert_eq!(parse_uuid("4d7fe557003ba-56be-b8c3-a9a5d12f0d69"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stalled_body_times_out() {
        let limit = std::time::Duration::from_secs(30);
        let silent = Body::new(crate::api::connection::body_timeout::TimedBody::new(Body::new(Silent(Some(b"{\"message\":"))), limit));
        let start = tokio::time::Instant::now();
        let (status, message) = read_filtered(silent).await.expect_err("silence");
        assert_eq!((status, start.elapsed()), (StatusCode::REQUEST_TIMEOUT, limit), "{message}");
    }

    /// A body that stalls after one chunk.
    struct Silent(Option<&'static [u8]>);

    impl http_body::Body for Silent {
        type Data = axum::body::Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<http_body::Frame<Self::Data>, Self::Error>>> {
            let piece = self.0.take().map(|bytes| Ok(http_body::Frame::data(axum::body::Bytes::from_static(bytes))));
            piece.map_or(std::task::Poll::Pending, |frame| std::task::Poll::Ready(Some(frame)))
        }
    }

    #[test]
    fn media_types_are_compared_without_parameters() {
        let headers =
            |name: header::HeaderName, value: &'static str| HeaderMap::from_iter([(name, header::HeaderValue::from_static(value))]);
        for (value, fits) in [("application/json; charset=utf-8", true), ("APPLICATION/problem+json", true), ("text/plain", false)] {
            assert_eq!(has_json_body(&headers(header::CONTENT_TYPE, value)), fits, "{value}");
        }
        assert!(!has_json_body(&HeaderMap::new()) && accepts_json(&HeaderMap::new()));
        for (value, fits) in [("text/html, */*;q=0.1", true), ("application/json;q=0", false), ("text/html", false)] {
            assert_eq!(accepts_json(&headers(header::ACCEPT, value)), fits, "{value}");
        }
    }
}
