//! I2: effects with side effects are requested once.

use convengine_core::config::{ANY, Binding, Config, DialogueAct, Executor};
use convengine_core::json::canonical;
use convengine_core::turn::{EffectErrorKind, EffectResult, HttpCaller, Reply, Request, TaskUse};
use serde_json::json;

use super::TurnUnderTest;
use crate::simulate::fault::has_side_effects;
use crate::simulate::run::{AnsweredEffect, TurnRun};

const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// I2: no fault makes the engine repeat a write that may have taken effect. A retry has the idempotency key of the first attempt, and
/// the next turn repeats a write in doubt only if its message is a confirmation.
pub(super) fn check_single_writes(scene: &TurnUnderTest<'_>) -> Option<String> {
    let run = scene.run;
    if let Some(invalid) = run.answered.iter().find(|it| !has_valid_key(run, it)) {
        return Some(format!("effect {} has the key '{}'", invalid.effect.id.0, invalid.effect.key));
    }
    let requested: Vec<&AnsweredEffect> = run.answered.iter().filter(|it| has_side_effects(&it.effect)).collect();
    for (index, second) in requested.iter().enumerate() {
        let Some(operation) = write_signature(second) else { continue };
        for first in requested.iter().take(index) {
            if first.effect.key == second.effect.key && write_signature(first).as_ref() != Some(&operation) {
                return Some(format!("the key '{}' is used for two writes", second.effect.key));
            }
        }
        let earlier: Vec<&&AnsweredEffect> =
            requested.iter().take(index).filter(|effect| write_signature(effect).as_ref() == Some(&operation)).collect();
        let Some(first) = earlier.iter().find(|it| !implies_no_write(&it.answer) && !is_another_call(it, second)) else { continue };
        // A rule applies again if its round has changed the intent or the state.
        if is_rule_task(second) && has_state_change_between(run, first, second) {
            continue;
        }
        let is_retry = first.effect.key == second.effect.key && is_idempotent(scene.config, second);
        // The configuration may request the same write more than once in an undisturbed turn.
        let allowed = scene.related.undisturbed.or(scene.related.after_undisturbed).map_or(usize::MAX, |it| count_writes(it, &operation));
        if !is_retry && earlier.len() + 1 > allowed.max(1) {
            return Some(format!("effect {} repeats what effect {} may have done: {operation}", second.effect.id.0, first.effect.id.0));
        }
    }
    scene.related.previous.and_then(|it| find_repeated_write(scene, it))
}

/// Finds a write that the turn before left in doubt, and that this turn repeats although neither its message nor its configuration
/// requests it.
fn find_repeated_write(scene: &TurnUnderTest<'_>, before: &TurnRun) -> Option<String> {
    let doubtful = before.answered.iter().filter(|answered| has_side_effects(&answered.effect) && is_in_doubt(&answered.answer));
    let doubtful: Vec<String> = doubtful.filter_map(write_signature).collect();
    let requested = scene.run.answered.iter().filter(|it| has_side_effects(&it.effect));
    let mut repeated = requested.filter(|effect| write_signature(effect).is_some_and(|operation| doubtful.contains(&operation)));
    let found = repeated.find(|effect| {
        let operation = write_signature(effect).unwrap_or_default();
        let undisturbed = scene.related.after_undisturbed.map_or(0, |run| count_writes(run, &operation));
        count_writes(scene.run, &operation) > undisturbed
            && dialogue_act(effect) != Some(DialogueAct::Affirm.name())
            && !is_table_tool(scene, effect, before)
            && !has_key_of_earlier(scene, effect, before)
    })?;
    Some(format!(
        "effect {} repeats without a confirmation what the turn before left in doubt: {}",
        found.effect.id.0,
        write_signature(found)?
    ))
}

/// Returns whether a row of `ce_tool` requests the effect: every matching turn retries a failed tool, except after a crash
/// (docs/decisions/0034-tools-requested-by-table.md).
fn is_table_tool(scene: &TurnUnderTest<'_>, answered: &AnsweredEffect, before: &TurnRun) -> bool {
    let crashed =
        |answered: &AnsweredEffect| matches!(&answered.answer, EffectResult::Error(error) if error.kind == EffectErrorKind::Interrupted);
    let sent = scene.run.input.event.params.contains_key("tool_request");
    let of_step = answered.step.as_ref().is_some_and(|it| it.step == "ToolOrchestrationStep");
    of_step && !sent && !before.answered.iter().any(crashed)
}

/// Returns whether the effect has the idempotency key of each call of a document in the turn before that it repeats, so that the service
/// carries it out once.
fn has_key_of_earlier(scene: &TurnUnderTest<'_>, answered: &AnsweredEffect, before: &TurnRun) -> bool {
    let operation = write_signature(answered);
    let key = idempotency_key(answered);
    let mut doubtful = before.answered.iter().filter(|it| is_in_doubt(&it.answer) && write_signature(it) == operation);
    is_document(scene.config) && key.is_some() && doubtful.all(|it| idempotency_key(it) == key)
}

