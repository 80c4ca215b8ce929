//! Tasks: called for pending actions, rules, hooks, transformers and tools; each answers with a patch of the session. The host carries
//! them out, or whom `ce_task.binding` names: a service, a script, an extension. (`spec/pipeline.md` 6 rule 5)

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

/// One method of a task, and what it is called for.
struct Call {
    /// `bean:method`.
    task: String,
    called_for: TaskUse,
    rule_id: Option<i64>,
    /// Where a hook or a transformer stands: `beforeStep`, `final`.
    place: Option<&'static str>,
    input: Option<Value>,
}

/// Calls the methods of a task, one after the other, and applies what each changes; returns what the last one returned.
///
/// # Errors
/// The first failure; the methods after it are not called.
pub async fn call(
    t: &mut Turning<'_>,
    task: &TaskName,
    called_for: TaskUse,
    rule_id: Option<i64>,
    input: Option<Value>,
) -> Result<Value, EffectError> {
    let mut result = Value::Null;
    for method in &task.methods {
        let task = format!("{}:{method}", task.bean);
        let answered = ask(t, Call { task, called_for, rule_id, place: None, input: input.clone() }).await;
        result = answered.inspect_err(|error| t.session.failed_to_write(error))?;
    }
    Ok(result)
}

async fn ask(t: &mut Turning<'_>, call: Call) -> Result<Value, EffectError> {
    let config = t.config;
    let reply = match config.bindings.find(&call.task) {
        None => t.door.perform(call.request(&t.session)).await?,
        Some(Binding::Http(remote)) => bound::remote(t, remote, &call).await?,
        Some(Binding::Script(script)) => bound::script(t, script, &call)?,
        Some(Binding::Extension(name)) => guest::call(t, name, &call).await?,
    };
    Ok(take(t, reply))
}

/// Applies what a task changes and publishes what it has to say; returns its result.
fn take(t: &mut Turning<'_>, reply: TaskReply) -> Value {
    apply(&mut t.session, reply.patch);
    for publication in &reply.publish {
        publish::publication(t, publication);
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

    /// What the templates of a binding can name beside the session.
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
