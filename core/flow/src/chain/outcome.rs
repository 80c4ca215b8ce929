//! Ends a turn: builds the answer and the writes.

use std::mem::take;
use std::sync::Arc;

use convengine_text::cron::parse_instant;
use convengine_text::json::{object, serialized_length};
use convengine_turn::{Outcome, Payload, PayloadKind, SessionAfter, Write};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Runner;
use super::state::RunState;
use crate::with_member;

/// Maximum bytes of a stored run.
const MAX_RUN_BYTES: usize = 1024 * 1024;

/// Builds the outcome of a turn.
pub(super) fn build_outcome(mut runner: Runner<'_>) -> Outcome {
    let is_unchanged = runner.is_unreadable || runner.refusal.is_some();
    if !is_unchanged {
        runner.set_timers();
        if serialized_length(&runner.state).is_none_or(|it| it > MAX_RUN_BYTES) {
            fail_oversized_run(&mut runner);
        }
    }
    let state = serde_json::to_value(&runner.state).unwrap_or_default();
    let mut answer = object([("run_id", json!(runner.state.id)), ("status", json!(runner.state.status))]);
    if runner.is_unreadable {
        answer = with_member(answer, "error", Some(json!({"code": "state_unreadable", "message": "the stored run cannot be read"})));
    } else {
        answer = with_member(answer, "run", Some(to_view(&runner.state)));
    }
    if let Some(refusal) = &runner.refusal {
        let mut error = json!({"code": refusal.code, "message": refusal.message});
        if let (Some(error), Some(details)) = (error.as_object_mut(), refusal.details.as_object()) {
            error.extend(details.clone());
        }
        answer = with_member(answer, "error", Some(error));
    }
    let texts: Vec<&str> = runner.messages.iter().filter_map(|message| message.get("text")?.as_str()).collect();
    let payload = Payload { kind: PayloadKind::Text, value: texts.join("\n") };
    answer = with_member(answer, "messages", Some(Value::Array(take(&mut runner.messages))));
    let place = runner.state.cursor.clone().unwrap_or_default();
    let session = SessionAfter {
        intent: String::new(),
        state: place.clone(),
        context: Arc::new(runner.state.context.clone()),
        params: Arc::default(),
    };
    let mut writes = take(&mut runner.writes);
    if !is_unchanged {
        writes.push(Write::Session { state: Box::new(state) });
    }
    Outcome {
        conversation_id: runner.state.id,
        intent: String::new(),
        state: place,
        payload: Some(payload),
        context: None,
        fault: None,
        writes,
        session,
        flow: Some(Box::new(answer)),
    }
}

/// Fails a run that exceeds the size limit, and drops what is large.
fn fail_oversized_run(runner: &mut Runner<'_>) {
    for attempt in runner.state.primary_trace.iter_mut().chain(&mut runner.state.branch_trace) {
        attempt.input = None;
        attempt.output = None;
    }
    runner.state.context.clear();
    runner.state.trigger.shift_remove("body");
    runner.fail_run("state_too_large", "the run stores more than 1 MiB; keep less of what services answer");
    runner.set_timers();
}

/// Returns a stored run as it is shown: without what only the interpreter needs, such as its frames and timers. `None` when it cannot be
/// read.
pub fn run_view(state: &Value) -> Option<Value> {
    RunState::deserialize(state).ok().as_ref().map(to_view)
}

fn to_view(state: &RunState) -> Value {
    let duration = || {
        let (start, end) = (parse_instant(state.started_at.as_deref()?)?, parse_instant(state.ended_at.as_deref()?)?);
        Some(end.saturating_sub(start))
    };
    let members = [
        ("id", json!(state.id)),
        ("chain", json!(state.chain)),
        ("snapshot", json!(state.snapshot)),
        ("status", json!(state.status)),
        ("trigger", json!(state.trigger)),
        ("idempotency_key", json!(state.idempotency_key)),
        ("context", json!(state.context)),
        ("cursor", json!(state.cursor)),
        ("branch_taken", json!(state.branch_taken)),
        ("primary_trace", json!(state.primary_trace)),
        ("branch_trace", json!(state.branch_trace)),
        ("wait", json!(state.wait)),
        ("wake_at", json!(state.wake_at)),
        ("attempt", json!(state.attempt)),
        ("started_at", json!(state.started_at)),
        ("ended_at", json!(state.ended_at)),
        ("duration_ms", json!(duration())),
        ("error", json!(state.error)),
        ("usage", json!(state.usage)),
    ];
    Value::Object(members.into_iter().filter(|it| !it.1.is_null()).map(|(name, value)| (name.to_owned(), value)).collect())
}
