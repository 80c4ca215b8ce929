//! Whether an event fits the session that it is for.

use convengine_core::chain;
use convengine_core::turn::{LoadedSession, Millis, UserEvent};
use convengine_host_base::clock;
use convengine_host_base::event_members::ARMED_SEQ;
use serde_json::Value;

use crate::refusal::Refusal;

/// Checks whether the session accepts an event.
///
/// # Errors
/// Returns [`Refusal::SessionEnded`] when the session has ended, [`Refusal::StaleTimer`] when it has advanced since the timer was armed.
pub fn check_event(session: &LoadedSession, event: &UserEvent) -> Result<(), Refusal> {
    let state = session.flow.as_ref();
    if state.and_then(|state| state.get("program")?.as_str()) == Some(chain::PROGRAM) {
        return check_run_event(state.map(|it| &**it), event);
    }
    let status = state.and_then(|state| state.get("status")?.as_str());
    if status.is_some_and(|it| !["active", "handed_off"].contains(&it)) {
        return Err(Refusal::SessionEnded);
    }
    let of_seq = event.flow.as_ref().and_then(|members| members.get(ARMED_SEQ)?.as_i64());
    let seq = state.and_then(|state| state.get("seq")?.as_i64());
    if of_seq.is_some() && of_seq != seq { Err(Refusal::StaleTimer) } else { Ok(()) }
}

/// Checks whether a run accepts an event.
fn check_run_event(state: Option<&Value>, event: &UserEvent) -> Result<(), Refusal> {
    let members = event.flow.as_deref().and_then(Value::as_object).cloned().unwrap_or_default();
    let of_seq = members.get(ARMED_SEQ).and_then(Value::as_i64);
    let seq = state.and_then(|state| state.get("seq")?.as_i64());
    if of_seq.is_some() && of_seq != seq {
        return Err(Refusal::StaleTimer);
    }
    match chain::check_event(state, &members) {
        Err(refusal) if refusal.code == "timer_not_armed" => Err(Refusal::StaleTimer),
        other => other.map_err(|refusal| Refusal::Run(Box::new(refusal))),
    }
}

/// Returns the earliest time of the session's next event.
pub fn earliest_event_at(session: &LoadedSession) -> Millis {
    let last = session.flow.as_ref().and_then(|state| state.get("last_event_at")?.as_str()).and_then(clock::parse);
    last.map_or(0, |it| it + 1)
}
