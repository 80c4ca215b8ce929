//! Bodies of answers: whole, as server-sent events, and as lines.

use axum::body::Bytes;
use eventsource_stream::{Event, EventStream, EventStreamError};
use futures_util::future::ready;
use futures_util::stream::{Stream, StreamExt, try_unfold};
use reqwest::{RequestBuilder, Response};
use serde_json::Value;

use super::failed::Failed;

/// The longest answer in bytes.
pub const LONGEST: usize = 8 * 1024 * 1024;

/// The longest line of a stream of events; its reader looks at the whole line again with each piece.
const LONGEST_LINE: usize = 256 * 1024;

/// The longest error that is read.
const LONGEST_ERROR: usize = 64 * 1024;

/// Sends a call; the answer has a status of success.
///
/// # Errors
/// No answer, or one that reports an error.
pub async fn send(call: RequestBuilder) -> Result<Response, Failed> {
    let mut response = call.send().await.map_err(Failed::unreachable)?;
    if response.status().is_success() {
        return Ok(response);
    }
    let mut body = Vec::new();
    // The status stands also without the rest of the body.
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > LONGEST_ERROR {
            body.clear();
            break;
        }
    }
    Err(Failed::of_status(response.status().as_u16(), response.headers(), &String::from_utf8_lossy(&body)))
}

/// Reads a body of JSON.
///
/// # Errors
/// A body that breaks off, is too long or is no JSON.
pub async fn whole(response: Response) -> Result<Value, Failed> {
    let mut body = Vec::new();
    let mut chunks = std::pin::pin!(chunks(response));
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk?);
    }
    serde_json::from_slice(&body).map_err(|it| if it.is_eof() { Failed::truncated() } else { Failed::unreadable(it) })
}

/// The pieces of a body as they come in, up to the longest that is taken.
pub fn chunks(response: Response) -> impl Stream<Item = Result<Bytes, Failed>> + Send {
    try_unfold((response, 0), async |(mut response, taken)| {
        let Some(chunk) = response.chunk().await.map_err(Failed::unreachable)? else { return Ok(None) };
        let taken = taken + chunk.len();
        if taken > LONGEST {
            return Err(Failed::unreadable(format!("it is longer than {LONGEST} bytes")));
        }
        Ok(Some((chunk, (response, taken))))
    })
}

/// The events of a body; one that the body breaks off in does not come.
pub fn events(chunks: impl Stream<Item = Result<Bytes, Failed>> + Send) -> impl Stream<Item = Result<Event, Failed>> + Send {
    let chunks = chunks.scan(0, |line, chunk| ready(Some(chunk.and_then(|it| if fits(line, &it) { Ok(it) } else { Err(too_long()) }))));
    EventStream::new(chunks).map(|it| it.map_err(bad_event))
}

/// Whether no line of a piece is too long; `line` is what has come of its first one, and of its last one then.
fn fits(line: &mut usize, piece: &[u8]) -> bool {
    let mut lines = piece.split(|it| *it == b'\n');
    let first = *line + lines.next().map_or(0, <[u8]>::len);
    *line = first;
    let longest = lines.fold(first, |longest, it| {
        *line = it.len();
        longest.max(it.len())
    });
    longest <= LONGEST_LINE
}

fn too_long() -> Failed {
    Failed::unreadable(format!("a line of it is longer than {LONGEST_LINE} bytes"))
}

fn bad_event(error: EventStreamError<Failed>) -> Failed {
    match error {
        EventStreamError::Transport(failed) => failed,
        // The body ends within a character.
        EventStreamError::Utf8(error) if error.utf8_error().error_len().is_none() => Failed::truncated(),
        EventStreamError::Utf8(error) => Failed::unreadable(error),
        EventStreamError::Parser(_) => Failed::unreadable("it is no stream of events"),
    }
}

/// The lines of a body without their ends; one that the body breaks off in does not come.
pub fn lines(chunks: impl Stream<Item = Result<Bytes, Failed>> + Send) -> impl Stream<Item = Result<Vec<u8>, Failed>> + Send {
    try_unfold((Box::pin(chunks), Vec::new(), 0), async |(mut chunks, mut held, mut searched)| {
        loop {
            if let Some(end) = held.get(searched..).and_then(|it: &[u8]| it.iter().position(|it| *it == b'\n')) {
                let rest = held.split_off(searched + end + 1);
                return Ok(Some((held, (chunks, rest, 0))));
            }
            searched = held.len();
            match chunks.next().await {
                Some(chunk) => held.extend_from_slice(&chunk?),
                None => return Ok(None),
            }
        }
    })
}
