//! Answers that a model makes. (`spec/data-and-api.md` 5.3)

use serde_json::{Value, json};

use super::answer;
use crate::audit::Stage;
use crate::config::{OutputFormat, Response};
use crate::fault::{Fault, FaultCode};
use crate::json::members;
use crate::llm;
use crate::text::template::Template;
use crate::turn::{LlmMode, Map};
use crate::turning::Turning;
use crate::verbose::{Progress, publish, tell};

/// What a model is told to make an answer.
struct Order<'o> {
    purpose: &'static str,
    resolver: &'static str,
    system: &'o Template,
    user: &'o Template,
    hint: &'o str,
    schema: Option<Value>,
    format: OutputFormat,
}

/// Lets a model make the answer of a row.
///
/// # Errors
/// No template of the row's format fits, or the model does not answer.
pub async fn derived(t: &mut Turning<'_>, response: &Response, hint: &str, schema: Option<Value>) -> Result<String, Fault> {
    let config = t.config;
    let template = config.prompts.answer(response.format.name(), &t.session.intent, &t.session.state);
    llm::explain_template(t, response.format.name(), template.map(|it| it.id));
    let Some(template) = template else {
        let message = format!(
            "No prompt template found for output_format={}, intent={}, state={}",
            response.format.name(),
            t.session.intent,
            t.session.state
        );
        return Err(Fault::new(FaultCode::NoResponseConfigured, message));
    };
    let (purpose, resolver) = match response.format {
        OutputFormat::Text => ("response_text", "TextOutputFormatResolver"),
        OutputFormat::Json => ("response_json", "JsonOutputFormatResolver"),
    };
    let order = Order { purpose, resolver, system: &template.system, user: &template.user, hint, schema, format: response.format };
    let text = ask(t, &order, Some(template.id)).await?;
    if response.format == OutputFormat::Json {
        follow(t, &text);
    }
    Ok(text)
}

/// Asks the user which of the intents that fit equally well is meant. (`spec/pipeline.md` 2.24 step 1)
///
/// # Errors
/// The model does not answer.
pub async fn collision(t: &mut Turning<'_>) -> Result<(), Fault> {
    t.audit(Stage::IntentCollisionDetected, |session| json!({"intent": session.intent, "state": session.state}));
    let config = t.config;
    let prompts = &config.agent.collision;
    let order = Order {
        purpose: "intent_collision",
        resolver: "TextOutputFormatResolver",
        system: &prompts.system,
        user: &prompts.user,
        hint: &config.agent.collision_hint,
        schema: None,
        format: OutputFormat::Text,
    };
    let text = ask(t, &order, None).await?;
    t.audit(Stage::IntentCollisionResolved, |session| {
        json!({
            "output": text, "intent": session.intent, "state": session.state, "context": session.context,
            "schemaJson": session.schema_json(),
        })
    });
    Ok(())
}

async fn ask(t: &mut Turning<'_>, order: &Order<'_>, template: Option<i64>) -> Result<String, Fault> {
    let (purpose, resolver) = (order.purpose, order.resolver);
    t.audit(Stage::ResolveResponseSelected, |session| {
        let mut facts = Map::new();
        if let Some(id) = template {
            facts.insert("templateId".to_owned(), json!(id));
            facts.insert("templateDesc".to_owned(), Value::Null);
        }
        facts.insert("intent".to_owned(), json!(session.intent));
        facts.insert("outputFormat".to_owned(), json!(order.format.name()));
        facts.insert("resolver".to_owned(), json!(resolver));
        Value::Object(facts)
    });
    t.session.share_view();
    let variables = llm::variables(t, &Value::Null);
    let mut prompts = llm::prompts(t, order.system, order.user, &variables);
    prompts.hint = Some(order.hint.to_owned());
    let is_json = order.format == OutputFormat::Json;
    let mut input = members(json!({"system_prompt": prompts.system, "user_prompt": prompts.user, "derivation_hint": order.hint}));
    if is_json {
        input.insert("schema".to_owned(), json!(order.schema));
    }
    publish(t, Progress::new(resolver, "RESOLVE_RESPONSE_LLM_INPUT"), || input.clone());
    t.audit(Stage::ResolveResponseLlmInput, |session| {
        input.insert("session".to_owned(), session.facts());
        Value::Object(input)
    });
    let mode = if is_json { LlmMode::Json } else { LlmMode::Text };
    let text = match llm::ask(t, purpose, mode, prompts, order.schema.clone()).await {
        Ok(reply) if is_json => repaired(reply.text),
        Ok(reply) => reply.text,
        Err(error) => {
            publish(t, Progress::error(resolver, "RESOLVE_RESPONSE_LLM_ERROR"), || members(json!({"error": error.message})));
            return Err(Fault::of_llm());
        }
    };
    let output = json!({"output": text});
    tell(t, Stage::ResolveResponseLlmOutput, Progress::new(resolver, "RESOLVE_RESPONSE_LLM_OUTPUT"), output);
    let source = if is_json { "RESPONSE_JSON" } else { "RESPONSE_TEXT" };
    answer(t, order.format, source, text.clone());
    Ok(text)
}

/// JSON without the fence around it; what is no JSON stays as it is.
fn repaired(reply: String) -> String {
    let inner = llm::unfenced(&reply);
    let is_json = reply.trim_start().starts_with("```") && serde_json::from_str::<serde::de::IgnoredAny>(inner).is_ok();
    if is_json { inner.to_owned() } else { reply }
}

/// Takes intent and state that the model's JSON names. (Q-29)
fn follow(t: &mut Turning<'_>, text: &str) {
    let Ok(reply) = serde_json::from_str::<Map>(text) else { return };
    let code = |key: &str| reply.get(key).and_then(Value::as_str).filter(|it| !it.trim().is_empty()).map(str::to_owned);
    if let Some(intent) = code("intent") {
        t.session.set_intent(&intent);
    }
    if let Some(state) = code("state") {
        t.session.state = state;
    }
}

#[cfg(test)]
mod tests {
    use super::repaired;

    #[test]
    fn json_loses_its_fence_and_text_keeps_its_own() {
        assert_eq!(repaired("```json\n{\"a\":1}\n```".to_owned()), "{\"a\":1}");
        assert_eq!(repaired("{\"a\":1}".to_owned()), "{\"a\":1}");
        assert_eq!(repaired("```\nnot JSON\n```".to_owned()), "```\nnot JSON\n```");
    }
}
