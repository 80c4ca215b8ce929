//! Follows each request and response on its connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use http_body::{Body as _, Frame, SizeHint};

use super::body_timeout::TimedBody;
use super::{ConnectionPhase, Peer};

/// Limits the time of the request's body, and tells the connection when the response begins and ends.
pub async fn follow(State(body_timeout): State<Duration>, request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<ConnectInfo<Peer>>().map(|it| Arc::clone(&it.0.phase));
    let request = request.map(|body| if body.is_end_stream() { body } else { Body::new(TimedBody::new(body, body_timeout)) });
    let Some(phase) = peer else { return next.run(request).await };
    phase.begin_response();
    let ending = EndOfResponse(phase);
    let response = next.run(request).await;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        ending.0.upgrade();
        return response;
    }
    response.map(|body| Body::new(FollowedBody { body, _ending: ending }))
}

/// Ends the response when it is dropped: after the last byte was written, or when the client is gone.
#[derive(Debug)]
struct EndOfResponse(Arc<ConnectionPhase>);

impl Drop for EndOfResponse {
    fn drop(&mut self) {
        self.0.end_response();
    }
}

#[derive(Debug)]
struct FollowedBody {
    body: Body,
    _ending: EndOfResponse,
}

impl http_body::Body for FollowedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
