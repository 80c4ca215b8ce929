//! Selects the response row and renders its text, or lets a model write the answer. (docs/spec/pipeline.md#2.24)
//! Reads: `ce_response`, `ce_prompt_template`, intent, state, an open question. Writes: payload, last assistant text. Waits for: llm,
//! transformers.

use serde_json::json;

use super::Flow;
use crate::audit::Stage;
use crate::config::{Making, Response};
use crate::extension;
use crate::fault::{Fault, FaultCode};
use crate::intent::INTENT_COLLISION;
use crate::json::members;
use crate::respond;
use crate::turning::Turning;
use crate::verbose::{Progress, publish};

const STEP: &str = "ResponseResolutionStep";

pub(super) async fn run(cx: &mut Turning<'_>) -> Result<Flow, Fault> {
    if cx.session.state == INTENT_COLLISION {
        explain(cx, "two intents fit equally well: the user is asked which one is meant");
        respond::collision(cx).await?;
        return Ok(Flow::Continue);
    }
    if respond::question(cx) {
        explain(cx, "the question that is open is the answer");
        return Ok(Flow::Continue);
    }
    let config = cx.config;
    let Some(response) = config.responses.select(&cx.session.intent, &cx.session.state) else {
        explain(cx, "no row fits, so that the turn fails: add one for this intent and state, or for ANY");
        cx.audit(Stage::ResponseMappingNotFound, |session| json!({"intent": session.intent, "state": session.state}));
        let message = format!("No response found for intent={}, state={}", cx.session.intent, cx.session.state);
        return Err(Fault::new(FaultCode::ResponseMappingNotFound, message));
    };
    if respond::unconfirmed(cx, response) {
        explain(cx, "nobody knows whether a call was carried out, and the row does not tell: the engine says so");
        return Ok(Flow::Continue);
    }
    explain(cx, "the row of the intent, else of ANY, with the lowest score answers");
    announce(cx, response);
    let text = match &response.making {
        Making::Exact(template) => respond::exact(cx, response, template),
        Making::Derived { hint, schema } => respond::derived(cx, response, hint, schema.clone()).await?,
    };
    extension::payload(cx).await.map_err(|_| Fault::of_task())?;
    cx.audit(Stage::AssistantOutput, |session| {
        json!({
            "output": text,
            "outputFormat": response.format_name,
            "responseType": response.type_name,
            "responseId": response.id,
            "intent": session.intent,
            "state": session.state,
            "context": session.context,
            "schemaJson": session.schema_json(),
        })
    });
    Ok(Flow::Continue)
}

fn explain(cx: &Turning<'_>, verdict: &str) {
    let (intent, state) = (&cx.session.intent, &cx.session.state);
    if let Some(explanation) = cx.door.why("response") {
        explanation.about(json!({"intent": intent, "state": state})).of(cx.config.responses.considered(intent, state)).decided(&cx.door, verdict);
    }
}

fn announce(cx: &Turning<'_>, response: &Response) {
    let facts = json!({"responseId": response.id, "intent": cx.session.intent, "state": cx.session.state});
    let metadata = || members(facts.clone());
    cx.audit(Stage::ResolveResponse, |_| facts.clone());
    publish(cx, Progress::new(STEP, "RESOLVE_RESPONSE"), metadata);
    publish(cx, Progress::new(STEP, "RESOLVE_RESPONSE_SELECTED"), metadata);
    publish(cx, Progress::new("ResponseTypeResolverFactory", "RESPONSE_TYPE_RESOLVER_SELECTED"), metadata);
    if matches!(response.making, Making::Derived { .. }) {
        publish(cx, Progress::new("OutputFormatResolverFactory", "OUTPUT_FORMAT_RESOLVER_SELECTED"), metadata);
    }
}
