//! Opens, confirms, rejects and expires the pending action of a turn. (docs/spec/pipeline.md#2.10, docs/decisions/0005-pending-actions.md)

use convengine_config::InteractionDecision;
use convengine_turn::payload;
use serde_json::Value;

use super::{ActionChoice, ActionEvent, ActionRuntime, ActionStatus, ResolvedAction, resolve_action};
use crate::audit::Stage;
use crate::session::Session;
use crate::step_context::StepContext;

/// Expires the open action, opens the turn's action, and records the user's decision about it.
pub fn start(cx: &mut StepContext<'_>) {
    let mut runtime = ActionRuntime::from_session(&cx.session);
    runtime.remove_other_scopes(&cx.session.intent, &cx.session.state);
    let (turn, now) = (cx.session.turn_number, cx.effects.now());
    let expired = runtime.is_open() && runtime.is_expired(turn, now);
    runtime.clone().store(&mut cx.session);
    if expired && expire(cx, runtime) {
        return;
    }
    proceed(cx);
}

/// Opens the turn's action if it is not open yet, and records the user's decision about it.
pub fn proceed(cx: &mut StepContext<'_>) {
    let ActionChoice::One(action) = resolve_action(cx) else { return };
    open(cx, &action);
    let event = match current_decision(&cx.session) {
        Some(InteractionDecision::ExecutePendingAction) => ActionEvent::Confirm,
        Some(InteractionDecision::RejectPendingAction) => ActionEvent::Reject,
        Some(InteractionDecision::ReclassifyIntent | InteractionDecision::FillPendingSlot) | None => return,
    };
    decide(cx, event, &action);
}

/// Opens an action that was unknown before the intent was resolved. It cannot be executed in this turn: nobody has confirmed it.
pub fn open_late(cx: &mut StepContext<'_>) {
    let turn = cx.session.turn_number;
    let mut runtime = ActionRuntime::from_session(&cx.session);
    runtime.remove_other_scopes(&cx.session.intent, &cx.session.state);
    let is_decided = [ActionStatus::Expired, ActionStatus::Rejected].iter().any(|it| runtime.has_reached(*it, turn));
    if ActionRuntime::exists(&cx.session) {
        runtime.store(&mut cx.session);
    }
    if is_decided {
        return;
    }
    if let ActionChoice::One(action) = resolve_action(cx) {
        open(cx, &action);
    }
}

/// Reverts this turn's decision about the action, because the message needs an approval first.
pub fn undo_decision(cx: &mut StepContext<'_>) {
    let turn = cx.session.turn_number;
    let mut runtime = ActionRuntime::from_session(&cx.session);
    if runtime.has_reached(runtime.status(), turn)
        && let Some(status) = runtime.advance(runtime.status(), ActionEvent::Undo, &cx.effects)
    {
        runtime.remove_decision();
        runtime.store(&mut cx.session);
        cx.session.set_param("pending_action_runtime_status", status.name());
    }
}

/// The current policy decision.
pub fn current_decision(session: &Session) -> Option<InteractionDecision> {
    session.params.get("policy_decision").and_then(Value::as_str).and_then(InteractionDecision::parse)
}

/// Expires the open action. Returns true when the turn is about it, so that it is not opened again in this turn.
///
/// A late confirmation keeps the intent: the response of its state asks again, and the next turn reopens the action.
fn expire(cx: &mut StepContext<'_>, mut runtime: ActionRuntime) -> bool {
    let (turn, now) = (cx.session.turn_number, cx.effects.now());
    let is_other_action = match resolve_action(cx) {
        ActionChoice::One(action) => action.reference != runtime.reference(),
        ActionChoice::Several(_) => true,
        ActionChoice::None => false,
    };
    let Some(status) = runtime.advance(runtime.status(), ActionEvent::Expire, &cx.effects) else { return false };
    runtime.stamp(turn, now);
    runtime.store(&mut cx.session);
    cx.session.set_param("pending_action_runtime_status", status.name());
    cx.audit(Stage::PendingActionLifecycle, |_| payload!({"event": status.name(), "status": status.name(), "turn": turn}));
    if is_other_action {
        return false;
    }
    cx.session.drop_pending_action();
    if current_decision(&cx.session) == Some(InteractionDecision::ExecutePendingAction) {
        cx.session.set_param("policy_decision", InteractionDecision::ReclassifyIntent.name());
    }
    true
}

fn open(cx: &mut StepContext<'_>, action: &ResolvedAction) {
    let mut runtime = ActionRuntime::from_session(&cx.session);
    if runtime.is_open() && runtime.matches_action(action) {
        return;
    }
    let Some(status) = runtime.advance(runtime.status(), ActionEvent::Offer, &cx.effects) else { return };
    let limits = &cx.config.settings.action_lifecycle;
    runtime.begin(action, cx.session.turn_number, cx.effects.now(), limits.ttl_turns, limits.ttl_minutes);
    runtime.store(&mut cx.session);
    publish_status(cx, status, action);
}

fn decide(cx: &mut StepContext<'_>, event: ActionEvent, action: &ResolvedAction) {
    let mut runtime = ActionRuntime::from_session(&cx.session);
    let Some(status) = runtime.advance(runtime.status(), event, &cx.effects) else { return };
    runtime.stamp(cx.session.turn_number, cx.effects.now());
    runtime.store(&mut cx.session);
    publish_status(cx, status, action);
}

fn publish_status(cx: &mut StepContext<'_>, status: ActionStatus, action: &ResolvedAction) {
    let name = status.name();
    cx.session.set_param("pending_action_runtime_status", name);
    cx.audit(
        Stage::PendingActionLifecycle,
        |_| payload!({"event": name, "status": name, "actionKey": action.key, "actionRef": action.reference}),
    );
}
