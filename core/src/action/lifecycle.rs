//! Opens, confirms, rejects and expires the pending action of a turn. (docs/spec/pipeline.md#2.10, docs/decisions/README.md#3)

use serde_json::{Value, json};

use super::{Choice, Named, Runtime, Status, named};
use crate::audit::Stage;
use crate::config::Decision;
use crate::session::Session;
use crate::turning::Turning;

/// Expires the open action, opens the turn's action, and records the user's decision about it.
pub fn start(cx: &mut Turning<'_>) {
    let mut runtime = Runtime::of(&cx.session);
    runtime.forget_elsewhere(&cx.session.intent, &cx.session.state);
    let (turn, now) = (cx.session.turn_number, cx.door.now());
    let expired = runtime.is_open() && runtime.is_over(turn, now);
    runtime.clone().store(&mut cx.session);
    if expired && expire(cx, runtime) {
        return;
    }
    proceed(cx);
}

/// Opens the turn's action if it is not open yet, and records the user's decision about it.
pub fn proceed(cx: &mut Turning<'_>) {
    let Choice::One(action) = named(cx) else { return };
    open(cx, &action);
    let status = match decision(&cx.session) {
        Some(Decision::ExecutePendingAction) => Status::InProgress,
        Some(Decision::RejectPendingAction) => Status::Rejected,
        Some(Decision::ReclassifyIntent | Decision::FillPendingSlot) | None => return,
    };
    change(cx, status, &action);
}

/// Opens an action that was unknown before the intent was resolved. It cannot be executed in this turn: nobody has confirmed it.
pub fn open_late(cx: &mut Turning<'_>) {
    let turn = cx.session.turn_number;
    let mut runtime = Runtime::of(&cx.session);
    runtime.forget_elsewhere(&cx.session.intent, &cx.session.state);
    let is_decided = [Status::Expired, Status::Rejected].iter().any(|it| runtime.reached(*it, turn));
    if Runtime::exists(&cx.session) {
        runtime.store(&mut cx.session);
    }
    if is_decided {
        return;
    }
    if let Choice::One(action) = named(cx) {
        open(cx, &action);
    }
}

/// Reverts this turn's decision about the action, because the message needs an approval first.
pub fn put_back(cx: &mut Turning<'_>) {
    let turn = cx.session.turn_number;
    let mut runtime = Runtime::of(&cx.session);
    if [Status::InProgress, Status::Rejected].iter().any(|it| runtime.reached(*it, turn)) {
        runtime.reopen();
        runtime.store(&mut cx.session);
        cx.session.set_param("pending_action_runtime_status", Status::Open.name());
    }
}

/// The current policy decision.
pub fn decision(session: &Session) -> Option<Decision> {
    session.params.get("policy_decision").and_then(Value::as_str).and_then(Decision::parse)
}

/// Expires the open action. Returns true when the turn is about it, so that it is not opened again in this turn.
///
/// A late confirmation keeps the intent: the response of its state asks again, and the next turn reopens the action.
fn expire(cx: &mut Turning<'_>, mut runtime: Runtime) -> bool {
    let (turn, now) = (cx.session.turn_number, cx.door.now());
    let is_other_action = match named(cx) {
        Choice::One(action) => action.reference != runtime.reference(),
        Choice::Several(_) => true,
        Choice::None => false,
    };
    runtime.change(Status::Expired, turn, now);
    runtime.store(&mut cx.session);
    cx.session.set_param("pending_action_runtime_status", Status::Expired.name());
    cx.audit(Stage::PendingActionLifecycle, |_| json!({"event": "EXPIRED", "status": "EXPIRED", "turn": turn}));
    if is_other_action {
        return false;
    }
    cx.session.drop_pending();
    if decision(&cx.session) == Some(Decision::ExecutePendingAction) {
        cx.session.set_param("policy_decision", Decision::ReclassifyIntent.name());
    }
    true
}

fn open(cx: &mut Turning<'_>, action: &Named) {
    let mut runtime = Runtime::of(&cx.session);
    if runtime.is_open() && runtime.is_about(action) {
        return;
    }
    let limits = &cx.config.settings.action_lifecycle;
    runtime.open(action, cx.session.turn_number, cx.door.now(), limits.ttl_turns, limits.ttl_minutes);
    runtime.store(&mut cx.session);
    tell(cx, Status::Open, action);
}

fn change(cx: &mut Turning<'_>, status: Status, action: &Named) {
    let mut runtime = Runtime::of(&cx.session);
    runtime.change(status, cx.session.turn_number, cx.door.now());
    runtime.store(&mut cx.session);
    tell(cx, status, action);
}

fn tell(cx: &mut Turning<'_>, status: Status, action: &Named) {
    let name = status.name();
    cx.session.set_param("pending_action_runtime_status", name);
    cx.audit(
        Stage::PendingActionLifecycle,
        |_| json!({"event": name, "status": name, "actionKey": action.key, "actionRef": action.reference}),
    );
}
