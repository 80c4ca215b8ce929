//! I3: an irreversible effect requires a confirmation.

use convengine_core::config::DialogueAct;
use convengine_core::text::collapse_whitespace;
use convengine_core::turn::{Effect, EffectClass, HttpCaller, Map, Request, TaskUse};
use serde_json::Value;

use super::TurnUnderTest;
use crate::simulate::run::AnsweredEffect;

/// The step that executes pending actions.
const PENDING_ACTION_STEP: &str = "PendingActionStep";

/// I3: a pending action is executed by its step only, and only after the user's confirmation; nothing is executed for a message that
/// waits for an approval.
pub(super) fn check_approval(scene: &TurnUnderTest<'_>) -> Option<String> {
    let run = scene.run;
    for answered in &run.answered {
        let id = answered.effect.id.0;
        let step = answered.step.as_ref().filter(|it| it.step == PENDING_ACTION_STEP);
        if needs_confirmation(&answered.effect) && step.is_none() && !is_approved_call(scene, answered) {
            return Some(format!("effect {id} is irreversible, and neither belongs to a pending action nor was approved"));
        }
        if !is_pending_action(answered) {
            continue;
        }
        if let Some(reason) = step.and_then(|it| missing_confirmation(scene, &it.session)) {
            return Some(format!("effect {id} executes a pending action: {reason}"));
        }
    }
    let mut held = run.answered.iter().filter(|answered| is_tool_call(&answered.effect) || is_pending_action(answered));
    let held = held.find(|it| is_unapproved(scene, it))?;
    Some(format!("effect {} is requested for a sensitive message that was not approved", held.effect.id.0))
}

/// Returns whether an effect requires a confirmation.
fn needs_confirmation(effect: &Effect) -> bool {
    let by_task = matches!(&effect.request, Request::Task(task) if task.called_for == TaskUse::PendingAction);
    by_task || effect.class == EffectClass::Irreversible
}

/// Returns whether an effect is exactly the tool call that waited for the message's approval, or one that the client requests and approves.
fn is_approved_call(scene: &TurnUnderTest<'_>, answered: &AnsweredEffect) -> bool {
    let Request::Tool(request) = &answered.effect.request else { return false };
    let input = &scene.run.input;
    let waiting = input.session.conversation.as_ref().and_then(|it| it.context.get("mcp_approval"));
    let is_waiting = waiting.is_some_and(|pending| {
        let is_next = pending.get("turn").and_then(Value::as_u64) == Some(input.session.turns_since_reset.into());
        let act = scene.config.dialogue_acts.match_pattern(
            input.event.text.as_deref().unwrap_or_default().trim().trim_end_matches(|letter: char| !letter.is_alphanumeric()),
        );
        let is_same = pending.get("tool_code").and_then(Value::as_str) == request.tool_code.as_deref()
            && pending.get("args") == Some(&request.args.clone().into());
        is_next && is_same && act == Some(DialogueAct::Affirm)
    });
    let is_of_client =
        input.event.params.get("approval_granted") == Some(&Value::Bool(true)) && input.event.params.contains_key("tool_request");
    is_waiting || is_of_client
}

/// Returns whether an effect executes a pending action: its step requests it, and not for a hook.
fn is_pending_action(answered: &AnsweredEffect) -> bool {
    let is_of_step = answered.step.as_ref().is_some_and(|it| it.step == PENDING_ACTION_STEP);
    match &answered.effect.request {
        Request::Task(task) => task.called_for == TaskUse::PendingAction,
        Request::Http(_) | Request::Extension(_) | Request::Tool(_) | Request::Sql(_) => is_of_step,
        Request::Llm(_)
        | Request::Embed(_)
        | Request::Container(_)
        | Request::Sleep(_)
        | Request::Knowledge(_)
        | Request::Script(_)
        | Request::PhraseSearch(_) => false,
    }
}

fn missing_confirmation(scene: &TurnUnderTest<'_>, session: &Map) -> Option<&'static str> {
    let at = |path: &str| session.get("context").and_then(|context| context.pointer(path));
    let param = |name: &str| session.get("inputParams").and_then(|params| params.get(name)).and_then(Value::as_str).unwrap_or_default();
    if param("policy_decision") != "EXECUTE_PENDING_ACTION" {
        return Some("there was no decision to execute it");
    }
    let turn = scene.run.input.session.turns_since_reset + 1;
    let agreed = at("/pending_action_runtime/status").and_then(Value::as_str) == Some("IN_PROGRESS")
        && at("/pending_action_runtime/in_progress_turn").and_then(Value::as_u64) == Some(turn.into());
    if scene.config.settings.action_lifecycle.enabled && !agreed {
        return Some("it was not confirmed in this turn");
    }
    // A confirmation, or the choice of one of several actions after a confirmation.
    let open = scene.run.input.session.conversation.as_ref().and_then(|row| row.context.get("pending_clarification")?.get("options"));
    let chosen = open.and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    (param("dialogue_act") != DialogueAct::Affirm.name() && !chosen).then_some("the message is not a confirmation")
}

/// Returns whether an effect runs a tool for the message, requested by a planner or a client.
fn is_tool_call(effect: &Effect) -> bool {
    match &effect.request {
        Request::Tool(_) | Request::Sql(_) => true,
        Request::Http(it) => matches!(it.caller, HttpCaller::Tool(_)),
        Request::Task(it) => it.called_for == TaskUse::Tool,
        Request::Llm(_)
        | Request::Embed(_)
        | Request::Container(_)
        | Request::Sleep(_)
        | Request::Extension(_)
        | Request::Knowledge(_)
        | Request::Script(_)
        | Request::PhraseSearch(_) => false,
    }
}

/// Returns whether the message of an effect is sensitive and was not approved.
fn is_unapproved(scene: &TurnUnderTest<'_>, answered: &AnsweredEffect) -> bool {
    let (settings, input) = (&scene.config.settings.guardrail, &scene.run.input);
    let text = collapse_whitespace(input.event.text.as_deref().unwrap_or_default());
    let is_true = |value: &Value| *value == true || value.as_str().is_some_and(|text| text.trim().eq_ignore_ascii_case("true"));
    let client = ["approval_granted", "approvalGranted"].iter().any(|name| input.event.params.get(*name) == Some(&Value::Bool(true)));
    // An application may also approve during the turn.
    let of_step = answered.step.as_ref().and_then(|step| step.session.get("context")?.as_object());
    let loaded = input.session.conversation.as_ref().map(|it| &it.context);
    let granted = of_step.or(loaded.map(|it| &**it)).and_then(|context| context.get("approval")?.get("granted")).is_some_and(is_true);
    // A bare confirmation approves the pending message.
    let is_pending = loaded.is_some_and(|it| it.contains_key("guardrail_pending"));
    let is_confirmation = is_pending && scene.config.dialogue_acts.match_pattern(text.trim()) == Some(DialogueAct::Affirm);
    settings.enabled
        && settings.require_approval
        && scene.config.sensitive_patterns.is_sensitive(&text) == Ok(true)
        && !client
        && !granted
        && !is_confirmation
}