/// Returns whether the second of two equal calls is one more, because the first is known to be carried out: it has another idempotency key.
fn is_another_call(first: &AnsweredEffect, second: &AnsweredEffect) -> bool {
    !is_in_doubt(&first.answer) && idempotency_key(first) != idempotency_key(second)
}

/// Returns whether documents are played, not tables.
fn is_document(config: &Config) -> bool {
    config.flow().is_some() || config.chain().is_some()
}

/// The idempotency key that a service reads.
fn idempotency_key(answered: &AnsweredEffect) -> Option<&str> {
    let Request::Http(http) = &answered.effect.request else { return None };
    Some(&http.headers.iter().find(|it| it.0 == IDEMPOTENCY_KEY)?.1)
}

/// Returns whether an answer leaves a write in doubt.
fn is_in_doubt(answer: &EffectResult) -> bool {
    let failed = match answer {
        EffectResult::Ok(Reply::Http(reply)) => reply.status >= 500,
        EffectResult::Ok(_) => false,
        EffectResult::Error(_) => true,
    };
    failed && !implies_no_write(answer)
}

/// Returns the dialogue act of the message, as the requesting step saw it.
fn dialogue_act(answered: &AnsweredEffect) -> Option<&str> {
    answered.step.as_ref()?.session.get("inputParams")?.get("dialogue_act")?.as_str()
}

fn is_rule_task(answered: &AnsweredEffect) -> bool {
    matches!(&answered.effect.request, Request::Task(task) if task.called_for == TaskUse::Rule)
}

/// Returns whether the answer of a task changed the intent or the state between two effects.
fn has_state_change_between(run: &TurnRun, first: &AnsweredEffect, second: &AnsweredEffect) -> bool {
    let moves = |answered: &AnsweredEffect| matches!(&answered.answer, EffectResult::Ok(Reply::Task(task)) if task.patch.intent.is_some() || task.patch.state.is_some());
    run.answered.iter().any(|answered| (first.effect.id..second.effect.id).contains(&answered.effect.id) && moves(answered))
}

/// Returns whether an effect has its own key, or that of an earlier effect.
fn has_valid_key(run: &TurnRun, answered: &AnsweredEffect) -> bool {
    let key = |id: u32| format!("{}/{id}", run.input.turn);
    (0..=answered.effect.id.0).any(|id| key(id) == answered.effect.key)
}

fn count_writes(run: &TurnRun, operation: &str) -> usize {
    run.answered
        .iter()
        .filter(|answered| has_side_effects(&answered.effect) && write_signature(answered).as_deref() == Some(operation))
        .count()
}

/// Returns what a write does, without the parts that differ between attempts; `None` for reads.
fn write_signature(answered: &AnsweredEffect) -> Option<String> {
    Some(match &answered.effect.request {
        Request::Task(task) => canonical::to_text(&json!([task.task, task.called_for, task.rule_id, task.input])),
        // A tool with a `spec` reads files or documents.
        Request::Tool(tool) if tool.spec.is_none() => canonical::to_text(tool),
        Request::Http(http) => {
            let headers: Vec<_> = http.headers.iter().filter(|it| it.0 != IDEMPOTENCY_KEY).collect();
            canonical::to_text(&json!([http.caller, http.method, http.url, headers, http.body]))
        }
        _ => return None,
    })
}

/// Returns whether a failure implies that the write did not take effect.
fn implies_no_write(answer: &EffectResult) -> bool {
    match answer {
        EffectResult::Ok(Reply::Http(reply)) => matches!(reply.status, 300..=499 | 503),
        EffectResult::Ok(_) => false,
        EffectResult::Error(error) => match error.kind {
            EffectErrorKind::Refused
            | EffectErrorKind::NotFound
            | EffectErrorKind::Denied
            | EffectErrorKind::CircuitOpen
            | EffectErrorKind::Limited
            | EffectErrorKind::Unsupported => true,
            EffectErrorKind::Timeout
            | EffectErrorKind::Unavailable
            | EffectErrorKind::Invalid
            | EffectErrorKind::Interrupted
            | EffectErrorKind::Cancelled
            | EffectErrorKind::Mismatch => false,
        },
    }
}

/// Returns whether the service's row declares the call idempotent.
fn is_idempotent(config: &Config, answered: &AnsweredEffect) -> bool {
    if matches!(answered.effect.request, Request::Tool(_)) {
        return answered.effect.repeatable;
    }
    let Request::Http(http) = &answered.effect.request else { return false };
    if config.chain().is_some() {
        // The calls of a run have its key.
        return http.idempotent;
    }
    match &http.caller {
        HttpCaller::Task(task) => matches!(config.bindings.find(task), Some(Binding::Http(call)) if call.idempotent),
        HttpCaller::Tool(code) => {
            let session_value = |name: &str| answered.step.as_ref().and_then(|step| step.session.get(name)?.as_str()).unwrap_or(ANY);
            let tool = config.tools.find(code, session_value("intent"), session_value("state"));
            matches!(tool.map(|it| &it.executor), Some(Executor::Http(call)) if call.idempotent)
        }
        HttpCaller::Extension(_) | HttpCaller::Handoff(_) | HttpCaller::Notify(_) => false,
    }
}
