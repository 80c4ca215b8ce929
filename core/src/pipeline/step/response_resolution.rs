//! Chooses the response row and fills its template. (`spec/pipeline.md` 2.24)
//! Reads: `ce_response`, intent, state. Writes: payload, last assistant text. Waits for: nothing.

use serde_json::{Value, json};

use super::Flow;
use crate::audit::Stage;
use crate::config::{OutputFormat, Response};
use crate::fault::{Fault, FaultCode};
use crate::turn::{Map, Payload, PayloadKind};
use crate::turning::Turning;
use crate::verbose::{Progress, publish};

const STEP: &str = "ResponseResolutionStep";

pub(super) fn run(t: &mut Turning<'_>) -> Result<Flow, Fault> {
    let config = t.config;
    let Some(response) = config.responses.select(&t.session.intent, &t.session.state) else {
        t.audit(Stage::ResponseMappingNotFound, |session| json!({"intent": session.intent, "state": session.state}));
        let message = format!("No response found for intent={}, state={}", t.session.intent, t.session.state);
        return Err(Fault::new(FaultCode::ResponseMappingNotFound, message));
    };
    announce(t, response);
    let text = t.session.render(&response.text, || own_variables(response));
    t.audit(Stage::ResponseExact, |_| json!({"text": text}));
    t.session.last_output = Some(("RESPONSE_EXACT", text.clone()));
    answer(t, response.format, text.clone());
    t.audit(Stage::AssistantOutput, |session| {
        json!({
            "output": text,
            "outputFormat": response.format.name(),
            "responseType": "EXACT",
            "responseId": response.id,
            "intent": session.intent,
            "state": session.state,
            "context": session.context,
            "schemaJson": session.schema_json(),
        })
    });
    Ok(Flow::Continue)
}

fn announce(t: &Turning<'_>, response: &Response) {
    let facts = json!({"responseId": response.id, "intent": t.session.intent, "state": t.session.state});
    let metadata = || facts.as_object().cloned().unwrap_or_default();
    t.audit(Stage::ResolveResponse, |_| facts.clone());
    publish(t, Progress::new(STEP, "RESOLVE_RESPONSE"), metadata);
    publish(t, Progress::new(STEP, "RESOLVE_RESPONSE_SELECTED"), metadata);
    publish(t, Progress::new("ResponseTypeResolverFactory", "RESPONSE_TYPE_RESOLVER_SELECTED"), metadata);
}

fn own_variables(response: &Response) -> Map {
    [("outputFormat", response.format.name()), ("responseType", "EXACT")]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), Value::from(value)))
        .collect()
}

/// Sets the payload and what is stored of it. (`spec/data-and-api.md` 5.5)
fn answer(t: &mut Turning<'_>, format: OutputFormat, text: String) {
    let structured = || serde_json::from_str::<Value>(&text).is_ok_and(|it| it.is_object() || it.is_array());
    let (kind, stored) = match format {
        OutputFormat::Text => (PayloadKind::Text, json!({"type": "TEXT", "value": text}).to_string()),
        OutputFormat::Json if structured() => (PayloadKind::Json, text.clone()),
        OutputFormat::Json => (PayloadKind::Json, json!({"type": "JSON_TEXT", "value": text}).to_string()),
    };
    t.session.last_assistant = Some(stored);
    t.session.payload = Some(Payload { kind, value: text });
}
