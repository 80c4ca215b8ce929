//! Answers written by a model. (docs/spec/data-and-api.md#5.3)

use convengine_config::{OutputFormat, Response};
use convengine_text::json::{find_json, into_members};
use convengine_text::template::Template;
use convengine_turn::{Fault, FaultCode};
use convengine_turn::{LlmMode, Map, payload};
use serde_json::{Value, json};

use super::set_answer;
use crate::audit::Stage;
use crate::llm;
use crate::step_context::StepContext;
use crate::verbose::{Progress, publish, publish_and_audit};

/// The parts of a model call that writes an answer.
struct AnswerRequest<'o> {
    purpose: &'static str,
    resolver: &'static str,
    system: &'o Template,
    user: &'o Template,
    hint: &'o str,
    schema: Option<Value>,
    format: OutputFormat,
}

/// Lets a model write the answer of a response row.
///
/// # Errors
/// No template of the row's format matches, or the model call failed.
pub async fn derive_answer(cx: &mut StepContext<'_>, response: &Response, hint: &str, schema: Option<Value>) -> Result<(), Fault> {
    let config = cx.config;
    let template = config.prompts.find_response(response.format.name(), &cx.session.intent, &cx.session.state);
    llm::explain_template(cx, response.format.name(), template.map(|it| it.id));
    let Some(template) = template else {
        let message = format!(
            "No prompt template found for output_format={}, intent={}, state={}",
            response.format.name(),
            cx.session.intent,
            cx.session.state
        );
        return Err(Fault::new(FaultCode::NoResponseConfigured, message));
    };
    let (purpose, resolver) = match response.format {
        OutputFormat::Text => ("response_text", "TextOutputFormatResolver"),
        OutputFormat::Json => ("response_json", "JsonOutputFormatResolver"),
    };
    let request =
        AnswerRequest { purpose, resolver, system: &template.system, user: &template.user, hint, schema, format: response.format };
    let text = ask_model(cx, &request, Some(template.id)).await?;
    if response.format == OutputFormat::Json {
        apply_reply_scope(cx, &text);
    }
    Ok(())
}

/// Asks the user which of the colliding intents to choose. (docs/spec/pipeline.md#2.24 step 1)
///
/// # Errors
/// The model call failed.
pub async fn answer_collision(cx: &mut StepContext<'_>) -> Result<(), Fault> {
    cx.audit(Stage::IntentCollisionDetected, |session| payload!({"intent": session.intent, "state": session.state}));
    let config = cx.config;
    let prompts = &config.intent_resolver.collision_prompts;
    let request = AnswerRequest {
        purpose: "intent_collision",
        resolver: "TextOutputFormatResolver",
        system: &prompts.system,
        user: &prompts.user,
        hint: &config.intent_resolver.collision_hint,
        schema: None,
        format: OutputFormat::Text,
    };
    let text = ask_model(cx, &request, None).await?;
    cx.audit(Stage::IntentCollisionResolved, |session| {
        payload!({
            "output": text, "intent": session.intent, "state": session.state, "context": session.context,
            "schemaJson": session.schema_json(),
        })
    });
    Ok(())
}

async fn ask_model(cx: &mut StepContext<'_>, request: &AnswerRequest<'_>, template: Option<i64>) -> Result<String, Fault> {
    let (purpose, resolver) = (request.purpose, request.resolver);
    cx.audit(Stage::ResolveResponseSelected, |session| {
        let mut facts = Map::new();
        if let Some(id) = template {
            facts.insert("templateId".to_owned(), json!(id));
            facts.insert("templateDesc".to_owned(), Value::Null);
        }
        facts.insert("intent".to_owned(), json!(session.intent));
        facts.insert("outputFormat".to_owned(), json!(request.format.name()));
        facts.insert("resolver".to_owned(), json!(resolver));
        Value::Object(facts)
    });
    cx.session.share_view();
    let variables = llm::prompt_variables(cx, &Value::Null);
    let mut prompts = llm::render_prompts(cx, request.system, request.user, &variables);
    prompts.hint = Some(request.hint.to_owned());
    let is_json = request.format == OutputFormat::Json;
    let mut input = into_members(json!({"system_prompt": prompts.system, "user_prompt": prompts.user, "derivation_hint": request.hint}));
    if is_json {
        input.insert("schema".to_owned(), json!(request.schema));
    }
    publish(cx, Progress::new(resolver, "RESOLVE_RESPONSE_LLM_INPUT"), || input.clone());
    cx.audit(Stage::ResolveResponseLlmInput, |session| {
        input.insert("session".to_owned(), session.facts());
        Value::Object(input)
    });
    let mode = if is_json { LlmMode::Json } else { LlmMode::Text };
    let text = match llm::call_model(cx, purpose, mode, prompts, request.schema.clone()).await {
        Ok(reply) if is_json => take_json(reply.text),
        Ok(reply) => reply.text,
        Err(error) => {
            publish(cx, Progress::fatal(resolver, "RESOLVE_RESPONSE_LLM_ERROR"), || into_members(json!({"error": error.message})));
            return Err(Fault::from_llm_failure());
        }
    };
    let output = json!({"output": text});
    publish_and_audit(cx, Stage::ResolveResponseLlmOutput, Progress::new(resolver, "RESOLVE_RESPONSE_LLM_OUTPUT"), output);
    let source = if is_json { "RESPONSE_JSON" } else { "RESPONSE_TEXT" };
    set_answer(cx, request.format, source, text.clone());
    Ok(text)
}

/// The JSON of a reply without what stands around it; a reply without JSON is returned as is.
fn take_json(reply: String) -> String {
    match find_json(&reply) {
        Some(json) if json.len() < reply.trim().len() => json.to_owned(),
        Some(_) | None => reply,
    }
}

/// Takes over intent and state from the model's JSON. (docs/spec/pipeline.md#Q-29)
fn apply_reply_scope(cx: &mut StepContext<'_>, text: &str) {
    let Ok(reply) = serde_json::from_str::<Map>(text) else { return };
    let code = |key: &str| reply.get(key).and_then(Value::as_str).filter(|code| !code.trim().is_empty()).map(str::to_owned);
    if let Some(intent) = code("intent") {
        cx.session.set_intent(&intent);
    }
    if let Some(state) = code("state") {
        cx.session.state = state;
    }
}

#[cfg(test)]
mod tests {
    use super::take_json;

    #[test]
    fn json_loses_what_stands_around_it_and_text_does_not() {
        assert_eq!(take_json("```json\n{\"a\":1}\n```".to_owned()), "{\"a\":1}");
        assert_eq!(take_json("{\"a\":1}".to_owned()), "{\"a\":1}");
        assert_eq!(take_json("```\nnot JSON\n```".to_owned()), "```\nnot JSON\n```");
        assert_eq!(take_json("Here it is: {\"a\":1.0}. Anything else?".to_owned()), "{\"a\":1.0}");
        assert_eq!(take_json("Here: {\"a\":1} {\"b\":2}".to_owned()), "Here: {\"a\":1} {\"b\":2}");
    }
}
