//! The answer of a turn as a stream of events: in our own words, or as the UI message stream of the Vercel AI SDK.
//! (`convoship.md` 14, 15.6)
//!
//! | ours | data |
//! |---|---|
//! | `token` | a piece (`delta`) of what a model says to the user, before its message; `reset` says that those of its `effect` do not count |
//! | `message` | a message as the answer has it |
//! | `trace` | a trace event, for those who may see how the answer came about |
//! | `effect` | that something was asked for (`phase` `started`) or answered (`finished`), for the same |
//! | `done` | the whole answer |
//! | `error` | why there is none |
//!
//! Pieces are what is seen of an answer that is being written: the message that follows has all of it. They are not kept, so that an
//! event that is sent again is answered without them.

mod pieces;
mod writing;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{self, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use convengine_core::turn::Map;
use http_body::{Body, Frame};
use tokio::sync::mpsc;
use tokio::sync::oneshot;

use super::{REPLAYED, Sees, refused};
use crate::assistant::run::Running;
use crate::drive::{Answered, Host, Refusal};
use crate::http::error::ApiError;
use crate::stream::live::{Ear, Told};
use writing::Writing;

const VERCEL: HeaderName = HeaderName::from_static("x-vercel-ai-ui-message-stream");

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As events of our own.
    Own,
    /// As a UI message stream.
    Ui,
}

/// The form that a call asks for by `stream`; nothing for one JSON object.
///
/// # Errors
/// A refusal of a form that is not known.
pub fn form(uri: &Uri) -> Result<Option<Form>, ApiError> {
    let asked = uri.query().unwrap_or_default().split('&').find_map(|it| it.strip_prefix("stream="));
    match asked {
        None | Some("" | "false") => Ok(None),
        Some("true" | "own") => Ok(Some(Form::Own)),
        Some("ui") => Ok(Some(Form::Ui)),
        Some(_) => {
            let message = "no such stream: ask with stream=true for events, or with stream=ui for a UI message stream";
            Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, uri, message).coded("invalid_stream"))
        }
    }
}

/// Runs the turn of an event and tells of it as it runs.
///
/// # Errors
/// A refusal of a turn that has told nothing.
pub async fn told(host: &Arc<Host>, uri: &Uri, running: &Running, event: Map, sees: Sees, form: Form) -> Result<Response, ApiError> {
    let (ear, mut heard) = Ear::open();
    let (sender, ended) = oneshot::channel();
    let (turn_host, turn) = (Arc::clone(host), running.clone());
    // The turn goes on when its caller has gone.
    tokio::spawn(async move {
        let _ = sender.send(turn.tells(&turn_host, event, Some(ear)).await);
    });
    // What is refused at once is refused with its status.
    let first = heard.recv().await;
    let mut writing = Writing::new(form, sees, uri, &running.session);
    writing.begin();
    let Some(first) = first else {
        let answered = ended.await.unwrap_or_else(|_| Err(Refusal::Defect("the turn has no end".to_owned())));
        let answered = answered.map_err(|it| refused(&it, uri, &running.session))?;
        let again = answered.again;
        writing.end(Ok(answered));
        return Ok(response(form, again, body::Body::from(writing.written())));
    };
    writing.hear(first);
    let stream = Stream { writing, heard, ended: Some(ended) };
    Ok(response(form, false, body::Body::new(stream)))
}

fn response(form: Form, again: bool, body: body::Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform")),
    ];
    let mut response = (StatusCode::OK, headers, body).into_response();
    if form == Form::Ui {
        response.headers_mut().insert(VERCEL, HeaderValue::from_static("v1"));
    }
    if again {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

/// A body that lasts as long as the turn.
#[derive(Debug)]
struct Stream {
    writing: Writing,
    heard: mpsc::UnboundedReceiver<Told>,
    ended: Option<oneshot::Receiver<Result<Answered, Refusal>>>,
}

impl Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        loop {
            match this.heard.poll_recv(context) {
                Poll::Ready(Some(told)) => this.writing.hear(told),
                Poll::Ready(None) => break,
                Poll::Pending if this.writing.is_empty() => return Poll::Pending,
                Poll::Pending => return Poll::Ready(Some(Ok(Frame::data(this.writing.written().into())))),
            }
        }
        if let Some(ended) = &mut this.ended {
            let Poll::Ready(answered) = Pin::new(ended).poll(context) else { return Poll::Pending };
            this.ended = None;
            this.writing.end(answered.unwrap_or_else(|_| Err(Refusal::Defect("the turn has no end".to_owned()))));
        }
        if this.writing.is_empty() {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(Ok(Frame::data(this.writing.written().into()))))
    }
}
