//! Hooks and transformers: tasks that `ce_task` attaches to steps, container data and answers.

use convengine_config::{HookPoint, HookStage, HookTask};
use convengine_turn::{EffectError, Payload, PayloadKind, TaskContainer, TaskUse, payload};
use serde_json::{Value, json};

use super::{TaskCall, run_method};
use crate::audit::Stage;
use crate::step_context::StepContext;

/// Runs the hooks of a step; a failed hook is audited and otherwise ignored.
pub async fn run_hooks(cx: &mut StepContext<'_>, step: &str, moment: HookStage) {
    let config = cx.config;
    if config.hooks.is_empty() {
        return;
    }
    let (intent, state) = (cx.session.intent.clone(), cx.session.state.clone());
    for task in config.hooks.at_step(step, moment, &intent, &state) {
        let input = Some(json!({"step": step, "phase": moment.name()}));
        let call = TaskCall {
            task: task.name.clone(),
            called_for: TaskUse::Hook,
            rule_id: None,
            placement: Some(moment.name()),
            container: None,
            input,
        };
        if let Err(error) = run_method(cx, call).await {
            cx.audit(Stage::StepHookError, |_| {
                payload!({
                    "step": step, "phase": moment.name(), "hookClass": task.name, "errorType": error.kind, "errorMessage": error.message,
                })
            });
        }
    }
}

/// Returns the parameters of a container's request after its interceptors.
///
/// # Errors
/// The first failed task.
pub async fn transform_container_request(cx: &mut StepContext<'_>, container: &TaskContainer, params: Value) -> Result<Value, EffectError> {
    apply_transformers(cx, HookPoint::ContainerRequest, container, params).await
}

/// Returns a container's data after interceptors and transformer.
///
/// # Errors
/// The first failed task.
pub async fn transform_container_data(cx: &mut StepContext<'_>, container: &TaskContainer, data: Value) -> Result<Value, EffectError> {
    let data = apply_transformers(cx, HookPoint::ContainerResponse, container, data).await?;
    apply_transformers(cx, HookPoint::ContainerTransformer, container, data).await
}

/// Runs the response transformers on the payload; the stored answer is not changed.
///
/// # Errors
/// The first failed task.
pub async fn transform_payload(cx: &mut StepContext<'_>) -> Result<(), EffectError> {
    apply_payload_transformers(cx, HookPoint::ResponseLlm).await
}

/// Runs the final-response transformers on the payload, which is not stored.
///
/// # Errors
/// The first failed task.
pub async fn transform_final_payload(cx: &mut StepContext<'_>) -> Result<(), EffectError> {
    apply_payload_transformers(cx, HookPoint::ResponseFinal).await
}

async fn apply_payload_transformers(cx: &mut StepContext<'_>, place: HookPoint) -> Result<(), EffectError> {
    let config = cx.config;
    if config.hooks.is_empty() {
        return Ok(());
    }
    let (intent, state) = (cx.session.intent.clone(), cx.session.state.clone());
    for task in config.hooks.at_point(place, &intent, &state) {
        let Some(payload) = cx.session.payload.clone() else { return Ok(()) };
        let result = run_method(cx, transformer_call(task, place, None, json!(payload))).await?;
        if let Some(payload) = parse_transformed(&payload, result) {
            cx.session.payload = Some(payload);
        }
    }
    Ok(())
}

fn transformer_call(task: &HookTask, place: HookPoint, container: Option<&TaskContainer>, input: Value) -> TaskCall {
    TaskCall {
        task: task.name.clone(),
        called_for: TaskUse::Transform,
        rule_id: None,
        placement: Some(place.name()),
        container: container.cloned(),
        input: Some(input),
    }
}

/// A string keeps the payload's kind, any other value makes it JSON; null or a blank string keeps the payload.
fn parse_transformed(payload: &Payload, result: Value) -> Option<Payload> {
    match result {
        Value::Null => None,
        Value::String(value) if value.trim().is_empty() => None,
        Value::String(value) => Some(Payload { kind: payload.kind, value }),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Some(Payload { kind: PayloadKind::Json, value: other.to_string() })
        }
    }
}

async fn apply_transformers(
    cx: &mut StepContext<'_>,
    place: HookPoint,
    container: &TaskContainer,
    mut value: Value,
) -> Result<Value, EffectError> {
    let config = cx.config;
    if config.hooks.is_empty() {
        return Ok(value);
    }
    let (intent, state) = (cx.session.intent.clone(), cx.session.state.clone());
    for task in config.hooks.at_point(place, &intent, &state) {
        let result = run_method(cx, transformer_call(task, place, Some(container), value.clone())).await?;
        if !result.is_null() {
            value = result;
        }
    }
    Ok(value)
}
