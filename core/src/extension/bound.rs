//! Tasks that are bound to a service or a script.

use serde_json::Value;

use super::Call;
use crate::config::{HttpCall, Script, TASK_MEMBERS};
use crate::service::{self, Filled};
use crate::turn::{EffectError, EffectErrorKind, HttpCaller, Map, TaskReply};
use crate::turning::Turning;

/// Runs a task as a service call. Unless the binding says otherwise, the service gets the task, its input and the session as rules see it.
pub(super) async fn remote(cx: &Turning<'_>, remote: &HttpCall, call: &Call) -> Result<TaskReply, EffectError> {
    let message = serde_json::to_value(call.request(&cx.session)).ok().and_then(|it| it.as_object().cloned()).unwrap_or_default();
    let answer = service::call(cx, HttpCaller::Task(call.task.clone()), remote, &call.values(), &message).await?;
    reply(answer.mapped)
}

/// Runs a task as a script.
pub(super) fn script(cx: &Turning<'_>, script: &Script, call: &Call) -> Result<TaskReply, EffectError> {
    let values = call.values();
    let filled = Filled { session: &cx.session, values: &values };
    let document = filled.named();
    let answer = script.run(&|it| filled.text(it), &|it| it.value(&|name| document.get(name)));
    let answer = answer.map_err(|it| EffectError::new(EffectErrorKind::Invalid, it))?;
    serde_json::from_value(Value::Object(answer)).map_err(|it| unusable(&it))
}

/// Parses a task's answer: an object with only task members is a reply; anything else is the task's result.
fn reply(answer: Value) -> Result<TaskReply, EffectError> {
    let is_reply = |it: &Map| !it.is_empty() && it.keys().all(|name| TASK_MEMBERS.contains(&name.as_str()));
    match answer.as_object() {
        Some(members) if is_reply(members) => serde_json::from_value(answer).map_err(|it| unusable(&it)),
        Some(members) if members.is_empty() => Ok(TaskReply::default()),
        Some(_) | None => Ok(TaskReply { result: answer, ..TaskReply::default() }),
    }
}

fn unusable(error: &serde_json::Error) -> EffectError {
    EffectError::new(EffectErrorKind::Invalid, format!("the task's answer cannot be used: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_is_a_patch_or_a_result() {
        let result = |answer: Value| reply(answer).map(|it| (it.result, it.patch.params.len()));
        assert_eq!(result(json!({"result": 1, "set_params": {"a": 2}})), Ok((json!(1), 1)));
        assert_eq!(result(json!({"result": 1, "other": 2})), Ok((json!({"result": 1, "other": 2}), 0)));
        assert_eq!(result(json!({})), Ok((Value::Null, 0)));
        assert_eq!(result(json!([1])), Ok((json!([1]), 0)));
        assert!(result(json!({"set_params": 1})).is_err());
    }
}
