//! I2: effects with side effects are requested once.

use convengine_core::config::{ANY, Binding, Config, DialogueAct, Executor};
use convengine_core::json::canonical;
use convengine_core::turn::{EffectErrorKind, EffectResult, HttpCaller, Reply, Request, TaskUse};
use serde_json::json;

use super::Scene;
use crate::simulate::fault::writes;
use crate::simulate::run::{Answered, Run};

/// I2: no fault makes the engine repeat a write that may have taken effect. A retry has the idempotency key of the first attempt, and
/// the next turn repeats a write in doubt only if its message is a confirmation.
pub(super) fn once(scene: &Scene<'_>) -> Option<String> {
    let run = scene.run;
    if let Some(it) = run.answered.iter().find(|it| !is_key(run, it)) {
        return Some(format!("effect {} has the key '{}'", it.effect.id.0, it.effect.key));
    }
    let requested: Vec<&Answered> = run.answered.iter().filter(|it| writes(&it.effect)).collect();
    for (index, second) in requested.iter().enumerate() {
        let Some(operation) = deed(second) else { continue };
        for first in requested.iter().take(index) {
            if first.effect.key == second.effect.key && deed(first).as_ref() != Some(&operation) {
                return Some(format!("the key '{}' is used for two writes", second.effect.key));
            }
        }
        let earlier: Vec<&&Answered> = requested.iter().take(index).filter(|it| deed(it).as_ref() == Some(&operation)).collect();
        let Some(first) = earlier.iter().find(|it| !says_nothing_was_done(&it.answer)) else { continue };
        // A rule applies again if its round has changed the intent or the state.
        if is_of_rule(second) && moves_between(run, first, second) {
            continue;
        }
        let is_retry = first.effect.key == second.effect.key && is_idempotent(scene.config, second);
        // The configuration may request the same write more than once in an undisturbed turn.
        let allowed = scene.beside.meant.or(scene.beside.usually).map_or(usize::MAX, |it| count(it, &operation));
        if !is_retry && earlier.len() + 1 > allowed.max(1) {
            return Some(format!("effect {} repeats what effect {} may have done: {operation}", second.effect.id.0, first.effect.id.0));
        }
    }
    scene.beside.before.and_then(|it| once_more(scene, it))
}

/// Finds a write that the turn before left in doubt, and that this turn repeats although neither its message nor its configuration
/// requests it.
fn once_more(scene: &Scene<'_>, before: &Run) -> Option<String> {
    let doubtful = before.answered.iter().filter(|it| writes(&it.effect) && is_in_doubt(&it.answer));
    let doubtful: Vec<String> = doubtful.filter_map(deed).collect();
    let requested = scene.run.answered.iter().filter(|it| writes(&it.effect));
    let mut repeated = requested.filter(|it| deed(it).is_some_and(|it| doubtful.contains(&it)));
    let found = repeated.find(|it| {
        let operation = deed(it).unwrap_or_default();
        let undisturbed = scene.beside.usually.map_or(0, |it| count(it, &operation));
        count(scene.run, &operation) > undisturbed && act_of(it) != Some(DialogueAct::Affirm.name()) && !is_of_table(scene, it, before)
    })?;
    Some(format!("effect {} repeats without a confirmation what the turn before left in doubt: {}", found.effect.id.0, deed(found)?))
}

/// Returns whether a row of `ce_tool` requests the effect: every matching turn retries a failed tool, except after a crash
/// (docs/decisions/README.md#9).
fn is_of_table(scene: &Scene<'_>, it: &Answered, before: &Run) -> bool {
    let crashed = |it: &Answered| matches!(&it.answer, EffectResult::Error(error) if error.kind == EffectErrorKind::Interrupted);
    let sent = scene.run.input.event.params.contains_key("tool_request");
    let of_step = it.step.as_ref().is_some_and(|it| it.step == "ToolOrchestrationStep");
    of_step && !sent && !before.answered.iter().any(crashed)
}

/// Returns whether an answer leaves a write in doubt.
fn is_in_doubt(answer: &EffectResult) -> bool {
    let failed = match answer {
        EffectResult::Ok(Reply::Http(reply)) => reply.status >= 500,
        EffectResult::Ok(_) => false,
        EffectResult::Error(_) => true,
    };
    failed && !says_nothing_was_done(answer)
}

/// Returns the dialogue act of the message, as the requesting step saw it.
fn act_of(it: &Answered) -> Option<&str> {
    it.step.as_ref()?.session.get("inputParams")?.get("dialogue_act")?.as_str()
}

fn is_of_rule(it: &Answered) -> bool {
    matches!(&it.effect.request, Request::Task(task) if task.called_for == TaskUse::Rule)
}

/// Returns whether the answer of a task changed the intent or the state between two effects.
fn moves_between(run: &Run, first: &Answered, second: &Answered) -> bool {
    let moves =
        |it: &Answered| matches!(&it.answer, EffectResult::Ok(Reply::Task(it)) if it.patch.intent.is_some() || it.patch.state.is_some());
    run.answered.iter().any(|it| (first.effect.id..second.effect.id).contains(&it.effect.id) && moves(it))
}

/// Returns whether an effect has its own key, or that of an earlier effect.
fn is_key(run: &Run, it: &Answered) -> bool {
    let key = |id: u32| format!("{}/{id}", run.input.turn);
    (0..=it.effect.id.0).any(|id| key(id) == it.effect.key)
}

fn count(run: &Run, operation: &str) -> usize {
    run.answered.iter().filter(|it| writes(&it.effect) && deed(it).as_deref() == Some(operation)).count()
}

/// Returns what a write does, without the parts that differ between attempts; `None` for reads.
fn deed(it: &Answered) -> Option<String> {
    Some(match &it.effect.request {
        Request::Task(task) => canonical::to_text(&json!([task.task, task.called_for, task.rule_id, task.input])),
        // A tool with a `spec` reads files or documents.
        Request::Tool(tool) if tool.spec.is_none() => canonical::to_text(tool),
        Request::Http(http) => canonical::to_text(&json!([http.caller, http.method, http.url, http.headers, http.body])),
        _ => return None,
    })
}

/// Returns whether a failure implies that the write did not take effect.
fn says_nothing_was_done(answer: &EffectResult) -> bool {
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
fn is_idempotent(config: &Config, it: &Answered) -> bool {
    let Request::Http(http) = &it.effect.request else { return false };
    match &http.caller {
        HttpCaller::Task(task) => matches!(config.bindings.find(task), Some(Binding::Http(call)) if call.idempotent),
        HttpCaller::Tool(code) => {
            let session_value = |name: &str| it.step.as_ref().and_then(|it| it.session.get(name)?.as_str()).unwrap_or(ANY);
            let tool = config.tools.find(code, session_value("intent"), session_value("state"));
            matches!(tool.map(|it| &it.executor), Some(Executor::Http(call)) if call.idempotent)
        }
        HttpCaller::Extension(_) => false,
    }
}
