//! Tasks that are bound to a service or a script.

use convengine_config::{HttpCall, Script, TASK_MEMBERS};
use convengine_text::json;
use convengine_turn::{EffectError, EffectErrorKind, HttpCaller, Map, TaskReply};
use serde_json::Value;

use super::TaskCall;
use crate::service::{self, TemplateScope};
use crate::step_context::StepContext;

/// Runs a task as a service call. Unless the binding says otherwise, the service gets the task, its input and the session as rules see it.
pub(super) async fn call_bound_service(cx: &StepContext<'_>, remote: &HttpCall, call: &TaskCall) -> Result<TaskReply, EffectError> {
    let message = json::into_members(serde_json::json!(call.to_request(&cx.session)));
    let answer = service::call_service(cx, HttpCaller::Task(call.task.clone()), remote, &call.template_values(), &message).await?;
    parse_reply(answer.mapped)
}

/// Runs a task as a script.
pub(super) fn run_script(cx: &StepContext<'_>, script: &Script, call: &TaskCall) -> Result<TaskReply, EffectError> {
    let values = call.template_values();
    let filled = TemplateScope { session: &cx.session, values: &values };
    let document = filled.to_document();
    let answer = script.run(&|template| filled.render_text(template), &|expression| expression.evaluate(&|name| document.get(name)));
    let answer = answer.map_err(|it| EffectError::new(EffectErrorKind::Invalid, it))?;
    json::decode(&Value::Object(answer)).map_err(|it| invalid_reply(&it))
}

/// Parses a task's answer: an object with only task members is a reply; anything else is the task's result.
fn parse_reply(answer: Value) -> Result<TaskReply, EffectError> {
    let is_reply = |members: &Map| !members.is_empty() && members.keys().all(|name| TASK_MEMBERS.contains(&name.as_str()));
    match answer.as_object() {
        Some(members) if is_reply(members) => json::decode(&answer).map_err(|it| invalid_reply(&it)),
        Some(members) if members.is_empty() => Ok(TaskReply::default()),
        Some(_) | None => Ok(TaskReply { result: answer, ..TaskReply::default() }),
    }
}

fn invalid_reply(error: &json::DecodeError) -> EffectError {
    EffectError::new(EffectErrorKind::Invalid, format!("the task's answer cannot be used: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_is_a_patch_or_a_result() {
        let result = |answer: Value| parse_reply(answer).map(|reply| (reply.result, reply.patch.params.len()));
        assert_eq!(result(json!({"result": 1, "set_params": {"a": 2}})), Ok((json!(1), 1)));
        assert_eq!(result(json!({"result": 1, "other": 2})), Ok((json!({"result": 1, "other": 2}), 0)));
        assert_eq!(result(json!({})), Ok((Value::Null, 0)));
        assert_eq!(result(json!([1])), Ok((json!([1]), 0)));
        assert!(result(json!({"set_params": 1})).is_err());
    }
}
