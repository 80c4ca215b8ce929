//! What cannot be taken back needs a yes. (I3)

use convengine_core::config::DialogueAct;
use convengine_core::text::collapse_whitespace;
use convengine_core::turn::{Effect, EffectClass, HttpCaller, Map, Request, TaskUse};
use serde_json::Value;

use super::Scene;
use crate::simulate::run::Answered;

/// The step that carries pending actions out.
const STEP: &str = "PendingActionStep";

/// I3: a pending action is carried out only by its step and when the user has agreed to it, and nothing is carried out for a message
/// that waits for an approval.
pub(super) fn given(scene: &Scene<'_>) -> Option<String> {
    let run = scene.run;
    for it in &run.answered {
        let id = it.effect.id.0;
        let step = it.step.as_ref().filter(|it| it.step == STEP);
        if needs_a_yes(&it.effect) && step.is_none() {
            return Some(format!("effect {id} cannot be taken back and belongs to no pending action"));
        }
        if !is_pending_action(it) {
            continue;
        }
        if let Some(reason) = step.and_then(|it| refusal(scene, &it.session)) {
            return Some(format!("effect {id} carries a pending action out: {reason}"));
        }
    }
    let mut held = run.answered.iter().filter(|it| carries_out(&it.effect) || is_pending_action(it));
    let held = held.find(|it| is_held_back(scene, it))?;
    Some(format!("effect {} is asked for a message that is sensitive and not approved", held.effect.id.0))
}

/// Whether an effect does what nobody may do without a yes.
fn needs_a_yes(effect: &Effect) -> bool {
    let by_task = matches!(&effect.request, Request::Task(task) if task.called_for == TaskUse::PendingAction);
    by_task || effect.class == EffectClass::Irreversible
}

/// Whether an effect carries a pending action out: what its step asks for, other than for hooks.
fn is_pending_action(it: &Answered) -> bool {
    let is_of_step = it.step.as_ref().is_some_and(|it| it.step == STEP);
    match &it.effect.request {
        Request::Task(task) => task.called_for == TaskUse::PendingAction,
        Request::Http(_) | Request::Extension(_) | Request::Tool(_) | Request::Sql(_) => is_of_step,
        Request::Llm(_) | Request::Embed(_) | Request::Container(_) | Request::Sleep(_) => false,
    }
}

fn refusal(scene: &Scene<'_>, session: &Map) -> Option<&'static str> {
    let at = |path: &str| session.get("context").and_then(|it| it.pointer(path));
    let param = |name: &str| session.get("inputParams").and_then(|it| it.get(name)).and_then(Value::as_str).unwrap_or_default();
    if param("policy_decision") != "EXECUTE_PENDING_ACTION" {
        return Some("nobody has decided so");
    }
    let turn = scene.run.input.session.turns_since_reset + 1;
    let agreed = at("/pending_action_runtime/status").and_then(Value::as_str) == Some("IN_PROGRESS")
        && at("/pending_action_runtime/in_progress_turn").and_then(Value::as_u64) == Some(turn.into());
    if scene.config.settings.action_lifecycle.enabled && !agreed {
        return Some("it was not agreed to in this turn");
    }
    // A yes, or the choice of one of several after a yes.
    let open = scene.run.input.session.conversation.as_ref().and_then(|it| it.context.get("pending_clarification")?.get("options"));
    let chosen = open.and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    (param("dialogue_act") != DialogueAct::Affirm.name() && !chosen).then_some("the message is no yes")
}

/// Whether an effect does something for the message, at the wish of a planner or a client.
fn carries_out(effect: &Effect) -> bool {
    match &effect.request {
        Request::Tool(_) | Request::Sql(_) => true,
        Request::Http(it) => matches!(it.caller, HttpCaller::Tool(_)),
        Request::Task(it) => it.called_for == TaskUse::Tool,
        Request::Llm(_) | Request::Embed(_) | Request::Container(_) | Request::Sleep(_) | Request::Extension(_) => false,
    }
}

/// Whether the message of an effect is sensitive and nobody has approved it.
fn is_held_back(scene: &Scene<'_>, it: &Answered) -> bool {
    let (settings, input) = (&scene.config.settings.guardrail, &scene.run.input);
    let text = collapse_whitespace(input.event.text.as_deref().unwrap_or_default());
    let yes = |it: &Value| *it == true || it.as_str().is_some_and(|it| it.trim().eq_ignore_ascii_case("true"));
    let client = ["approval_granted", "approvalGranted"].iter().any(|it| input.event.params.get(*it) == Some(&Value::Bool(true)));
    // An application may approve in the course of the turn, too.
    let of_step = it.step.as_ref().and_then(|it| it.session.get("context")?.as_object());
    let loaded = input.session.conversation.as_ref().map(|it| &it.context);
    let granted = of_step.or(loaded).and_then(|it| it.get("approval")?.get("granted")).is_some_and(yes);
    // A message that is nothing but a yes answers the one that waits.
    let waits = loaded.is_some_and(|it| it.contains_key("guardrail_pending"));
    let answers = waits && scene.config.dialogue_acts.match_pattern(text.trim()) == Some(DialogueAct::Affirm);
    settings.enabled
        && settings.require_approval
        && scene.config.sensitive_patterns.is_sensitive(&text) == Ok(true)
        && !client
        && !granted
        && !answers
}
