//! Tasks, called for pending actions, rules, hooks, transformers and tools; each returns a patch of the session. A task runs in the host
//! or in the service, script or extension that `ce_task.binding` names. (docs/spec/pipeline.md#6 rule 5)

mod bound;
mod guest;
mod publish;
mod said;
mod transform;

pub use transform::{container_data, container_request, final_payload, hook, payload};

use serde_json::{Value, json};

use crate::config::Binding;
use crate::json::members;
use crate::session::Session;
use crate::text::task::TaskName;
use crate::turn::{EffectError, Map, Patch, TaskReply, TaskRequest, TaskUse};
use crate::turning::Turning;

/// A call of one method of a task.
struct Call {
    /// `bean:method`.
    task: String,
    called_for: TaskUse,
    rule_id: Option<i64>,
    /// The placement of a hook or a transformer, such as `beforeStep` or `final`.
    place: Option<&'static str>,
    input: Option<Value>,
}

/// Calls the methods of a task in order and applies the patch of each; returns the result of the last one.
///
/// # Errors
/// The first failure; the remaining methods are not called.
pub async fn call(
    cx: &mut Turning<'_>,
    task: &TaskName,
    called_for: TaskUse,
    rule_id: Option<i64>,
    input: Option<Value>,
) -> Result<Value, EffectError> {
    let mut result = Value::Null;
    for method in &task.methods {
        let task = format!("{}:{method}", task.bean);
        let outcome = ask(cx, Call { task, called_for, rule_id, place: None, input: input.clone() }).await;
        result = outcome.inspect_err(|error| cx.session.failed_to_write(error))?;
    }
    Ok(result)
}

async fn ask(cx: &mut Turning<'_>, call: Call) -> Result<Value, EffectError> {
    let config = cx.config;
    let reply = match config.bindings.find(&call.task) {
        None => cx.door.perform(call.request(&cx.session)).await?,
        Some(Binding::Http(remote)) => bound::remote(cx, remote, &call).await?,
        Some(Binding::Script(script)) => bound::script(cx, script, &call)?,
        Some(Binding::Extension(name)) => guest::call(cx, name, &call).await?,
    };
    Ok(take(cx, reply))
}

/// Applies a reply's patch and publishes its messages; returns its result.
fn take(cx: &mut Turning<'_>, reply: TaskReply) -> Value {
    apply(&mut cx.session, reply.patch);
    for publication in &reply.publish {
        publish::publication(cx, publication);
    }
    reply.result
}

impl Call {
    fn request(&self, session: &Session) -> TaskRequest {
        TaskRequest {
            task: self.task.clone(),
            called_for: self.called_for,
            rule_id: self.rule_id,
            input: self.input.clone(),
            view: session.task_view(),
        }
    }

    /// Values for the templates of a binding, beside the session.
    fn values(&self) -> Map {
        members(json!({"task": self.task, "input": self.input}))
    }
}

fn apply(session: &mut Session, patch: Patch) {
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
