//! Executes the pending action when the user confirmed it, or drops it. (docs/spec/pipeline.md#2.19, docs/decisions/0005-pending-actions.md)
//! Reads: `policy_decision`, `pending_action_runtime`, `ce_pending_action`, `skip_pending_action_execution`. Writes: `pending_action_*`,
//! `pending_action_runtime`, the task's changes. Waits for: tasks.

use convengine_config::InteractionDecision;
use convengine_text::json::has_content;
use convengine_turn::{Map, TaskUse};
use serde_json::{Value, json};

use super::StepOutcome;
use crate::audit::Stage;
use crate::extension;
use crate::pending_action::{self, ActionChoice, ActionEvent, ActionRuntime, ActionStatus, ResolvedAction};
use crate::session::Session;
use crate::step_context::StepContext;

pub(super) async fn run(cx: &mut StepContext<'_>) -> StepOutcome {
    if cx.session.is_question_turn {
        return StepOutcome::Continue;
    }
    let is_true = |key: &str| cx.session.params.get(key) == Some(&Value::Bool(true));
    if is_true("skip_pending_action_execution") || is_true("guardrail_blocked") {
        explain(cx, "no action is carried out: the guardrail holds actions back in this turn");
        let reason = json!({"reason": "pending action skipped by guardrail"});
        cx.audit(Stage::PendingActionSkipped, |session| audit_payload(session, InteractionDecision::ReclassifyIntent, None, reason));
        return StepOutcome::Continue;
    }
    if cx.config.settings.action_lifecycle.enabled {
        pending_action::open_late(cx);
    }
    let decision = pending_action::current_decision(&cx.session);
    if matches!(decision, Some(InteractionDecision::ReclassifyIntent | InteractionDecision::FillPendingSlot) | None) {
        explain(cx, undecided_verdict(&cx.session));
    }
    match decision {
        Some(InteractionDecision::ExecutePendingAction) => execute(cx).await,
        Some(InteractionDecision::RejectPendingAction) => reject(cx),
        Some(InteractionDecision::ReclassifyIntent | InteractionDecision::FillPendingSlot) | None => {}
    }
    StepOutcome::Continue
}

async fn execute(cx: &mut StepContext<'_>) {
    let ActionChoice::One(action) = pending_action::resolve_action(cx) else {
        explain(cx, "no action runs: none is named, or several match");
        return audit_skipped(cx, InteractionDecision::ExecutePendingAction, None, not_found_reason(&cx.session));
    };
    let runtime = ActionRuntime::from_session(&cx.session);
    let agreed = runtime.matches_action(&action) && runtime.has_reached(ActionStatus::InProgress, cx.session.turn_number);
    if cx.config.settings.action_lifecycle.enabled && !agreed {
        explain(cx, "nothing is carried out: the user has not agreed to this action");
        return audit_skipped(
            cx,
            InteractionDecision::ExecutePendingAction,
            Some(&action),
            "the user has not agreed to this pending action",
        );
    }
    explain(cx, "the user agreed: the action is carried out");
    let before = BeforeTask {
        status: status_before(cx, &runtime),
        intent: cx.session.intent.clone(),
        state: cx.session.state.clone(),
        params: cx.session.params.clone(),
    };
    let Some(task) = &action.task else { return record_failed(cx, &action, "invalid pending action reference", &before) };
    match extension::call_task(cx, task, TaskUse::PendingAction, None, None).await {
        Ok(result) => record_executed(cx, &action, result, &before),
        Err(error) => record_failed(cx, &action, &error.message, &before),
    }
}

/// The session before the task, which may change it.
struct BeforeTask {
    status: ActionStatus,
    intent: String,
    state: String,
    params: Map,
}

/// The status that the turn moves from. Without the lifecycle, earlier turns do not count.
fn status_before(cx: &StepContext<'_>, runtime: &ActionRuntime) -> ActionStatus {
    if cx.config.settings.action_lifecycle.enabled { runtime.status() } else { ActionStatus::Absent }
}

fn record_executed(cx: &mut StepContext<'_>, action: &ResolvedAction, result: Value, before: &BeforeTask) {
    let mut runtime = ActionRuntime::from_session(&cx.session);
    // What a task has done is recorded in any case: nothing may carry it out again.
    let status = runtime.advance(before.status, ActionEvent::Succeed, &cx.effects).unwrap_or(ActionStatus::Executed);
    runtime.record_execution(action, &before.intent, &before.state);
    runtime.store(&mut cx.session);
    set_result(cx, status);
    cx.session.set_param("pending_action_task_result", result);
    cx.session.finish_pending_action(&before.params);
    commit_execution(cx, action);
    cx.audit(Stage::PendingActionExecuted, |session| {
        let task = action.task.as_ref();
        let (bean, methods) = (task.map(|task| task.bean.clone()), task.map(|task| task.methods.join(",")));
        let extra = json!({"pendingActionResult": status.name(), "taskBean": bean, "taskMethods": methods});
        audit_payload(session, InteractionDecision::ExecutePendingAction, Some(action), extra)
    });
}

