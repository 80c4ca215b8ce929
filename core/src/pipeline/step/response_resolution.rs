//! Chooses the response row and makes the answer from its text, or lets a model make it. (`spec/pipeline.md` 2.24)
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

pub(super) async fn run(t: &mut Turning<'_>) -> Result<Flow, Fault> {
    if t.session.state == INTENT_COLLISION {
        explain(t, "two intents fit equally well: the user is asked which one is meant");
        respond::collision(t).await?;
        return Ok(Flow::Continue);
    }
    if respond::question(t) {
        explain(t, "the question that is open is the answer");
        return Ok(Flow::Continue);
    }
    let config = t.config;
    let Some(response) = config.responses.select(&t.session.intent, &t.session.state) else {
        explain(t, "no row fits, so that the turn fails: add one for this intent and state, or for ANY");
        t.audit(Stage::ResponseMappingNotFound, |session| json!({"intent": session.intent, "state": session.state}));
        let message = format!("No response found for intent={}, state={}", t.session.intent, t.session.state);
        return Err(Fault::new(FaultCode::ResponseMappingNotFound, message));
    };
    if respond::unconfirmed(t, response) {
        explain(t, "nobody knows whether a call was carried out, and the row does not tell: the engine says so");
        return Ok(Flow::Continue);
    }
    explain(t, "the row of the intent, else of ANY, with the lowest score answers");
    announce(t, response);
    let text = match &response.making {
        Making::Exact(template) => respond::exact(t, response, template),
        Making::Derived { hint, schema } => respond::derived(t, response, hint, schema.clone()).await?,
    };
    extension::payload(t).await.map_err(|_| Fault::of_task())?;
    t.audit(Stage::AssistantOutput, |session| {
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

fn explain(t: &Turning<'_>, verdict: &str) {
    let (intent, state) = (&t.session.intent, &t.session.state);
    if let Some(why) = t.door.why("response") {
        why.about(json!({"intent": intent, "state": state})).of(t.config.responses.considered(intent, state)).decided(&t.door, verdict);
    }
}

fn announce(t: &Turning<'_>, response: &Response) {
    let facts = json!({"responseId": response.id, "intent": t.session.intent, "state": t.session.state});
    let metadata = || members(facts.clone());
    t.audit(Stage::ResolveResponse, |_| facts.clone());
    publish(t, Progress::new(STEP, "RESOLVE_RESPONSE"), metadata);
    publish(t, Progress::new(STEP, "RESOLVE_RESPONSE_SELECTED"), metadata);
    publish(t, Progress::new("ResponseTypeResolverFactory", "RESPONSE_TYPE_RESOLVER_SELECTED"), metadata);
    if matches!(response.making, Making::Derived { .. }) {
        publish(t, Progress::new("OutputFormatResolverFactory", "OUTPUT_FORMAT_RESOLVER_SELECTED"), metadata);
    }
}
