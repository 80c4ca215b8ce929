//! Tasks, called for pending actions, rules, hooks, transformers and tools; each returns a patch of the session. A task runs in the host
//! or in the service, script or extension that `ce_task.binding` names. (docs/spec/pipeline.md#6 rule 5)

mod binding;
mod guest;
mod message;
mod publish;
mod transform;

pub use transform::{run_hooks, transform_container_data, transform_container_request, transform_final_payload, transform_payload};

use convengine_config::Binding;
use convengine_text::json::into_members;
use convengine_text::task::TaskName;
use convengine_turn::{EffectError, Map, Patch, TaskContainer, TaskReply, TaskRequest, TaskUse};
use serde_json::{Value, json};

use crate::session::Session;
use crate::step_context::StepContext;
use publish::Publisher;

/// A call of one method of a task.
struct TaskCall {
    /// `bean:method`.
    task: String,
    called_for: TaskUse,
    rule_id: Option<i64>,
    /// The placement of a hook or a transformer, such as `beforeStep` or `final`.
    placement: Option<&'static str>,
    /// The container that a transformer serves.
    container: Option<TaskContainer>,
    input: Option<Value>,
}

/// Calls the methods of a task in order and applies the patch of each; returns the result of the last one.
///
/// # Errors
/// The first failure; the remaining methods are not called.
pub async fn call_task(
    cx: &mut StepContext<'_>,
    task: &TaskName,
    called_for: TaskUse,
    rule_id: Option<i64>,
    input: Option<Value>,
) -> Result<Value, EffectError> {
    let mut result = Value::Null;
    for method in &task.methods {
        let task = format!("{}:{method}", task.bean);
        let outcome = run_method(cx, TaskCall { task, called_for, rule_id, placement: None, container: None, input: input.clone() }).await;
        result = outcome.inspect_err(|error| cx.session.record_failed_write(error))?;
    }
    Ok(result)
}

/// Calls a function of a flow document: the task `bean:method`, or the extension of that name.
///
/// # Errors
/// The failure of the task or the extension.
pub async fn call_function(cx: &mut StepContext<'_>, name: &str, input: Option<Value>) -> Result<Value, EffectError> {
    if let Some(task) = TaskName::parse(name).filter(|_| name.contains(':')) {
        return call_task(cx, &task, TaskUse::Tool, None, input).await;
    }
    let call = TaskCall { task: name.to_owned(), called_for: TaskUse::Tool, rule_id: None, placement: None, container: None, input };
    let reply = guest::call_extension(cx, name, &call).await?;
    Ok(apply_reply(cx, reply, Publisher::with_templates(name)))
}

async fn run_method(cx: &mut StepContext<'_>, call: TaskCall) -> Result<Value, EffectError> {
    let config = cx.config;
    let binding = config.bindings.find(&call.task);
    let reply = match binding {
        None => cx.effects.perform(call.to_request(&cx.session)).await?,
        Some(Binding::Http(remote)) => binding::call_bound_service(cx, remote, &call).await?,
        Some(Binding::Script(script)) => binding::run_script(cx, script, &call)?,
        Some(Binding::Extension(name)) => guest::call_extension(cx, name, &call).await?,
    };
    let publisher = match binding {
        Some(Binding::Script(_)) => Publisher::with_rendered_texts(&call.task),
        None | Some(Binding::Http(_) | Binding::Extension(_)) => Publisher::with_templates(&call.task),
    };
    Ok(apply_reply(cx, reply, publisher))
}

/// Applies a reply's patch and publishes its messages; returns its result.
fn apply_reply(cx: &mut StepContext<'_>, reply: TaskReply, publisher: Publisher<'_>) -> Value {
    apply_patch(&mut cx.session, reply.patch);
    for publication in &reply.publish {
        publisher.publish(cx, publication);
    }
    reply.result
}

impl TaskCall {
    fn to_request(&self, session: &Session) -> TaskRequest {
        TaskRequest {
            task: self.task.clone(),
            called_for: self.called_for,
            rule_id: self.rule_id,
            container: self.container.clone(),
            input: self.input.clone(),
            view: session.task_view(),
        }
    }

    /// Values for the templates of a binding, beside the session.
    fn template_values(&self) -> Map {
        into_members(json!({"task": self.task, "input": self.input}))
    }
}

fn apply_patch(session: &mut Session, patch: Patch) {
    for (key, value) in patch.params {
        session.set_param_by_rule(&key, value);
    }
    for (key, value) in patch.context {
        if value.is_null() {
            session.context.shift_remove(&key);
        } else {
            session.context.insert(key, value);
        }
    }
    if let Some(intent) = patch.intent {
        session.set_intent(&intent);
    }
    if let Some(state) = patch.state {
        session.state = state;
    }
    if let Some(payload) = patch.payload {
        session.payload = Some(payload);
    }
}