/// Commits that the action was carried out, even when the rest of the turn fails: the next yes must not repeat it.
fn commit_execution(cx: &mut StepContext<'_>, action: &ResolvedAction) {
    let mut runtime = ActionRuntime::from_session(&cx.session);
    runtime.remove_decision();
    // A turn that fails leaves intent and state as they are stored, so the action has to be closed there.
    let row = cx.session.current_row();
    if !runtime.is_closed(action.key.as_deref(), &action.reference, &row.intent_code, &row.state_code) {
        runtime.record_execution(action, &row.intent_code, &row.state_code);
    }
    cx.session.commit_action(runtime.into_member(), cx.effects.now());
}

/// The action stays named: the next turn opens it again, so that the user can retry.
fn record_failed(cx: &mut StepContext<'_>, action: &ResolvedAction, reason: &str, before: &BeforeTask) {
    let mut runtime = ActionRuntime::from_session(&cx.session);
    let status = runtime.advance(before.status, ActionEvent::Fail, &cx.effects).unwrap_or(ActionStatus::Failed);
    runtime.set_reason(reason);
    runtime.store(&mut cx.session);
    set_result(cx, status);
    let extra = json!({"pendingActionResult": status.name(), "reason": reason});
    cx.audit(Stage::PendingActionFailed, |session| audit_payload(session, InteractionDecision::ExecutePendingAction, Some(action), extra));
}

fn reject(cx: &mut StepContext<'_>) {
    explain(cx, "the user said no: what was offered is dropped");
    let found = match pending_action::resolve_action(cx) {
        ActionChoice::One(action) => Some(action),
        ActionChoice::None | ActionChoice::Several(_) => None,
    };
    let mut runtime = ActionRuntime::from_session(&cx.session);
    // Several actions are rejected together, without one being named.
    if found.is_none() && !runtime.has_reached(ActionStatus::Rejected, cx.session.turn_number) {
        return audit_skipped(cx, InteractionDecision::RejectPendingAction, None, not_found_reason(&cx.session));
    }
    let Some(status) = runtime.advance(status_before(cx, &runtime), ActionEvent::Reject, &cx.effects) else { return };
    runtime.store(&mut cx.session);
    set_result(cx, status);
    cx.session.drop_pending_action();
    let extra = json!({"pendingActionResult": status.name()});
    cx.audit(Stage::PendingActionRejected, |session| {
        audit_payload(session, InteractionDecision::RejectPendingAction, found.as_ref(), extra)
    });
}

/// Why nobody has decided about an action in this turn.
fn undecided_verdict(session: &Session) -> &'static str {
    let status = session.params.get("pending_action_runtime_status").and_then(Value::as_str);
    if status == Some(ActionStatus::Expired.name()) {
        "no action is carried out: the offer has expired, and the next turn opens it again"
    } else {
        "no action is carried out: the user has not said yes or no to one"
    }
}

/// Explains the verdict; skipped when neither a row nor a parameter refers to an action.
fn explain(cx: &StepContext<'_>, verdict: &str) {
    let Some(explanation) = cx
        .effects
        .begin_explanation("pending_action")
        .map(|explanation| explanation.with_candidates(pending_action::explain_candidates(cx)))
    else {
        return;
    };
    let key = cx.session.params.get("pending_action_key");
    if key.is_some() || !explanation.rows.is_empty() {
        let about = json!({"decision": pending_action::current_decision(&cx.session).map(InteractionDecision::name), "key": key, "status": cx.session.params.get("pending_action_runtime_status")});
        explanation.with_subject(about).record(&cx.effects, verdict);
    }
}

fn set_result(cx: &mut StepContext<'_>, status: ActionStatus) {
    cx.session.set_param("pending_action_runtime_status", status.name());
    cx.session.set_param("pending_action_result", status.name());
}

fn not_found_reason(session: &Session) -> &'static str {
    if session.params.get("pending_action_key").is_some_and(has_content) {
        "pending action reference not found"
    } else {
        "pending action reference not found or ambiguous registry mapping"
    }
}

fn audit_skipped(cx: &StepContext<'_>, decision: InteractionDecision, action: Option<&ResolvedAction>, reason: &str) {
    cx.audit(Stage::PendingActionSkipped, |session| {
        let key = action.map_or_else(|| session.params.get("pending_action_key").cloned(), |action| action.key.clone().map(Value::from));
        audit_payload(session, decision, action, json!({"actionKey": key, "reason": reason}))
    });
}

fn audit_payload(session: &Session, decision: InteractionDecision, action: Option<&ResolvedAction>, extra: Value) -> Value {
    let mut payload = json!({
        "policyDecision": decision.name(), "pendingActionRef": action.map(|it| &it.reference), "intent": session.intent,
        "state": session.state, "context": session.context,
    });
    if let (Some(payload), Value::Object(extra)) = (payload.as_object_mut(), extra) {
        payload.extend(extra);
    }
    payload
}
