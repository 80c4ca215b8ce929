//! Hooks and transformers: tasks that `ce_task` places around steps, container data and answers.

use serde_json::{Value, json};

use super::{Call, ask};
use crate::audit::Stage;
use crate::config::{HookMoment, PlacedTask, TaskPlace};
use crate::turn::{EffectError, Payload, PayloadKind, TaskUse};
use crate::turning::Turning;

/// Runs the hooks of a step; one that fails is audited and breaks nothing.
pub async fn hook(t: &mut Turning<'_>, step: &str, moment: HookMoment) {
    let config = t.config;
    if config.tasks.is_empty() {
        return;
    }
    let (intent, state) = (t.session.intent.clone(), t.session.state.clone());
    for task in config.tasks.hooks(step, moment, &intent, &state) {
        let input = Some(json!({"step": step, "phase": moment.name()}));
        let call = Call { task: task.name.clone(), called_for: TaskUse::Hook, rule_id: None, place: Some(moment.name()), input };
        if let Err(error) = ask(t, call).await {
            t.audit(Stage::StepHookError, |_| {
                json!({
                    "step": step, "phase": moment.name(), "hookClass": task.name, "errorType": error.kind, "errorMessage": error.message,
                })
            });
        }
    }
}

/// The parameters of a container's request after its interceptors.
///
/// # Errors
/// The first failure.
pub async fn container_request(t: &mut Turning<'_>, params: Value) -> Result<Value, EffectError> {
    through(t, TaskPlace::ContainerRequest, params).await
}

/// The data of a container after interceptors and transformer.
///
/// # Errors
/// The first failure.
pub async fn container_data(t: &mut Turning<'_>, data: Value) -> Result<Value, EffectError> {
    let data = through(t, TaskPlace::ContainerResponse, data).await?;
    through(t, TaskPlace::ContainerTransformer, data).await
}

/// Lets the transformers of answers change the payload; what is stored of the answer stays.
///
/// # Errors
/// The first failure.
pub async fn payload(t: &mut Turning<'_>) -> Result<(), EffectError> {
    transform_payload(t, TaskPlace::ResponseLlm).await
}

/// Lets the transformers of final answers change the payload, which nothing stores.
///
/// # Errors
/// The first failure.
pub async fn final_payload(t: &mut Turning<'_>) -> Result<(), EffectError> {
    transform_payload(t, TaskPlace::ResponseFinal).await
}

async fn transform_payload(t: &mut Turning<'_>, place: TaskPlace) -> Result<(), EffectError> {
    let config = t.config;
    if config.tasks.is_empty() {
        return Ok(());
    }
    let (intent, state) = (t.session.intent.clone(), t.session.state.clone());
    for task in config.tasks.of(place, &intent, &state) {
        let Some(payload) = t.session.payload.clone() else { return Ok(()) };
        let result = ask(t, transformer(task, place, json!(payload))).await?;
        if let Some(payload) = transformed(&payload, result) {
            t.session.payload = Some(payload);
        }
    }
    Ok(())
}

fn transformer(task: &PlacedTask, place: TaskPlace, input: Value) -> Call {
    Call { task: task.name.clone(), called_for: TaskUse::Transform, rule_id: None, place: Some(place.name()), input: Some(input) }
}

/// A text keeps the form of the answer, anything else makes it JSON; null keeps the answer, and so does a text that says nothing.
fn transformed(payload: &Payload, result: Value) -> Option<Payload> {
    match result {
        Value::Null => None,
        Value::String(value) if value.trim().is_empty() => None,
        Value::String(value) => Some(Payload { kind: payload.kind, value }),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Some(Payload { kind: PayloadKind::Json, value: other.to_string() })
        }
    }
}

async fn through(t: &mut Turning<'_>, place: TaskPlace, mut value: Value) -> Result<Value, EffectError> {
    let config = t.config;
    if config.tasks.is_empty() {
        return Ok(value);
    }
    let (intent, state) = (t.session.intent.clone(), t.session.state.clone());
    for task in config.tasks.of(place, &intent, &state) {
        let result = ask(t, transformer(task, place, value.clone())).await?;
        if !result.is_null() {
            value = result;
        }
    }
    Ok(value)
}
