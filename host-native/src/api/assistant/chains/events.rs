//! The trace of a run, and its event stream.
//!
//! Both are derived from the stored turns, so that a stream can begin anywhere and continue after a reconnect.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use convengine_access::api_error::ApiError;
use convengine_core::turn::Write;
use convengine_storage::assistant::session;
use convengine_storage::run_blocking;
use convengine_turns::audit::derive::replay_turn;
use convengine_turns::chain::event;
use convengine_turns::session_changes::{SessionChange, wait_for_session};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::time::{Instant, sleep_until};

use super::{find_run, render_run};
use crate::api::assistant::runtime::inspect::{TurnWithConfig, load_turns_after, load_turns_of};
use crate::api::assistant::runtime::trace_events;
use crate::api::event_stream::{COMMENT, HEADERS, HEARTBEAT};
use crate::api::host::Host;
use crate::api::query::PathParams;

/// How often the number of turns of a run is read where other processes may execute it.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The maximum number of turns that are read at once.
const MAX_TURNS: i64 = 100;

/// Returns the trace of a run.
#[utoipa::path(
    get,
    path = "/v1/workflow-chains/{chain}/runs/{run}/trace",
    tag = "chains",
    responses(
        (status = 200, description = "The trace events, in order", body = ref("#/components/schemas/RunTrace")),
        (status = 404, description = "Run not found"),
    ),
)]
pub async fn trace(State(host): State<Arc<Host>>, PathParams((slug, run)): PathParams<(String, String)>) -> Result<Json<Value>, ApiError> {
    let (run, stored) = find_run(&host.content, &slug, &run).await?;
    let turns = load_turns_of(&host.content, &run).await?;
    let trace = move || turns.iter().flat_map(|it| trace_of(it, &stored.state)).collect::<Vec<Value>>();
    let events = run_blocking(trace).await?;
    Ok(Json(json!({"events": events})))
}

/// The trace events of a turn of the run with this state.
fn trace_of(turn: &TurnWithConfig, run: &Value) -> Vec<Value> {
    let mut rendered = trace_events::render_turn(turn, turn.0.number.into());
    let Value::Array(mut events) = rendered["events"].take() else { return Vec::new() };
    events.iter_mut().for_each(|it| add_error(it, run));
    events
}

/// Adds the error of a failed attempt, as the run keeps it, to the event of its end: also for an attempt after which the step was tried again.
fn add_error(event: &mut Value, run: &Value) {
    if event["kind"] != "chain.step" || event["data"]["status"] != "failed" {
        return;
    }
    let mut attempts = ["primary_trace", "branch_trace"].into_iter().filter_map(|trace| run.get(trace)?.as_array()).flatten();
    let data = &event["data"];
    let attempt = attempts.find(|attempt| attempt["path"] == data["path"] && attempt["attempt"] == data["attempt"]);
    if let Some(error) = attempt.and_then(|it| it.get("error")) {
        event["data"]["error"] = error.clone();
    }
}

/// Opens the event stream of a run: `run`, `step` and `trace` from its beginning, and `done` at its end.
#[utoipa::path(
    get,
    path = "/v1/workflow-chains/{chain}/runs/{run}/events",
    tag = "chains",
    params(("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that was received")),
    responses(
        (
            status = 200,
            description = "`run`, `step` and `trace` events from the beginning, and `done` with the run at its end",
            body = String,
            content_type = "text/event-stream",
        ),
        (status = 404, description = "Run not found"),
    ),
)]
pub async fn events(
    State(host): State<Arc<Host>>,
    PathParams((slug, run)): PathParams<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (run, _) = find_run(&host.content, &slug, &run).await?;
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()).and_then(|id| id.parse().ok());
    let changes = host.turns.session_changes.subscribe();
    let watcher = RunWatcher {
        host,
        slug,
        run,
        changes,
        seen_turns: 0,
        seen_seq: None,
        next_id: 1,
        skipped_until: last.unwrap_or(0),
        before: Value::Null,
        is_done: false,
        heartbeat: Instant::now() + HEARTBEAT,
    };
    let events = stream::unfold(watcher, |mut watcher| async move {
        let bytes = watcher.next_bytes().await?;
        Some((Ok::<Bytes, Infallible>(bytes), watcher))
    });
    Ok((HEADERS, Body::from_stream(events)).into_response())
}

