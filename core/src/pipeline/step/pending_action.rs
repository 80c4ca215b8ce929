//! Carries the pending action out when the user has agreed to it, or drops it. (`spec/pipeline.md` 2.19, `decisions.md` 3)
//! Reads: `policy_decision`, `pending_action_runtime`, `ce_pending_action`, `skip_pending_action_execution`. Writes: `pending_action_*`,
//! `pending_action_runtime`, what the task changes. Waits for: tasks.

use serde_json::{Value, json};

use super::Flow;
use crate::action::{self, Choice, Named, Runtime, Status};
use crate::audit::Stage;
use crate::config::Decision;
use crate::extension;
use crate::json::has_content;
use crate::session::Session;
use crate::turn::{Map, TaskUse};
use crate::turning::Turning;

pub(super) async fn run(t: &mut Turning<'_>) -> Flow {
    if t.session.stalled {
        return Flow::Continue;
    }
    let is_true = |key: &str| t.session.params.get(key) == Some(&Value::Bool(true));
    if is_true("skip_pending_action_execution") || is_true("guardrail_blocked") {
        explain(t, "no action is carried out: the guardrail holds actions back in this turn");
        let reason = json!({"reason": "pending action skipped by guardrail"});
        t.audit(Stage::PendingActionSkipped, |session| payload(session, Decision::ReclassifyIntent, None, reason));
        return Flow::Continue;
    }
    if t.config.settings.action_lifecycle.enabled {
        action::open_late(t);
    }
    let decision = action::decision(&t.session);
    if matches!(decision, Some(Decision::ReclassifyIntent | Decision::FillPendingSlot) | None) {
        explain(t, "no action is carried out: the user has not said yes or no to one");
    }
    match decision {
        Some(Decision::ExecutePendingAction) => execute(t).await,
        Some(Decision::RejectPendingAction) => reject(t),
        Some(Decision::ReclassifyIntent | Decision::FillPendingSlot) | None => {}
    }
    Flow::Continue
}

async fn execute(t: &mut Turning<'_>) {
    let Choice::One(action) = action::named(t) else {
        explain(t, "nothing is carried out: no action is named, or several compete");
        return skip(t, Decision::ExecutePendingAction, None, nothing_found(&t.session));
    };
    let runtime = Runtime::of(&t.session);
    let agreed = runtime.is_about(&action) && runtime.reached(Status::InProgress, t.session.turn_number);
    if t.config.settings.action_lifecycle.enabled && !agreed {
        explain(t, "nothing is carried out: the user has not agreed to this action");
        return skip(t, Decision::ExecutePendingAction, Some(&action), "the user has not agreed to this pending action");
    }
    explain(t, "the user agreed: the action is carried out");
    let Some(task) = &action.task else { return fail(t, &action, "invalid pending action reference") };
    let place = (t.session.intent.clone(), t.session.state.clone());
    let before = t.session.params.clone();
    match extension::call(t, task, TaskUse::PendingAction, None, None).await {
        Ok(result) => done(t, &action, result, &place, &before),
        Err(error) => fail(t, &action, &error.message),
    }
}

/// `place` and `before` are intent, state and parameters as they were when the task was called: it may have changed them.
fn done(t: &mut Turning<'_>, action: &Named, result: Value, place: &(String, String), before: &Map) {
    let mut runtime = Runtime::of(&t.session);
    runtime.close(Status::Executed, None);
    runtime.remember(action, &place.0, &place.1);
    runtime.store(&mut t.session);
    finish(t, Status::Executed);
    t.session.set_param("pending_action_task_result", result);
    t.session.finish_pending(before);
    t.audit(Stage::PendingActionExecuted, |session| {
        let task = action.task.as_ref();
        let (bean, methods) = (task.map(|it| it.bean.clone()), task.map(|it| it.methods.join(",")));
        let more = json!({"pendingActionResult": "EXECUTED", "taskBean": bean, "taskMethods": methods});
        payload(session, Decision::ExecutePendingAction, Some(action), more)
    });
}

/// The action stays named: the next turn opens it again, so that the user can ask for another try.
fn fail(t: &mut Turning<'_>, action: &Named, reason: &str) {
    let mut runtime = Runtime::of(&t.session);
    runtime.close(Status::Failed, Some(reason));
    runtime.store(&mut t.session);
    finish(t, Status::Failed);
    let more = json!({"pendingActionResult": "FAILED", "reason": reason});
    t.audit(Stage::PendingActionFailed, |session| payload(session, Decision::ExecutePendingAction, Some(action), more));
}

fn reject(t: &mut Turning<'_>) {
    explain(t, "the user said no: what was offered is dropped");
    let found = match action::named(t) {
        Choice::One(action) => Some(action),
        Choice::None | Choice::Several(_) => None,
    };
    let mut runtime = Runtime::of(&t.session);
    // All of several actions are rejected without one being named.
    if found.is_none() && !runtime.reached(Status::Rejected, t.session.turn_number) {
        return skip(t, Decision::RejectPendingAction, None, nothing_found(&t.session));
    }
    runtime.close(Status::Rejected, None);
    runtime.store(&mut t.session);
    finish(t, Status::Rejected);
    t.session.drop_pending();
    let more = json!({"pendingActionResult": "REJECTED"});
    t.audit(Stage::PendingActionRejected, |session| payload(session, Decision::RejectPendingAction, found.as_ref(), more));
}

/// Where no row and no parameter speaks of actions, there is nothing to say.
fn explain(t: &Turning<'_>, verdict: &str) {
    let Some(why) = t.door.why("pending_action").map(|it| it.of(action::considered(t))) else { return };
    let key = t.session.params.get("pending_action_key");
    if key.is_some() || !why.rows.is_empty() {
        let about = json!({"decision": action::decision(&t.session).map(Decision::name), "key": key, "status": t.session.params.get("pending_action_runtime_status")});
        why.about(about).decided(&t.door, verdict);
    }
}

fn finish(t: &mut Turning<'_>, status: Status) {
    t.session.set_param("pending_action_runtime_status", status.name());
    t.session.set_param("pending_action_result", status.name());
}

fn nothing_found(session: &Session) -> &'static str {
    if session.params.get("pending_action_key").is_some_and(has_content) {
        "pending action reference not found"
    } else {
        "pending action reference not found or ambiguous registry mapping"
    }
}

fn skip(t: &Turning<'_>, decision: Decision, action: Option<&Named>, reason: &str) {
    t.audit(Stage::PendingActionSkipped, |session| {
        let key = action.map_or_else(|| session.params.get("pending_action_key").cloned(), |it| it.key.clone().map(Value::from));
        payload(session, decision, action, json!({"actionKey": key, "reason": reason}))
    });
}

fn payload(session: &Session, decision: Decision, action: Option<&Named>, more: Value) -> Value {
    let mut payload = json!({
        "policyDecision": decision.name(), "pendingActionRef": action.map(|it| &it.reference), "intent": session.intent,
        "state": session.state, "context": session.context,
    });
    if let (Some(payload), Value::Object(more)) = (payload.as_object_mut(), more) {
        payload.extend(more);
    }
    payload
}
