//! The end of a turn: what is answered and what is stored.

use std::mem::take;

use serde_json::{Value, json};

use super::speak::TOO_LARGE;
use super::{Walk, session};
use crate::flow::state::{SessionStatus, TurnStatus};
use crate::json::{length, object};
use crate::turn::{Map, Outcome, Payload, PayloadKind, SessionAfter, Write};

/// Bytes that a session may have.
const LARGEST: usize = 256 * 1024;

/// The outcome of a turn as it stands.
pub(super) fn outcome(mut walk: Walk<'_>) -> Outcome {
    walk.set_timers();
    let mut fits = length(&walk.state).is_some_and(|it| it <= LARGEST);
    if !fits || walk.oversized {
        let why = if walk.oversized { TOO_LARGE } else { "state_too_large" };
        fits = fails(&mut walk, why);
    }
    let status = match walk.state.status {
        SessionStatus::Active => TurnStatus::AwaitingInput,
        SessionStatus::HandedOff => TurnStatus::HandedOff,
        SessionStatus::Completed | SessionStatus::Abandoned => TurnStatus::Completed,
        SessionStatus::Failed => TurnStatus::Failed,
    };
    let now = walk.door.now();
    let nodes: Vec<Value> = take(&mut walk.steps).into_iter().map(|it| it.shown(now)).collect();
    let debug = object([
        ("matched_intent", take(&mut walk.debug.matched)),
        ("nodes", Value::Array(nodes)),
        ("effects", Value::Array(take(&mut walk.debug.effects))),
        ("variables_changed", json!(walk.debug.changed)),
        ("warnings", json!(walk.debug.warnings)),
        ("usage", json!(walk.state.usage)),
        ("stop_reason", if walk.stop.is_empty() { Value::Null } else { json!(walk.stop) }),
        ("effective_agent_provider", take(&mut walk.debug.provider)),
        ("effective_agent_model", take(&mut walk.debug.model)),
    ]);
    let texts: Vec<&str> = walk.said.iter().filter_map(|it| it.get("text")?.as_str()).collect();
    let payload = Payload { kind: PayloadKind::Text, value: texts.join("\n") };
    let place = walk.standing();
    let intent = walk.state.vars.get("_active_intent_id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let session = SessionAfter { intent: intent.clone(), state: place.clone(), context: walk.state.vars.clone(), params: Map::new() };
    let output = object([
        ("session_id", json!(walk.state.session_id)),
        ("turn", json!(walk.state.turn)),
        ("status", json!(status)),
        ("messages", Value::Array(take(&mut walk.said))),
        ("awaiting", json!(walk.state.awaiting)),
        ("debug", debug),
    ]);
    let mut writes = take(&mut walk.kept);
    let conversation_id = walk.state.session_id.clone();
    let stored = fits && !walk.unreadable;
    writes.extend(stored.then(|| Write::Flow { state: Box::new(serde_json::to_value(&walk.state).unwrap_or_default()) }));
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

/// A turn that makes too much: its session stays as it was before, but for what was counted, so that the next call has another key. Says
/// whether there is such a session to store.
fn fails(walk: &mut Walk<'_>, why: &'static str) -> bool {
    if why != TOO_LARGE {
        walk.warn(why, json!({}));
    }
    walk.said.clear();
    walk.debug.changed.clear();
    let Some(before) = walk.before.as_deref().and_then(session) else {
        walk.gives_up(why);
        return false;
    };
    let now = std::mem::replace(&mut walk.state, before);
    walk.state.turn = now.turn;
    walk.state.seq = now.seq;
    walk.state.usage = now.usage;
    walk.state.last_event_at = now.last_event_at;
    walk.state.counters.visits = now.counters.visits;
    walk.trace("gives_up", json!({"reason": why}));
    walk.say_error();
    walk.stop = why;
    walk.set_timers();
    length(&walk.state).is_some_and(|it| it <= LARGEST)
}