/// Derives the events of a run from its turns as they are stored.
struct RunWatcher {
    host: Arc<Host>,
    slug: String,
    run: String,
    changes: broadcast::Receiver<SessionChange>,
    /// The number of turns whose events were sent.
    seen_turns: u32,
    /// The number of turns that the run had when all of them were seen.
    seen_seq: Option<i64>,
    next_id: u64,
    /// The last event that the client has received before.
    skipped_until: u64,
    /// The state of the run after the turns that were seen.
    before: Value,
    is_done: bool,
    heartbeat: Instant,
}

impl RunWatcher {
    /// Waits for new turns and returns their events; `None` at the end.
    async fn next_bytes(&mut self) -> Option<Bytes> {
        while !self.is_done {
            // A database that is unavailable for a moment changes nothing.
            let text = self.read_new().await.unwrap_or_default();
            if !text.is_empty() {
                self.heartbeat = Instant::now() + HEARTBEAT;
                return Some(Bytes::from(text));
            }
            if self.is_done {
                break;
            }
            let host = Arc::clone(&self.host);
            let may_run_elsewhere = host.content.readers.is_shared();
            tokio::select! {
                () = wait_for_session(&mut self.changes, &self.run) => {}
                () = host.content.connectivity.pause(POLL_INTERVAL), if may_run_elsewhere => {}
                () = sleep_until(self.heartbeat) => {
                    self.heartbeat = Instant::now() + HEARTBEAT;
                    return Some(COMMENT);
                }
                () = host.turns.streams.wait_closed() => return None,
            }
        }
        None
    }

    /// Returns the events of turns that have ended since. A run without new turns costs one small query.
    async fn read_new(&mut self) -> sqlx::Result<String> {
        let seq = session::find_seq(&self.host.content.readers, &self.run).await?;
        if seq.is_some() && seq == self.seen_seq {
            return Ok(String::new());
        }
        let Some(stored) = event::find_run(&self.host.content, &self.slug, &self.run).await? else {
            self.is_done = true;
            return Ok(String::new());
        };
        let turns = load_turns_after(&self.host.content, &self.run, self.seen_turns, MAX_TURNS).await?;
        let has_more = i64::try_from(turns.len()).is_ok_and(|it| it >= MAX_TURNS);
        let replayed = run_blocking(move || {
            let state = |turn: &TurnWithConfig| replay_turn(&turn.0, turn.1.as_ref()).ok().and_then(|slice| state_after(slice.end?.writes));
            let replay = |turn: &TurnWithConfig| {
                let after = state(turn);
                (turn.0.number, trace_of(turn, after.as_ref().unwrap_or(&Value::Null)), after)
            };
            turns.iter().map(replay).collect::<Vec<_>>()
        })
        .await?;
        let mut text = String::new();
        if self.before.is_null() {
            text.push_str(&self.render("run", &json!({"status": "queued"})));
            self.before = json!({});
        }
        for (number, trace, state) in replayed {
            text.push_str(&self.render_turn(trace, state));
            self.seen_turns = number;
        }
        if has_more {
            return Ok(text);
        }
        self.seen_seq = seq;
        let shown = render_run(&stored.state);
        let is_final = ["succeeded", "failed", "cancelled"].iter().any(|status| shown.get("status") == Some(&json!(status)));
        if is_final && self.before.get("status") == stored.state.get("status") {
            text.push_str(&self.render("done", &shown));
            self.is_done = true;
        }
        Ok(text)
    }

    fn render_turn(&mut self, trace: Vec<Value>, state: Option<Value>) -> String {
        let mut text = String::new();
        for event in trace {
            text.push_str(&self.render("trace", &event));
        }
        let Some(state) = state else { return text };
        let attempts = |state: &Value| {
            let list = |name: &str| state.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
            list("primary_trace").into_iter().chain(list("branch_trace")).collect::<Vec<_>>()
        };
        let known = attempts(&self.before);
        for attempt in attempts(&state).iter().filter(|it| !known.contains(it)) {
            text.push_str(&self.render("step", attempt));
        }
        let about = |state: &Value| json!({"status": state.get("status"), "cursor": state.get("cursor")});
        if about(&self.before) != about(&state) {
            text.push_str(&self.render("run", &about(&state)));
        }
        self.before = state;
        text
    }

    /// Renders an event, unless the client has it already.
    fn render(&mut self, name: &str, data: &Value) -> String {
        let id = self.next_id;
        self.next_id += 1;
        if id <= self.skipped_until { String::new() } else { format!("id:{id}\nevent:{name}\ndata:{data}\n\n") }
    }
}

/// The state that a turn has stored.
fn state_after(writes: Vec<Write>) -> Option<Value> {
    writes.into_iter().find_map(|write| if let Write::Session { state } = write { Some(*state) } else { None })
}
