//! Hooks and transformers: tasks that `ce_task` attaches to steps, container data and answers.

use serde_json::{Value, json};

use super::{Call, ask};
use crate::audit::Stage;
use crate::config::{HookMoment, PlacedTask, TaskPlace};
use crate::turn::{EffectError, Payload, PayloadKind, TaskUse};
use crate::turning::Turning;

/// Runs the hooks of a step; a failed hook is audited and otherwise ignored.
pub async fn hook(cx: &mut Turning<'_>, step: &str, moment: HookMoment) {
    let config = cx.config;
    if config.tasks.is_empty() {
        return;
    }
    let (intent, state) = (cx.session.intent.clone(), cx.session.state.clone());
    for task in config.tasks.hooks(step, moment, &intent, &state) {
        let input = Some(json!({"step": step, "phase": moment.name()}));
        let call = Call { task: task.name.clone(), called_for: TaskUse::Hook, rule_id: None, place: Some(moment.name()), input };
        if let Err(error) = ask(cx, call).await {
            cx.audit(Stage::StepHookError, |_| {
                json!({
                    "step": step, "phase": moment.name(), "hookClass": task.name, "errorType": error.kind, "errorMessage": error.message,
                })
            });
        }
    }
}

/// Returns the parameters of a container request after its interceptors.
///
/// # Errors
/// The first failed task.
pub async fn container_request(cx: &mut Turning<'_>, params: Value) -> Result<Value, EffectError> {
    through(cx, TaskPlace::ContainerRequest, params).await
}

/// Returns a container's data after interceptors and transformer.
///
/// # Errors
/// The first failed task.
pub async fn container_data(cx: &mut Turning<'_>, data: Value) -> Result<Value, EffectError> {
    let data = through(cx, TaskPlace::ContainerResponse, data).await?;
    through(cx, TaskPlace::ContainerTransformer, data).await
}

/// Runs the response transformers on the payload; the stored answer is not changed.
///
/// # Errors
/// The first failed task.
pub async fn payload(cx: &mut Turning<'_>) -> Result<(), EffectError> {
    transform_payload(cx, TaskPlace::ResponseLlm).await
}

/// Runs the final-response transformers on the payload, which is not stored.
///
/// # Errors
/// The first failed task.
pub async fn final_payload(cx: &mut Turning<'_>) -> Result<(), EffectError> {
    transform_payload(cx, TaskPlace::ResponseFinal).await
}

async fn transform_payload(cx: &mut Turning<'_>, place: TaskPlace) -> Result<(), EffectError> {
    let config = cx.config;
    if config.tasks.is_empty() {
        return Ok(());
    }
    let (intent, state) = (cx.session.intent.clone(), cx.session.state.clone());
    for task in config.tasks.of(place, &intent, &state) {
        let Some(payload) = cx.session.payload.clone() else { return Ok(()) };
        let result = ask(cx, transformer(task, place, json!(payload))).await?;
        if let Some(payload) = transformed(&payload, result) {
            cx.session.payload = Some(payload);
        }
    }
    Ok(())
}

fn transformer(task: &PlacedTask, place: TaskPlace, input: Value) -> Call {
    Call { task: task.name.clone(), called_for: TaskUse::Transform, rule_id: None, place: Some(place.name()), input: Some(input) }
}

/// A string keeps the payload's kind, any other value makes it JSON; null or a blank string keeps the payload.
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

async fn through(cx: &mut Turning<'_>, place: TaskPlace, mut value: Value) -> Result<Value, EffectError> {
    let config = cx.config;
    if config.tasks.is_empty() {
        return Ok(value);
    }
    let (intent, state) = (cx.session.intent.clone(), cx.session.state.clone());
    for task in config.tasks.of(place, &intent, &state) {
        let result = ask(cx, transformer(task, place, value.clone())).await?;
        if !result.is_null() {
            value = result;
        }
    }
    Ok(value)
}
