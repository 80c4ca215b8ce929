//! Opens, confirms, rejects and expires the pending action of a turn. (`spec/pipeline.md` 2.10, `decisions.md` 3)

use serde_json::{Value, json};

use super::{Choice, Named, Runtime, Status, named};
use crate::audit::Stage;
use crate::config::Decision;
use crate::session::Session;
use crate::turning::Turning;

/// Lets the open action expire, opens the turn's one, and notes what the user decided about it.
pub fn start(t: &mut Turning<'_>) {
    let mut runtime = Runtime::of(&t.session);
    runtime.forget_elsewhere(&t.session.intent, &t.session.state);
    let (turn, now) = (t.session.turn_number, t.door.now());
    let over = runtime.is_open() && runtime.is_over(turn, now);
    runtime.clone().store(&mut t.session);
    if over && expire(t, runtime) {
        return;
    }
    proceed(t);
}

/// Opens the action that the turn is about, if it is not open yet, and notes what the user decided about it.
pub fn proceed(t: &mut Turning<'_>) {
    let Choice::One(action) = named(t) else { return };
    open(t, &action);
    let status = match decision(&t.session) {
        Some(Decision::ExecutePendingAction) => Status::InProgress,
        Some(Decision::RejectPendingAction) => Status::Rejected,
        Some(Decision::ReclassifyIntent | Decision::FillPendingSlot) | None => return,
    };
    change(t, status, &action);
}

/// Opens what could not be seen before the intent was resolved. It cannot be carried out in this turn: nobody has agreed to it.
pub fn open_late(t: &mut Turning<'_>) {
    let turn = t.session.turn_number;
    let mut runtime = Runtime::of(&t.session);
    runtime.forget_elsewhere(&t.session.intent, &t.session.state);
    let decided = [Status::Expired, Status::Rejected].iter().any(|it| runtime.reached(*it, turn));
    if Runtime::exists(&t.session) {
        runtime.store(&mut t.session);
    }
    if decided {
        return;
    }
    if let Choice::One(action) = named(t) {
        open(t, &action);
    }
}

/// Takes back what this turn has decided about the action, because the message needs an approval first.
pub fn put_back(t: &mut Turning<'_>) {
    let turn = t.session.turn_number;
    let mut runtime = Runtime::of(&t.session);
    if [Status::InProgress, Status::Rejected].iter().any(|it| runtime.reached(*it, turn)) {
        runtime.reopen();
        runtime.store(&mut t.session);
        t.session.set_param("pending_action_runtime_status", Status::Open.name());
    }
}

/// The decision that stands at the moment.
pub fn decision(session: &Session) -> Option<Decision> {
    session.params.get("policy_decision").and_then(Value::as_str).and_then(Decision::parse)
}

/// Lets the open action expire; true when the turn is about it, so that it may not open again.
///
/// A yes that comes too late keeps the intent: the answer of its state asks again, and the next turn opens the action anew.
fn expire(t: &mut Turning<'_>, mut runtime: Runtime) -> bool {
    let (turn, now) = (t.session.turn_number, t.door.now());
    let other = match named(t) {
        Choice::One(action) => action.reference != runtime.reference(),
        Choice::Several(_) => true,
        Choice::None => false,
    };
    runtime.change(Status::Expired, turn, now);
    runtime.store(&mut t.session);
    t.session.set_param("pending_action_runtime_status", Status::Expired.name());
    t.audit(Stage::PendingActionLifecycle, |_| json!({"event": "EXPIRED", "status": "EXPIRED", "turn": turn}));
    if other {
        return false;
    }
    t.session.drop_pending();
    if decision(&t.session) == Some(Decision::ExecutePendingAction) {
        t.session.set_param("policy_decision", Decision::ReclassifyIntent.name());
    }
    true
}

fn open(t: &mut Turning<'_>, action: &Named) {
    let mut runtime = Runtime::of(&t.session);
    if runtime.is_open() && runtime.is_about(action) {
        return;
    }
    let limits = &t.config.settings.action_lifecycle;
    runtime.open(action, t.session.turn_number, t.door.now(), limits.ttl_turns, limits.ttl_minutes);
    runtime.store(&mut t.session);
    tell(t, Status::Open, action);
}

fn change(t: &mut Turning<'_>, status: Status, action: &Named) {
    let mut runtime = Runtime::of(&t.session);
    runtime.change(status, t.session.turn_number, t.door.now());
    runtime.store(&mut t.session);
    tell(t, status, action);
}

fn tell(t: &mut Turning<'_>, status: Status, action: &Named) {
    let name = status.name();
    t.session.set_param("pending_action_runtime_status", name);
    t.audit(
        Stage::PendingActionLifecycle,
        |_| json!({"event": name, "status": name, "actionKey": action.key, "actionRef": action.reference}),
    );
}
