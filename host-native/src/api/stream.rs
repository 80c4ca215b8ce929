//! `GET /api/v1/conversation/stream/{id}`: live events as server-sent events.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Extension;
use axum::body::{self, Bytes};
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use convengine_access::api_error::ApiError;
use convengine_access::caller::Caller;
use convengine_turns::stream::{Subscription, render_connected};
use http_body::{Body, Frame};
use serde::Deserialize;
use tokio::time::{Instant, Interval, MissedTickBehavior, Sleep, interval_at, sleep};

use super::event_stream::{COMMENT, HEADERS, HEARTBEAT};
use super::request::conversation_from_path;
use crate::api::host::Host;

/// Query parameters of the stream.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamQuery {
    /// Same as the `Last-Event-ID` header, for clients that cannot send it.
    last_event_id: Option<String>,
}

/// Opens the event stream of a conversation, which need not exist yet. With a last event id the stream resumes after that event.
#[utoipa::path(
    get,
    path = "/api/v1/conversation/stream/{id}",
    tag = "conversation",
    params(("lastEventId" = Option<String>, Query, description = "The event to resume after; same as the Last-Event-ID header")),
    responses(
        (status = 200, description = "Server-sent events until one side closes the stream", body = String, content_type = "text/event-stream"),
        (status = 400, description = "The conversation id is not a UUID"),
        (status = 404, description = "The conversation belongs to another caller"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn events(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    query: Result<Query<StreamQuery>, QueryRejection>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, ApiError> {
    let id = conversation_from_path(id)?;
    let after = match headers.get("last-event-id") {
        Some(it) => Some(it.to_str().unwrap_or_default().to_owned()),
        None => query.ok().and_then(|it| it.0.last_event_id),
    };
    let access = caller.access();
    if !host.turns.streams.may_subscribe(&id, &access).await? {
        return Err(ApiError::not_found("conversation not found; send the id of one of yours"));
    }
    let (subscription, resumed) =
        host.turns.streams.subscribe_from(&id, after.as_deref().filter(|after| !after.trim().is_empty()), &access).await;
    let events = EventBody::new(subscription, render_connected(&id, resumed), HEARTBEAT, host.turns.stream_settings.timeout);
    Ok((HEADERS, body::Body::new(events)).into_response())
}

/// A response body that ends when its time is over, its subscriber falls behind or the server stops.
#[derive(Debug)]
struct EventBody {
    first: Option<Bytes>,
    subscription: Subscription,
    heartbeat: Interval,
    end: Option<Pin<Box<Sleep>>>,
}

impl EventBody {
    fn new(subscription: Subscription, first: String, heartbeat_interval: Duration, max_duration: Option<Duration>) -> Self {
        let mut heartbeat = interval_at(Instant::now() + heartbeat_interval, heartbeat_interval);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        EventBody { first: Some(Bytes::from(first)), subscription, heartbeat, end: max_duration.map(|duration| Box::pin(sleep(duration))) }
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        if let Poll::Ready(events) = self.subscription.poll(context) {
            self.heartbeat.reset();
            return Poll::Ready(events);
        }
        if self.end.as_mut().is_some_and(|end| end.as_mut().poll(context).is_ready()) {
            return Poll::Ready(None);
        }
        self.heartbeat.poll_tick(context).map(|_| Some(COMMENT))
    }
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.poll_next(context).map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
    }
}

#[cfg(test)]
mod tests {
    use convengine_access::caller::ConversationAccess;
    use convengine_turns::stream::{Chunk, Streams};

    use super::*;

    async fn next(events: &mut EventBody) -> Option<String> {
        let bytes = std::future::poll_fn(|context| events.poll_next(context)).await;
        bytes.map(|bytes| String::from_utf8(bytes.to_vec()).expect("text"))
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_broken_and_a_stream_ends_in_time() {
        let streams = Arc::new(Streams::default());
        let seconds = Duration::from_secs;
        let mut events =
            EventBody::new(streams.subscribe("c", &ConversationAccess::all()), "first".to_owned(), seconds(20), Some(seconds(45)));
        let start = Instant::now();
        assert_eq!((next(&mut events).await.as_deref(), start.elapsed()), (Some("first"), Duration::ZERO));
        tokio::time::advance(seconds(15)).await;
        streams.publish("c", Chunk::new_unnumbered("event".to_owned()));
        assert_eq!((next(&mut events).await.as_deref(), start.elapsed()), (Some("event"), seconds(15)));
        assert_eq!((next(&mut events).await.as_deref(), start.elapsed()), (Some(":\n\n"), seconds(35)), "counted from the event");
        assert_eq!((next(&mut events).await, start.elapsed()), (None, seconds(45)));
        drop(events);
        assert!(!streams.has_subscribers("c"));
        let mut endless = EventBody::new(streams.subscribe("c", &ConversationAccess::all()), String::new(), seconds(20), None);
        for count in 0..1000 {
            assert!(next(&mut endless).await.is_some(), "{count}");
        }
    }
}
