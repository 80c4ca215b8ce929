//! Fetches the data that is configured for the intent and the state. (`spec/pipeline.md` 2.16)
//! Reads: `ce_container_config`, context, parameters, the message. Writes: container data, `context.container_data`.
//! Waits for: containers, interceptors, transformers.

use serde_json::{Value, json};

use super::Flow;
use crate::audit::Stage;
use crate::config::Container;
use crate::extension;
use crate::turn::{ContainerRequest, EffectError, EffectErrorKind, Map};
use crate::turning::Turning;

/// On whose behalf data is fetched.
const USER: &str = "convengine";

pub(super) async fn run(t: &mut Turning<'_>) -> Flow {
    let config = t.config;
    let containers = config.containers.of(&t.session.intent, &t.session.state);
    if containers.is_empty() || t.session.stalled {
        let reason = if t.session.stalled { "the turn asks which action is meant" } else { "no container configs for intent/state" };
        t.audit(Stage::ContainerDataSkipped, |session| json!({"reason": reason, "intent": session.intent, "state": session.state}));
        return Flow::Continue;
    }
    let mut collected = Map::new();
    for container in containers {
        match fetch(t, container).await {
            Ok(data) => {
                t.session.container_data = Some(data.clone());
                collected.insert(container.param.clone(), data);
            }
            Err(error) => {
                let facts = json!({"containerId": container.container_id, "error": error.message});
                t.audit(Stage::ContainerDataFailed, |_| facts);
            }
        }
    }
    if !collected.is_empty() {
        attach(t, collected);
    }
    Flow::Continue
}

async fn fetch(t: &mut Turning<'_>, container: &Container) -> Result<Value, EffectError> {
    let params = extension::container_request(t, Value::Object(params(t, container))).await?;
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
        user_id: USER.to_owned(),
        logged_in_user_id: USER.to_owned(),
        input_params: input_params.clone(),
    };
    let reply = t.door.perform(request).await?;
    let data = extension::container_data(t, reply.data).await?;
    t.audit(Stage::ContainerDataExecuted, |_| {
        json!({
            "containerId": container.container_id, "pageId": container.page_id, "sectionId": container.section_id,
            "inputParam": container.param, "requestInput": input_params, "response": data,
        })
    });
    Ok(data)
}

/// The container's own parameter, overlaid by those of the session and, over these, of the client.
fn params(t: &Turning<'_>, container: &Container) -> Map {
    let session = &t.session;
    let own = session.context.get(&container.param).filter(|it| is_plain(it)).cloned();
    let own = own.unwrap_or_else(|| json!(session.resolved_input()));
    let mut params = Map::new();
    params.insert(container.param.clone(), own);
    params.extend(session.safe_params());
    params.extend(session.sent_params().clone());
    params
}

/// A list of lists or objects is no parameter.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(items) => items.iter().all(|it| !it.is_array() && !it.is_object()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => true,
    }
}

fn attach(t: &mut Turning<'_>, collected: Map) {
    t.session.context.insert("container_data".to_owned(), Value::Object(collected.clone()));
    t.session.containers = Some(collected.clone());
    t.audit(Stage::ContainerDataAttached, |_| Value::Object(collected));
}
