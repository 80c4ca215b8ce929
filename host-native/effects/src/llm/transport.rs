//! Sends requests and receives response bodies, within limits of time and size.

use bytes::Bytes;
use convengine_settings::LlmTimeouts;
use futures_util::stream::{Stream, StreamExt, try_unfold};
use reqwest::{RequestBuilder, Response};
use serde_json::Value;
use tokio::time::timeout;

use super::failure::ModelFailure;

/// Maximum size of an answer in bytes.
pub const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;

/// Maximum size of an error body in bytes.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// Sends a request and returns the successful response.
///
/// # Errors
/// The failure if there is no response in time, or its status is an error.
pub async fn send(call: RequestBuilder, timeouts: LlmTimeouts) -> Result<Response, ModelFailure> {
    timeout(timeouts.response, receive(call)).await.unwrap_or_else(|_| Err(ModelFailure::hung(timeouts.response)))
}

async fn receive(call: RequestBuilder) -> Result<Response, ModelFailure> {
    let mut response = call.send().await.map_err(ModelFailure::unreachable)?;
    if response.status().is_success() {
        return Ok(response);
    }
    let mut body = Vec::new();
    // The status is known even if the body breaks off.
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ERROR_BYTES {
            body.clear();
            break;
        }
    }
    Err(ModelFailure::from_status(response.status().as_u16(), response.headers(), &String::from_utf8_lossy(&body)))
}

/// Reads a JSON body, whose parts may all come when the answer is complete.
///
/// # Errors
/// The failure if the body does not come in time, breaks off, is too long, or is not JSON.
pub async fn read_json(response: Response, timeouts: LlmTimeouts) -> Result<Value, ModelFailure> {
    let mut body = Vec::new();
    let mut chunks = std::pin::pin!(stream_chunks(response, LlmTimeouts { idle: timeouts.response, ..timeouts }));
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk?);
    }
    serde_json::from_slice(&body).map_err(|error| if error.is_eof() { ModelFailure::truncated() } else { ModelFailure::unreadable(error) })
}

/// Streams the chunks of a body, up to the maximum size, each in time.
pub fn stream_chunks(response: Response, timeouts: LlmTimeouts) -> impl Stream<Item = Result<Bytes, ModelFailure>> + Send {
    try_unfold((response, 0), move |(mut response, received)| async move {
        let next = match received {
            0 => timeout(timeouts.response, response.chunk()).await.map_err(|_| ModelFailure::hung(timeouts.response)),
            _ => timeout(timeouts.idle, response.chunk()).await.map_err(|_| ModelFailure::stalled(timeouts.idle)),
        };
        let Some(chunk) = next?.map_err(ModelFailure::unreachable)? else { return Ok(None) };
        let received = received + chunk.len();
        if received > MAX_BODY_BYTES {
            return Err(ModelFailure::unreadable(format!("it is longer than {MAX_BODY_BYTES} bytes")));
        }
        Ok(Some((chunk, (response, received))))
    })
}
