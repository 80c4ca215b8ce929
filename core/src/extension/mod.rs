//! Tasks of the host: called for pending actions, rules, hooks and transformers; each answers with a patch of the session.
//! (`spec/pipeline.md` 6 rule 5)

mod publish;
mod transform;

pub use transform::{container_data, container_request, final_payload, hook, payload};

use serde_json::Value;

use crate::session::Session;
use crate::text::task::TaskName;
use crate::turn::{EffectError, Patch, TaskRequest, TaskUse};
use crate::turning::Turning;

/// Calls the methods of a task, one after the other, and applies what each changes; returns what the last one returned.
///
/// # Errors
/// The first failure; the methods after it are not called.
pub async fn call(t: &mut Turning<'_>, task: &TaskName, called_for: TaskUse, rule_id: Option<i64>) -> Result<Value, EffectError> {
    let mut result = Value::Null;
    for method in &task.methods {
        result = ask(t, format!("{}:{method}", task.bean), called_for, rule_id, None).await?;
    }
    Ok(result)
}

async fn ask(
    t: &mut Turning<'_>,
    task: String,
    called_for: TaskUse,
    rule_id: Option<i64>,
    input: Option<Value>,
) -> Result<Value, EffectError> {
    let request = TaskRequest { task, called_for, rule_id, input, view: t.session.task_view() };
    let reply = t.door.perform(request).await?;
    apply(&mut t.session, reply.patch);
    for publication in &reply.publish {
        publish::publication(t, publication);
    }
    Ok(reply.result)
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
