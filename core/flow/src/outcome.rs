//! Ends a turn: builds the answer and the writes.

use std::mem::take;
use std::sync::Arc;

use convengine_config::flow::document::ProgramKind;
use convengine_text::json::{object, serialized_length};
use convengine_turn::{Outcome, Payload, PayloadKind, SessionAfter, Write};
use serde_json::{Value, json};

use super::messages::MESSAGE_TOO_LARGE;
use super::{Walker, parse_session};
use crate::state::{SessionStatus, TurnStatus};

/// Maximum bytes of a stored session.
const MAX_SESSION_BYTES: usize = 256 * 1024;

/// Builds the outcome of a turn.
pub(super) fn build_outcome(mut walker: Walker<'_>) -> Outcome {
    walker.redact_explanations();
    walker.store_pending_values();
    walker.set_timers();
    let mut fits = serialized_length(&walker.state).is_some_and(|it| it <= MAX_SESSION_BYTES);
    if !fits || walker.record.is_oversized {
        let reason = if walker.record.is_oversized { MESSAGE_TOO_LARGE } else { "state_too_large" };
        fits = fail_turn(&mut walker, reason);
    }
    let status = match walker.state.status {
        SessionStatus::Active => TurnStatus::AwaitingInput,
        SessionStatus::HandedOff => TurnStatus::HandedOff,
        SessionStatus::Completed | SessionStatus::Abandoned => TurnStatus::Completed,
        SessionStatus::Failed => TurnStatus::Failed,
    };
    let now = walker.effects.now();
    let nodes: Vec<Value> = take(&mut walker.record.steps).into_iter().map(|it| it.into_json(now)).collect();
    let debug = object([
        ("matched_intent", take(&mut walker.record.debug.matched_intent)),
        ("nodes", Value::Array(nodes)),
        ("effects", Value::Array(take(&mut walker.record.debug.effects))),
        ("variables_changed", json!(walker.record.debug.changed_variables)),
        ("warnings", json!(walker.record.debug.warnings)),
        ("usage", json!(walker.state.usage)),
        ("stop_reason", if walker.record.stop_reason.is_empty() { Value::Null } else { json!(walker.record.stop_reason) }),
        ("effective_agent_provider", take(&mut walker.record.debug.provider)),
        ("effective_agent_model", take(&mut walker.record.debug.model)),
    ]);
    let texts: Vec<&str> = walker.record.messages.iter().filter_map(|it| it.get("text")?.as_str()).collect();
    let payload = Payload { kind: PayloadKind::Text, value: texts.join("\n") };
    let place = walker.current_node_key();
    let intent = walker.state.vars.get("_active_intent_id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let handoff = walker.state.handoff.as_ref().map(|it| {
        object([
            ("state", json!(it.state)),
            ("ticket", json!(it.ticket)),
            ("position", json!(it.position)),
            ("eta_ms", json!(it.eta_ms)),
            ("author", json!(it.author)),
        ])
    });
    let mut output = object([
        ("session_id", json!(walker.state.session_id)),
        ("turn", json!(walker.state.turn)),
        ("status", json!(status)),
        ("messages", Value::Array(take(&mut walker.record.messages))),
        ("awaiting", json!(walker.state.awaiting)),
        ("debug", debug),
    ]);
    if let Some(output) = output.as_object_mut() {
        output.extend(handoff.map(|it| ("handoff".to_owned(), it)));
        // The next message to an AI agent names the conversation instead of the session.
        let is_agent = walker.root_flow.kind == ProgramKind::Agent;
        output.extend(is_agent.then(|| ("conversation_id".to_owned(), json!(walker.state.session_id))));
    }
    let mut writes = take(&mut walker.record.model_call_writes);
    let conversation_id = walker.state.session_id.clone();
    let stored = fits && !walker.is_unreadable;
    writes.extend(stored.then(|| Write::Session { state: Box::new(serde_json::to_value(&walker.state).unwrap_or_default()) }));
    let context = Arc::new(take(&mut walker.state.vars));
    let session = SessionAfter { intent: intent.clone(), state: place.clone(), context, params: Arc::default() };
    Outcome {
        conversation_id,
        intent,
        state: place,
        payload: Some(payload),
        context: None,
        fault: None,
        writes,
        session,
        flow: Some(Box::new(output)),
    }
}

/// Fails a turn that exceeds a size limit. The session is restored to its state before the turn except for its counters, so that the next
/// call gets another idempotency key. Returns whether there is a session to store.
fn fail_turn(walker: &mut Walker<'_>, reason: &'static str) -> bool {
    if reason != MESSAGE_TOO_LARGE {
        walker.warn(reason, json!({}));
    }
    walker.record.messages.clear();
    walker.record.debug.changed_variables.clear();
    let Some(before) = walker.session_before.as_deref().and_then(parse_session) else {
        walker.abort_turn(reason);
        return false;
    };
    let now = std::mem::replace(&mut walker.state, before);
    walker.state.turn = now.turn;
    walker.state.seq = now.seq;
    walker.state.usage = now.usage;
    walker.state.last_event_at = now.last_event_at;
    walker.state.counters.visits = now.counters.visits;
    walker.trace("gives_up", json!({"reason": reason}));
    walker.send_error();
    walker.record.stop_reason = reason;
    walker.set_timers();
    serialized_length(&walker.state).is_some_and(|it| it <= MAX_SESSION_BYTES)
}
