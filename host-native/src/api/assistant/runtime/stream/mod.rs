//! Streams a turn as events: in our own format, or as a UI message stream of the Vercel AI SDK (docs/spec/flows.md#14,
//! docs/spec/flows.md#15.6).
//!
//! | event | data |
//! |---|---|
//! | `token` | a piece (`delta`) of model output for the user, before its message; `reset` retracts the pieces of its `effect` |
//! | `message` | a message as in the response |
//! | `trace` | a trace event, if debug information is visible |
//! | `effect` | the start or end of an effect (`phase` `started` or `finished`), if debug information is visible |
//! | `done` | the whole response |
//! | `error` | why there is no response |
//!
//! Pieces preview model output; the message that follows contains all of it. They are not stored, so that the response to a repeated
//! event has none.

mod pieces;
mod writer;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{self, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use convengine_access::api_error::ApiError;
use convengine_core::turn::Map;
use convengine_turns::Turns;
use convengine_turns::message::SubmitResult;
use convengine_turns::refusal::Refusal;
use convengine_turns::running_session::RunningSession;
use convengine_turns::stream::live::{LiveEvent, Subscriber};
use http_body::{Body, Frame};
use tokio::sync::mpsc;
use tokio::sync::oneshot;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout};

use super::{REPLAYED, Visibility, refuse};
use crate::api::event_stream::{COMMENT, HEARTBEAT};
use writer::EventWriter;

const VERCEL: HeaderName = HeaderName::from_static("x-vercel-ai-ui-message-stream");

/// The format of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFormat {
    /// Our own events.
    Events,
    /// A UI message stream.
    Ui,
}

/// Reads the format from the query parameter `stream`. Returns `None` for a single JSON object.
///
/// # Errors
/// 422 if the format is unknown.
pub fn requested_format(uri: &Uri) -> Result<Option<StreamFormat>, ApiError> {
    let requested = uri.query().unwrap_or_default().split('&').find_map(|it| it.strip_prefix("stream="));
    match requested {
        None | Some("" | "false") => Ok(None),
        Some("true" | "own") => Ok(Some(StreamFormat::Events)),
        Some("ui") => Ok(Some(StreamFormat::Ui)),
        Some(_) => {
            let message = "unknown stream format; use stream=true for events or stream=ui for a UI message stream";
            Err(ApiError::unprocessable(message).with_code("invalid_stream"))
        }
    }
}

/// Runs the turn of an event and streams it.
///
/// # Errors
/// A refusal of a turn that has produced no event.
pub async fn stream_turn(
    turns: &Arc<Turns>,
    running: &RunningSession,
    event: Map,
    sees: Visibility,
    form: StreamFormat,
) -> Result<Response, ApiError> {
    let (subscriber, mut events) = Subscriber::channel();
    let (sender, outcome) = oneshot::channel();
    let (runner, turn) = (Arc::clone(turns), running.clone());
    // The turn continues if its caller disconnects.
    tokio::spawn(async move {
        let _ = sender.send(turn.submit_event_with_subscriber(&runner, event, Some(subscriber)).await);
    });
    // A refusal before the first event is returned with its status, unless the turn takes so long to begin that a heartbeat is due.
    let first = timeout(HEARTBEAT, events.recv()).await;
    let mut writer = EventWriter::new(form, sees, &running.session, running.program.kind());
    writer.write_start();
    let Ok(first) = first else {
        return Ok(response(form, false, body::Body::new(TurnStream::new(writer, events, outcome))));
    };
    let Some(first) = first else {
        let answered = outcome.await.unwrap_or_else(|_| Err(Refusal::Internal("turn ended without an outcome".to_owned())));
        let answered = answered.map_err(|it| refuse(it, &running.session))?;
        let again = answered.is_repeat;
        writer.write_end(Ok(answered));
        return Ok(response(form, again, body::Body::from(writer.take_output())));
    };
    writer.write_live_event(first);
    Ok(response(form, false, body::Body::new(TurnStream::new(writer, events, outcome))))
}

fn response(form: StreamFormat, again: bool, body: body::Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform")),
    ];
    let mut response = (StatusCode::OK, headers, body).into_response();
    if form == StreamFormat::Ui {
        response.headers_mut().insert(VERCEL, HeaderValue::from_static("v1"));
    }
    if again {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

/// What a turn ends with.
type TurnOutcome = oneshot::Receiver<Result<SubmitResult, Refusal>>;

/// A response body that lasts as long as the turn.
#[derive(Debug)]
struct TurnStream {
    writer: EventWriter,
    events: mpsc::UnboundedReceiver<LiveEvent>,
    outcome: Option<TurnOutcome>,
    heartbeat: Interval,
}

impl TurnStream {
    fn new(writer: EventWriter, events: mpsc::UnboundedReceiver<LiveEvent>, outcome: TurnOutcome) -> TurnStream {
        let mut heartbeat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        TurnStream { writer, events, outcome: Some(outcome), heartbeat }
    }

    /// Sends what was written.
    fn take_output(&mut self) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.heartbeat.reset();
        Poll::Ready(Some(Ok(Frame::data(self.writer.take_output().into()))))
    }

    /// Sends a comment if nothing was sent for long.
    fn poll_heartbeat(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.heartbeat.poll_tick(context).map(|_| Some(Ok(Frame::data(COMMENT))))
    }
}

impl Body for TurnStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        loop {
            match this.events.poll_recv(context) {
                Poll::Ready(Some(event)) => this.writer.write_live_event(event),
                Poll::Ready(None) => break,
                Poll::Pending if this.writer.is_empty() => return this.poll_heartbeat(context),
                Poll::Pending => return this.take_output(),
            }
        }
        if let Some(ended) = &mut this.outcome {
            let Poll::Ready(answered) = Pin::new(ended).poll(context) else { return this.poll_heartbeat(context) };
            this.outcome = None;
            this.writer.write_end(answered.unwrap_or_else(|_| Err(Refusal::Internal("turn ended without an outcome".to_owned()))));
        }
        if this.writer.is_empty() {
            return Poll::Ready(None);
        }
        this.take_output()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use convengine_storage::assistant::DocumentKind;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn silence_of_a_running_turn_is_broken() {
        for form in [StreamFormat::Events, StreamFormat::Ui] {
            let writer = EventWriter::new(form, Visibility { debug: false }, "s", DocumentKind::Assistant);
            let (subscriber, events) = Subscriber::channel();
            let (sender, outcome) = oneshot::channel();
            let mut stream = TurnStream::new(writer, events, outcome);
            let start = Instant::now();
            for beat in 1..=3_u32 {
                let frame = poll_fn(|context| Pin::new(&mut stream).poll_frame(context)).await.expect("no end").expect("a frame");
                assert_eq!(frame.into_data().ok().as_deref(), Some(&b":\n\n"[..]), "{form:?}");
                assert_eq!(start.elapsed(), HEARTBEAT * beat);
            }
            drop(subscriber);
            let _ = sender.send(Err(Refusal::Internal("x".to_owned())));
            let last = poll_fn(|context| Pin::new(&mut stream).poll_frame(context)).await.expect("the end").expect("a frame");
            assert!(last.into_data().is_ok_and(|data| data.len() > 10), "{form:?}");
            assert!(poll_fn(|context| Pin::new(&mut stream).poll_frame(context)).await.is_none());
        }
    }
}
