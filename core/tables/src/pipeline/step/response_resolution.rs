//! Selects the response row and renders its text, or lets a model write the answer. (docs/spec/pipeline.md#2.24)
//! Reads: `ce_response`, `ce_prompt_template`, intent, state, an open question. Writes: payload, last assistant text. Waits for: llm,
//! transformers.

use convengine_config::{Response, ResponseSource};
use convengine_text::json::into_members;
use convengine_turn::payload;
use convengine_turn::{Fault, FaultCode};
use serde_json::json;

use super::StepOutcome;
use crate::audit::Stage;
use crate::extension;
use crate::intent::INTENT_COLLISION;
use crate::respond;
use crate::step_context::StepContext;
use crate::verbose::{Progress, publish};

const STEP: &str = "ResponseResolutionStep";

pub(super) async fn run(cx: &mut StepContext<'_>) -> Result<StepOutcome, Fault> {
    if cx.session.state == INTENT_COLLISION {
        explain(cx, "two intents fit equally well: the user is asked which one is meant");
        respond::answer_collision(cx).await?;
        return Ok(StepOutcome::Continue);
    }
    if respond::answer_open_question(cx) {
        explain(cx, "answers with the open question");
        return Ok(StepOutcome::Continue);
    }
    let config = cx.config;
    let Some(response) = config.responses.select(&cx.session.intent, &cx.session.state) else {
        explain(cx, "no row matches and the turn fails; add one for this intent and state, or for ANY");
        cx.audit(Stage::ResponseMappingNotFound, |session| payload!({"intent": session.intent, "state": session.state}));
        let message = format!("No response found for intent={}, state={}", cx.session.intent, cx.session.state);
        return Err(Fault::new(FaultCode::ResponseMappingNotFound, message));
    };
    if respond::answer_unconfirmed(cx, response) {
        explain(cx, "the outcome of a call is unknown and the row does not say so; the engine does");
        return Ok(StepOutcome::Continue);
    }
    explain(cx, "the row of the intent, else of ANY, with the lowest score answers");
    publish_selection(cx, response);
    match &response.source {
        ResponseSource::Exact(template) => respond::render_exact(cx, response, template),
        ResponseSource::Derived { hint, schema } => respond::derive_answer(cx, response, hint, schema.clone()).await?,
    }
    extension::transform_payload(cx).await.map_err(|_| Fault::from_task_failure())?;
    respond::audit_answer(cx, &response.format_name, &response.type_name, Some(response.id));
    Ok(StepOutcome::Continue)
}

fn explain(cx: &StepContext<'_>, verdict: &str) {
    let (intent, state) = (&cx.session.intent, &cx.session.state);
    if let Some(explanation) = cx.effects.begin_explanation("response") {
        explanation
            .with_subject(json!({"intent": intent, "state": state}))
            .with_candidates(cx.config.responses.candidates(intent, state))
            .record(&cx.effects, verdict);
    }
}

fn publish_selection(cx: &StepContext<'_>, response: &Response) {
    let facts = json!({"responseId": response.id, "intent": cx.session.intent, "state": cx.session.state});
    let metadata = || into_members(facts.clone());
    cx.audit(Stage::ResolveResponse, |_| facts.clone());
    publish(cx, Progress::new(STEP, "RESOLVE_RESPONSE"), metadata);
    publish(cx, Progress::new(STEP, "RESOLVE_RESPONSE_SELECTED"), metadata);
    publish(cx, Progress::new("ResponseTypeResolverFactory", "RESPONSE_TYPE_RESOLVER_SELECTED"), metadata);
    if matches!(response.source, ResponseSource::Derived { .. }) {
        publish(cx, Progress::new("OutputFormatResolverFactory", "OUTPUT_FORMAT_RESOLVER_SELECTED"), metadata);
    }
}
