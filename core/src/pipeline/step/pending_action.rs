//! Executes the pending action when the user confirmed it, or drops it. (docs/spec/pipeline.md#2.19, docs/decisions/README.md#3)
//! Reads: `policy_decision`, `pending_action_runtime`, `ce_pending_action`, `skip_pending_action_execution`. Writes: `pending_action_*`,
//! `pending_action_runtime`, the task's changes. Waits for: tasks.

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

pub(super) async fn run(cx: &mut Turning<'_>) -> Flow {
    if cx.session.stalled {
        return Flow::Continue;
    }
    let is_true = |key: &str| cx.session.params.get(key) == Some(&Value::Bool(true));
    if is_true("skip_pending_action_execution") || is_true("guardrail_blocked") {
        explain(cx, "no action is carried out: the guardrail holds actions back in this turn");
        let reason = json!({"reason": "pending action skipped by guardrail"});
        cx.audit(Stage::PendingActionSkipped, |session| payload(session, Decision::ReclassifyIntent, None, reason));
        return Flow::Continue;
    }
    if cx.config.settings.action_lifecycle.enabled {
        action::open_late(cx);
    }
    let decision = action::decision(&cx.session);
    if matches!(decision, Some(Decision::ReclassifyIntent | Decision::FillPendingSlot) | None) {
        explain(cx, "no action is carried out: the user has not said yes or no to one");
    }
    match decision {
        Some(Decision::ExecutePendingAction) => execute(cx).await,
        Some(Decision::RejectPendingAction) => reject(cx),
        Some(Decision::ReclassifyIntent | Decision::FillPendingSlot) | None => {}
    }
    Flow::Continue
}

async fn execute(cx: &mut Turning<'_>) {
    let Choice::One(action) = action::named(cx) else {
        explain(cx, "nothing is carried out: no action is named, or several compete");
        return skip(cx, Decision::ExecutePendingAction, None, nothing_found(&cx.session));
    };
    let runtime = Runtime::of(&cx.session);
    let agreed = runtime.is_about(&action) && runtime.reached(Status::InProgress, cx.session.turn_number);
    if cx.config.settings.action_lifecycle.enabled && !agreed {
        explain(cx, "nothing is carried out: the user has not agreed to this action");
        return skip(cx, Decision::ExecutePendingAction, Some(&action), "the user has not agreed to this pending action");
    }
    explain(cx, "the user agreed: the action is carried out");
    let Some(task) = &action.task else { return fail(cx, &action, "invalid pending action reference") };
    let scope = (cx.session.intent.clone(), cx.session.state.clone());
    let before = cx.session.params.clone();
    match extension::call(cx, task, TaskUse::PendingAction, None, None).await {
        Ok(result) => done(cx, &action, result, &scope, &before),
        Err(error) => fail(cx, &action, &error.message),
    }
}

/// `scope` and `before` are intent, state and parameters before the task, which may have changed them.
fn done(cx: &mut Turning<'_>, action: &Named, result: Value, scope: &(String, String), before: &Map) {
    let mut runtime = Runtime::of(&cx.session);
    runtime.close(Status::Executed, None);
    runtime.remember(action, &scope.0, &scope.1);
    runtime.store(&mut cx.session);
    finish(cx, Status::Executed);
    cx.session.set_param("pending_action_task_result", result);
    cx.session.finish_pending(before);
    cx.audit(Stage::PendingActionExecuted, |session| {
        let task = action.task.as_ref();
        let (bean, methods) = (task.map(|it| it.bean.clone()), task.map(|it| it.methods.join(",")));
        let extra = json!({"pendingActionResult": "EXECUTED", "taskBean": bean, "taskMethods": methods});
        payload(session, Decision::ExecutePendingAction, Some(action), extra)
    });
}

/// The action stays named: the next turn opens it again, so that the user can retry.
fn fail(cx: &mut Turning<'_>, action: &Named, reason: &str) {
    let mut runtime = Runtime::of(&cx.session);
    runtime.close(Status::Failed, Some(reason));
    runtime.store(&mut cx.session);
    finish(cx, Status::Failed);
    let extra = json!({"pendingActionResult": "FAILED", "reason": reason});
    cx.audit(Stage::PendingActionFailed, |session| payload(session, Decision::ExecutePendingAction, Some(action), extra));
}

fn reject(cx: &mut Turning<'_>) {
    explain(cx, "the user said no: what was offered is dropped");
    let found = match action::named(cx) {
        Choice::One(action) => Some(action),
        Choice::None | Choice::Several(_) => None,
    };
    let mut runtime = Runtime::of(&cx.session);
    // Several actions are rejected together, without one being named.
    if found.is_none() && !runtime.reached(Status::Rejected, cx.session.turn_number) {
        return skip(cx, Decision::RejectPendingAction, None, nothing_found(&cx.session));
    }
    runtime.close(Status::Rejected, None);
    runtime.store(&mut cx.session);
    finish(cx, Status::Rejected);
    cx.session.drop_pending();
    let extra = json!({"pendingActionResult": "REJECTED"});
    cx.audit(Stage::PendingActionRejected, |session| payload(session, Decision::RejectPendingAction, found.as_ref(), extra));
}

/// Explains the verdict; skipped when neither a row nor a parameter refers to an action.
fn explain(cx: &Turning<'_>, verdict: &str) {
    let Some(explanation) = cx.door.why("pending_action").map(|it| it.of(action::considered(cx))) else { return };
    let key = cx.session.params.get("pending_action_key");
    if key.is_some() || !explanation.rows.is_empty() {
        let about = json!({"decision": action::decision(&cx.session).map(Decision::name), "key": key, "status": cx.session.params.get("pending_action_runtime_status")});
        explanation.about(about).decided(&cx.door, verdict);
    }
}

fn finish(cx: &mut Turning<'_>, status: Status) {
    cx.session.set_param("pending_action_runtime_status", status.name());
    cx.session.set_param("pending_action_result", status.name());
}

fn nothing_found(session: &Session) -> &'static str {
    if session.params.get("pending_action_key").is_some_and(has_content) {
        "pending action reference not found"
    } else {
        "pending action reference not found or ambiguous registry mapping"
    }
}

fn skip(cx: &Turning<'_>, decision: Decision, action: Option<&Named>, reason: &str) {
    cx.audit(Stage::PendingActionSkipped, |session| {
        let key = action.map_or_else(|| session.params.get("pending_action_key").cloned(), |it| it.key.clone().map(Value::from));
        payload(session, decision, action, json!({"actionKey": key, "reason": reason}))
    });
}

fn payload(session: &Session, decision: Decision, action: Option<&Named>, extra: Value) -> Value {
    let mut payload = json!({
        "policyDecision": decision.name(), "pendingActionRef": action.map(|it| &it.reference), "intent": session.intent,
        "state": session.state, "context": session.context,
    });
    if let (Some(payload), Value::Object(extra)) = (payload.as_object_mut(), extra) {
        payload.extend(extra);
    }
    payload
}
