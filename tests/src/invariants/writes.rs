//! What changes the world is asked for once. (I2)

use convengine_core::config::{ANY, Binding, Config, DialogueAct, Executor};
use convengine_core::json::canonical;
use convengine_core::turn::{EffectErrorKind, EffectResult, HttpCaller, Reply, Request, TaskUse};
use serde_json::json;

use super::Scene;
use crate::simulate::fault::writes;
use crate::simulate::run::{Answered, Run};

/// I2: no fault makes the engine ask for a write again that may have been done; a retry has the key of the first attempt, and what is
/// left in doubt is done again by the next turn only when its message is a yes.
pub(super) fn once(scene: &Scene<'_>) -> Option<String> {
    let run = scene.run;
    if let Some(it) = run.answered.iter().find(|it| !is_key(run, it)) {
        return Some(format!("effect {} has the key '{}'", it.effect.id.0, it.effect.key));
    }
    let asked: Vec<&Answered> = run.answered.iter().filter(|it| writes(&it.effect)).collect();
    for (index, second) in asked.iter().enumerate() {
        let Some(wanted) = deed(second) else { continue };
        for first in asked.iter().take(index) {
            if first.effect.key == second.effect.key && deed(first).as_ref() != Some(&wanted) {
                return Some(format!("the key '{}' stands for two writes", second.effect.key));
            }
        }
        let same: Vec<&&Answered> = asked.iter().take(index).filter(|it| deed(it).as_ref() == Some(&wanted)).collect();
        let Some(first) = same.iter().find(|it| !says_nothing_was_done(&it.answer)) else { continue };
        // A rule is applied anew where its round has moved the conversation.
        if is_of_rule(second) && moves_between(run, first, second) {
            continue;
        }
        let is_retry = first.effect.key == second.effect.key && is_idempotent(scene.config, second);
        // What the configuration asks for twice when nothing is done to it is its author's wish.
        let wished = scene.beside.meant.or(scene.beside.usually).map_or(usize::MAX, |it| count(it, &wanted));
        if !is_retry && same.len() + 1 > wished.max(1) {
            return Some(format!("effect {} asks again for what effect {} may have done: {wanted}", second.effect.id.0, first.effect.id.0));
        }
    }
    scene.beside.before.and_then(|it| once_more(scene, it))
}

/// A write that the turn before has left in doubt, and that this one does again although neither its message nor its configuration asks
/// for that.
fn once_more(scene: &Scene<'_>, before: &Run) -> Option<String> {
    let doubtful = before.answered.iter().filter(|it| writes(&it.effect) && is_in_doubt(&it.answer));
    let doubtful: Vec<String> = doubtful.filter_map(deed).collect();
    let asked = scene.run.answered.iter().filter(|it| writes(&it.effect));
    let mut again = asked.filter(|it| deed(it).is_some_and(|it| doubtful.contains(&it)));
    let found = again.find(|it| {
        let wanted = deed(it).unwrap_or_default();
        let usually = scene.beside.usually.map_or(0, |it| count(it, &wanted));
        count(scene.run, &wanted) > usually && act_of(it) != Some(DialogueAct::Affirm.name()) && !is_of_table(scene, it, before)
    })?;
    Some(format!("effect {} does without a yes what the turn before has left in doubt: {}", found.effect.id.0, deed(found)?))
}

/// Whether a row of `ce_tool` asks: what has failed is tried again by every turn that it fits, but for what a crash has left in doubt.
/// (`decisions.md` 9)
fn is_of_table(scene: &Scene<'_>, it: &Answered, before: &Run) -> bool {
    let crashed = |it: &Answered| matches!(&it.answer, EffectResult::Error(error) if error.kind == EffectErrorKind::Interrupted);
    let sent = scene.run.input.event.params.contains_key("tool_request");
    let of_step = it.step.as_ref().is_some_and(|it| it.step == "ToolOrchestrationStep");
    of_step && !sent && !before.answered.iter().any(crashed)
}

/// Whether an answer leaves open what became of a write.
fn is_in_doubt(answer: &EffectResult) -> bool {
    let failed = match answer {
        EffectResult::Ok(Reply::Http(reply)) => reply.status >= 500,
        EffectResult::Ok(_) => false,
        EffectResult::Error(_) => true,
    };
    failed && !says_nothing_was_done(answer)
}

/// The act of the message, as the step found it that asked.
fn act_of(it: &Answered) -> Option<&str> {
    it.step.as_ref()?.session.get("inputParams")?.get("dialogue_act")?.as_str()
}

fn is_of_rule(it: &Answered) -> bool {
    matches!(&it.effect.request, Request::Task(task) if task.called_for == TaskUse::Rule)
}

/// Whether the answer of a task has changed intent or state from the first effect on.
fn moves_between(run: &Run, first: &Answered, second: &Answered) -> bool {
    let moves =
        |it: &Answered| matches!(&it.answer, EffectResult::Ok(Reply::Task(it)) if it.patch.intent.is_some() || it.patch.state.is_some());
    run.answered.iter().any(|it| (first.effect.id..second.effect.id).contains(&it.effect.id) && moves(it))
}

/// An effect has its own key, or that of an earlier one.
fn is_key(run: &Run, it: &Answered) -> bool {
    let key = |id: u32| format!("{}/{id}", run.input.turn);
    (0..=it.effect.id.0).any(|id| key(id) == it.effect.key)
}

fn count(run: &Run, wanted: &str) -> usize {
    run.answered.iter().filter(|it| writes(&it.effect) && deed(it).as_deref() == Some(wanted)).count()
}

/// What a write does, without what differs between two attempts.
fn deed(it: &Answered) -> Option<String> {
    Some(match &it.effect.request {
        Request::Task(task) => canonical::to_text(&json!([task.task, task.called_for, task.rule_id, task.input])),
        // With a `spec`, it reads files or documents.
        Request::Tool(tool) if tool.spec.is_none() => canonical::to_text(tool),
        Request::Http(http) => canonical::to_text(&json!([http.caller, http.method, http.url, http.headers, http.body])),
        _ => return None,
    })
}

/// Whether a failure says that the write has not been done.
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

/// Whether the row of a service says that a call with one key may come twice.
fn is_idempotent(config: &Config, it: &Answered) -> bool {
    let Request::Http(http) = &it.effect.request else { return false };
    match &http.caller {
        HttpCaller::Task(task) => matches!(config.bindings.find(task), Some(Binding::Http(call)) if call.idempotent),
        HttpCaller::Tool(code) => {
            let place = |name: &str| it.step.as_ref().and_then(|it| it.session.get(name)?.as_str()).unwrap_or(ANY);
            let tool = config.tools.find(code, place("intent"), place("state"));
            matches!(tool.map(|it| &it.executor), Some(Executor::Http(call)) if call.idempotent)
        }
        HttpCaller::Extension(_) => false,
    }
}
