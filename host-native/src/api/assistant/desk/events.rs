//! `GET /v1/desk/events`: tells a desk that its list or a conversation has changed.
//!
//! An event says which conversation changed, never how: clients read it again. A stream begins with `ready`, on which a client that was
//! disconnected reads everything again, so that no event needs to be stored.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use convengine_access::api_error::ApiError;
use convengine_storage::assistant::handoff;
use convengine_turns::session_changes::SessionChange;
use futures_util::stream;
use serde_json::json;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until};

use crate::api::event_stream::{COMMENT, HEADERS, HEARTBEAT};
use crate::api::host::Host;

/// How often the list is compared where other processes change it.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Opens the event stream of the desk.
#[utoipa::path(
    get,
    path = "/v1/desk/events",
    tag = "desk",
    responses(
        (
            status = 200,
            description = "`ready` first, then `changed` with the `session_id` of a conversation, or null if any may have changed",
            body = String,
            content_type = "text/event-stream",
        ),
    ),
)]
pub async fn events(State(host): State<Arc<Host>>) -> Result<Response, ApiError> {
    let changes = host.turns.session_changes.subscribe();
    let revision = handoff::find_revision(&host.content.readers).await?;
    let watcher = DeskWatcher { host, changes, revision, heartbeat: Instant::now() + HEARTBEAT };
    let first = stream::once(async { Ok::<Bytes, Infallible>(Bytes::from_static(b"event:ready\ndata:{}\n\n")) });
    let rest = stream::unfold(watcher, |mut watcher| async move {
        let event = watcher.next_event().await?;
        Some((Ok(event), watcher))
    });
    Ok((HEADERS, Body::from_stream(stream::StreamExt::chain(first, rest))).into_response())
}

struct DeskWatcher {
    host: Arc<Host>,
    changes: broadcast::Receiver<SessionChange>,
    revision: (i64, i64),
    heartbeat: Instant,
}

impl DeskWatcher {
    /// Waits for the next event; `None` when the server stops.
    async fn next_event(&mut self) -> Option<Bytes> {
        let host = Arc::clone(&self.host);
        loop {
            tokio::select! {
                change = self.changes.recv() => match change {
                    Ok(change) if change.is_handoff => return Some(self.render_change(Some(&change.session)).await),
                    Ok(_) => {}
                    Err(RecvError::Lagged(_)) => return Some(self.render_change(None).await),
                    Err(RecvError::Closed) => return None,
                },
                () = host.content.connectivity.pause(POLL_INTERVAL), if host.content.readers.is_shared() => {
                    // A database that is unavailable for a moment changes nothing.
                    let found = handoff::find_revision(&host.content.readers).await.unwrap_or(self.revision);
                    if found != self.revision {
                        return Some(self.render_change(None).await);
                    }
                }
                () = sleep_until(self.heartbeat) => {
                    self.heartbeat = Instant::now() + HEARTBEAT;
                    return Some(COMMENT);
                }
                () = host.turns.streams.wait_closed() => return None,
            }
        }
    }

    async fn render_change(&mut self, session: Option<&str>) -> Bytes {
        self.heartbeat = Instant::now() + HEARTBEAT;
        self.revision = handoff::find_revision(&self.host.content.readers).await.unwrap_or(self.revision);
        Bytes::from(format!("event:changed\ndata:{}\n\n", json!({"session_id": session})))
    }
}
