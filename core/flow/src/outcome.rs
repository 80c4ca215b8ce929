//! Ends a turn: builds the answer and the writes.

use std::mem::take;
use std::sync::Arc;

use convengine_config::flow::document::ProgramKind;
use convengine_text::json::{object, serialized_length};
use convengine_turn::{CancelReason, Outcome, Payload, PayloadKind, SessionAfter, Write};
use serde_json::{Value, json};

use super::messages::MESSAGE_TOO_LARGE;
use super::session_start::parse_session;
use super::state::{SessionStatus, TurnStatus};
use super::walk::Walker;

/// Maximum bytes of a stored session.
const MAX_SESSION_BYTES: usize = 256 * 1024;

impl Walker<'_> {
    /// Ends the turn.
    pub fn into_outcome(self) -> Outcome {
        build_outcome(self)
    }

    /// Ends a turn that the host canceled. What was done before counts: the session is stored as it stands then.
    pub fn into_canceled_outcome(mut self, reason: CancelReason) -> Outcome {
        let reason = match reason {
            CancelReason::Timeout => "turn_timeout",
            CancelReason::Lost => "turn_lost",
            CancelReason::Requested => "turn_cancelled",
        };
        if self.turn.state.status == SessionStatus::HandedOff {
            self.turn.cancel_relay(reason);
        } else {
            self.abort_turn(reason);
        }
        self.leave_all_programs();
        build_outcome(self)
    }
}

/// Builds the outcome of a turn.
fn build_outcome(mut walker: Walker<'_>) -> Outcome {
    walker.close_program();
    let mut is_storable = serialized_length(&walker.turn.state).is_some_and(|it| it <= MAX_SESSION_BYTES);
    if !is_storable || walker.turn.record.is_oversized {
        let reason = if walker.turn.record.is_oversized { MESSAGE_TOO_LARGE } else { "state_too_large" };
        is_storable = fail_turn(&mut walker, reason);
    }
    let Walker { mut turn, root_flow, is_unreadable, .. } = walker;
    let status = match turn.state.status {
        SessionStatus::Active => TurnStatus::AwaitingInput,
        SessionStatus::HandedOff => TurnStatus::HandedOff,
        SessionStatus::Completed | SessionStatus::Abandoned => TurnStatus::Completed,
        SessionStatus::Failed => TurnStatus::Failed,
    };
    let now = turn.effects.now();
    let nodes: Vec<Value> = take(&mut turn.record.steps).into_iter().map(|it| it.into_json(now)).collect();
    let debug = object([
        ("matched_intent", take(&mut turn.record.debug.matched_intent)),
        ("nodes", Value::Array(nodes)),
        ("effects", Value::Array(take(&mut turn.record.debug.effects))),
        ("variables_changed", json!(turn.record.debug.changed_variables)),
        ("warnings", json!(turn.record.debug.warnings)),
        ("usage", json!(turn.state.usage)),
        ("stop_reason", if turn.record.stop_reason.is_empty() { Value::Null } else { json!(turn.record.stop_reason) }),
        ("effective_agent_provider", take(&mut turn.record.debug.provider)),
        ("effective_agent_model", take(&mut turn.record.debug.model)),
    ]);
    let texts: Vec<&str> = turn.record.messages.iter().filter_map(|message| message.get("text")?.as_str()).collect();
    let payload = Payload { kind: PayloadKind::Text, value: texts.join("\n") };
    let node_key = turn.state.current_node_key();
    let intent = turn.state.vars.get("_active_intent_id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let handoff = turn.state.handoff.as_ref().map(|handoff| {
        object([
            ("state", json!(handoff.state)),
            ("ticket", json!(handoff.ticket)),
            ("position", json!(handoff.position)),
            ("eta_ms", json!(handoff.eta_ms)),
            ("author", json!(handoff.author)),
        ])
    });
    let mut output = object([
        ("session_id", json!(turn.state.session_id)),
        ("turn", json!(turn.state.turn)),
        ("status", json!(status)),
        ("messages", Value::Array(take(&mut turn.record.messages))),
        ("awaiting", json!(turn.state.awaiting)),
        ("debug", debug),
    ]);
    if let Some(output) = output.as_object_mut() {
        output.extend(handoff.map(|it| ("handoff".to_owned(), it)));
        // The next message to an AI agent names the conversation instead of the session.
        let is_agent = root_flow.kind == ProgramKind::Agent;
        output.extend(is_agent.then(|| ("conversation_id".to_owned(), json!(turn.state.session_id))));
    }
    let mut writes = take(&mut turn.record.model_call_writes);
    let conversation_id = turn.state.session_id.clone();
    let is_stored = is_storable && !is_unreadable;
    writes.extend(is_stored.then(|| Write::Session { state: Box::new(serde_json::to_value(&turn.state).unwrap_or_default()) }));
    let context = Arc::new(take(&mut turn.state.vars));
    let session = SessionAfter { intent: intent.clone(), state: node_key.clone(), context, params: Arc::default() };
    Outcome {
        conversation_id,
        intent,
        state: node_key,
        payload: Some(payload),
        context: None,
        fault: None,
        writes,
        session,
        flow: Some(Box::new(output)),
    }
}

/// Fails a turn that exceeds a size limit. The session is restored to its state before the turn except for its counters, so that the next
/// call gets another idempotency key, and for its uncertain calls. Returns whether there is a session to store.
fn fail_turn(walker: &mut Walker<'_>, reason: &'static str) -> bool {
    if reason != MESSAGE_TOO_LARGE {
        walker.turn.warn(reason, json!({}));
    }
    walker.turn.record.messages.clear();
    walker.turn.record.debug.changed_variables.clear();
    let Some(before) = walker.session_before.as_deref().and_then(parse_session) else {
        walker.abort_turn(reason);
        return false;
    };
    let oversized = std::mem::replace(&mut walker.turn.state, before);
    walker.turn.state.turn = oversized.turn;
    walker.turn.state.seq = oversized.seq;
    walker.turn.state.usage = oversized.usage;
    walker.turn.state.uncertain_calls = oversized.uncertain_calls;
    // What the turn has told the model is undone as well.
    walker.turn.state.forget_awareness();
    walker.turn.state.last_event_at = oversized.last_event_at;
    walker.turn.state.counters.visits = oversized.counters.visits;
    walker.turn.trace("gives_up", json!({"reason": reason}));
    walker.turn.send_error();
    walker.turn.record.stop_reason = reason;
    walker.set_timers();
    serialized_length(&walker.turn.state).is_some_and(|it| it <= MAX_SESSION_BYTES)
}
