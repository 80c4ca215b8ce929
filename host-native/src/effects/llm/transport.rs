//! Sends requests and reads response bodies: as JSON, as server-sent events, and as lines.

use axum::body::Bytes;
use eventsource_stream::{Event, EventStream, EventStreamError};
use futures_util::future::ready;
use futures_util::stream::{Stream, StreamExt, try_unfold};
use reqwest::{RequestBuilder, Response};
use serde_json::Value;
use tokio::time::timeout;

use super::failure::ModelFailure;
use crate::config::settings::LlmTimeouts;

/// Maximum size of an answer in bytes.
pub const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;

/// Maximum line length of an event stream in bytes; its parser rescans the whole line with each chunk.
const MAX_LINE_BYTES: usize = 256 * 1024;

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
    serde_json::from_slice(&body).map_err(|it| if it.is_eof() { ModelFailure::truncated() } else { ModelFailure::unreadable(it) })
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

/// Streams the events of a body, without an incomplete last one.
pub fn stream_events(
    chunks: impl Stream<Item = Result<Bytes, ModelFailure>> + Send,
) -> impl Stream<Item = Result<Event, ModelFailure>> + Send {
    let chunks = chunks.scan(0, |line, chunk| {
        ready(Some(chunk.and_then(|it| if is_within_line_limit(line, &it) { Ok(it) } else { Err(line_too_long()) })))
    });
    EventStream::new(chunks).map(|it| it.map_err(map_event_error))
}

/// Returns whether no line of a chunk is too long. `line` is the length so far of the line that the chunk continues, and is updated to that
/// of the chunk's last line.
fn is_within_line_limit(line: &mut usize, chunk: &[u8]) -> bool {
    let mut lines = chunk.split(|it| *it == b'\n');
    let first = *line + lines.next().map_or(0, <[u8]>::len);
    *line = first;
    let longest = lines.fold(first, |longest, it| {
        *line = it.len();
        longest.max(it.len())
    });
    longest <= MAX_LINE_BYTES
}

fn line_too_long() -> ModelFailure {
    ModelFailure::unreadable(format!("a line of it is longer than {MAX_LINE_BYTES} bytes"))
}

fn map_event_error(error: EventStreamError<ModelFailure>) -> ModelFailure {
    match error {
        EventStreamError::Transport(failed) => failed,
        // The body ends in the middle of a character.
        EventStreamError::Utf8(error) if error.utf8_error().error_len().is_none() => ModelFailure::truncated(),
        EventStreamError::Utf8(error) => ModelFailure::unreadable(error),
        EventStreamError::Parser(_) => ModelFailure::unreadable("it is no stream of events"),
    }
}

/// Streams the lines of a body, without an incomplete last one.
pub fn stream_lines(
    chunks: impl Stream<Item = Result<Bytes, ModelFailure>> + Send,
) -> impl Stream<Item = Result<Vec<u8>, ModelFailure>> + Send {
    try_unfold((Box::pin(chunks), Vec::new(), 0), async |(mut chunks, mut buffer, mut searched)| {
        loop {
            if let Some(end) = buffer.get(searched..).and_then(|it: &[u8]| it.iter().position(|it| *it == b'\n')) {
                let rest = buffer.split_off(searched + end + 1);
                return Ok(Some((buffer, (chunks, rest, 0))));
            }
            searched = buffer.len();
            match chunks.next().await {
                Some(chunk) => buffer.extend_from_slice(&chunk?),
                None => return Ok(None),
            }
        }
    })
}
