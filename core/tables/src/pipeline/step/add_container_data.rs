//! Fetches the container data configured for the intent and state. (docs/spec/pipeline.md#2.16)
//! Reads: `ce_container_config`, context, parameters, the message. Writes: container data, `context.container_data`.
//! Waits for: containers, interceptors, transformers.

use convengine_config::Container;
use convengine_turn::{ContainerRequest, EffectError, EffectErrorKind, Map, TaskContainer, payload};
use serde_json::{Value, json};

use super::StepOutcome;
use crate::audit::Stage;
use crate::extension;
use crate::step_context::StepContext;

/// The user on whose behalf data is fetched.
const USER_ID: &str = "convengine";

pub(super) async fn run(cx: &mut StepContext<'_>) -> StepOutcome {
    let config = cx.config;
    let containers = config.containers.for_scope(&cx.session.intent, &cx.session.state);
    if containers.is_empty() || cx.session.is_question_turn {
        let reason =
            if cx.session.is_question_turn { "the turn asks which action is meant" } else { "no container configs for intent/state" };
        cx.audit(Stage::ContainerDataSkipped, |session| payload!({"reason": reason, "intent": session.intent, "state": session.state}));
        return StepOutcome::Continue;
    }
    let mut collected = Map::new();
    for container in containers {
        match fetch(cx, container).await {
            Ok(data) => {
                cx.session.container_data = Some(data.clone());
                collected.insert(container.param.clone(), data);
            }
            Err(error) => {
                let facts = json!({"containerId": container.container_id, "error": error.message});
                cx.audit(Stage::ContainerDataFailed, |_| facts);
            }
        }
    }
    if !collected.is_empty() {
        attach(cx, collected);
    }
    StepOutcome::Continue
}

async fn fetch(cx: &mut StepContext<'_>, container: &Container) -> Result<Value, EffectError> {
    let served = TaskContainer {
        page_id: container.page_id,
        section_id: container.section_id,
        container_id: container.container_id,
        input_param_name: container.param.clone(),
    };
    let params = extension::transform_container_request(cx, &served, Value::Object(request_params(cx, container))).await?;
    let Value::Object(input_params) = params else {
        return Err(EffectError::new(
            EffectErrorKind::Invalid,
            "an interceptor made the parameters of the request something else than an object",
        ));
    };
    let request = ContainerRequest {
        page_id: container.page_id,
        section_id: container.section_id,
        container_id: container.container_id,
        user_id: USER_ID.to_owned(),
        logged_in_user_id: USER_ID.to_owned(),
        input_params: input_params.clone(),
    };
    let reply = cx.effects.perform(request).await?;
    let data = extension::transform_container_data(cx, &served, reply.data).await?;
    cx.audit(Stage::ContainerDataExecuted, |_| {
        payload!({
            "containerId": container.container_id, "pageId": container.page_id, "sectionId": container.section_id,
            "inputParam": container.param, "requestInput": input_params, "response": data,
        })
    });
    Ok(data)
}

/// The container's own parameter, overridden by the session's parameters and then by the client's.
fn request_params(cx: &StepContext<'_>, container: &Container) -> Map {
    let session = &cx.session;
    let own_value = session.context.get(&container.param).filter(|it| is_valid_param(it)).cloned();
    let own_value = own_value.unwrap_or_else(|| json!(session.resolved_input()));
    let mut params = Map::new();
    params.insert(container.param.clone(), own_value);
    params.extend(session.safe_params());
    params.extend(session.client_params().clone());
    params
}

/// Whether a value can be a parameter: a list of lists or objects cannot.
fn is_valid_param(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(items) => items.iter().all(|item| !item.is_array() && !item.is_object()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => true,
    }
}

fn attach(cx: &mut StepContext<'_>, collected: Map) {
    cx.session.context.insert("container_data".to_owned(), Value::Object(collected.clone()));
    cx.session.containers = Some(collected.clone());
    cx.audit(Stage::ContainerDataAttached, |_| Value::Object(collected));
}
