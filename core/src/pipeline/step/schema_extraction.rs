//! Extracts the values of the intent's schema from the message with a model, and locks the intent until all are collected.
//! (docs/spec/pipeline.md#2.17, docs/decisions/README.md#9)
//! Reads: `ce_output_schema`, `ce_prompt_template`, `schema_id`, `skip_schema_extraction`, parameters, history. Writes: values in the
//! context, schema facts, lock, last model text. Waits for: llm, rule tasks.

use serde_json::{Value, json};

use super::Flow;
use crate::audit::Stage;
use crate::config::{OutputSchema, Phase, PromptTemplate, SCHEMA_JSON};
use crate::fault::{Fault, FaultCode};
use crate::json::members;
use crate::llm;
use crate::rules;
use crate::schema;
use crate::turn::{LlmMode, Map};
use crate::turning::Turning;
use crate::verbose::{Progress, publish, tell};

const STEP: &str = "SchemaExtractionStep";

pub(super) async fn run(cx: &mut Turning<'_>) -> Result<Flow, Fault> {
    let schema = schema::of_turn(cx);
    if cx.session.stalled || cx.session.params.get("skip_schema_extraction") == Some(&Value::Bool(true)) {
        look(cx, schema);
    } else if let Some(schema) = schema {
        extract(cx, schema).await?;
    } else {
        release(cx);
    }
    Ok(Flow::Continue)
}

/// Removes the lock, because no values are collected. A question asked in this turn stays open, whatever the context still says.
/// (docs/decisions/README.md#Q-03)
fn release(cx: &mut Turning<'_>) {
    cx.session.lock = None;
    look(cx, None);
    if cx.session.context.contains_key("intent_lock") {
        cx.session.write_context();
    }
}

/// Updates the schema facts only.
fn look(cx: &mut Turning<'_>, schema: Option<&OutputSchema>) {
    match schema {
        Some(schema) => schema::note(cx, schema),
        None => {
            cx.session.schema = None;
            cx.session.share_schema();
        }
    }
}

async fn extract(cx: &mut Turning<'_>, schema: &OutputSchema) -> Result<(), Fault> {
    let config = cx.config;
    let template = config.prompts.extraction(&cx.session.intent, &cx.session.state);
    llm::explain_template(cx, SCHEMA_JSON, template.map(|it| it.id));
    if template.is_none() && elsewhere(cx, schema) {
        look(cx, Some(schema));
        return Ok(());
    }
    tell(cx, Stage::SchemaExtractionStart, Progress::new(STEP, "SCHEMA_EXTRACTION_START"), json!({"schemaId": schema.id}));
    let Some(template) = template else {
        let message = format!("no prompt extracts values for intent {}, state {}", cx.session.intent, cx.session.state);
        return Err(Fault::new(FaultCode::PromptContextMissing, message));
    };
    schema::seed(schema, &mut cx.session.context, &cx.session.params);
    schema::note(cx, schema);
    let reply = ask(cx, schema, template).await?;
    take(cx, schema, &reply);
    schema::note_and_lock(cx, schema);
    tell(cx, Stage::SchemaStatus, Progress::new(STEP, "SCHEMA_STATUS"), schema::status(cx));
    rules::pass(cx, Phase::PostSchemaExtraction, STEP).await;
    cx.session.write_context();
    Ok(())
}

/// Whether all values were collected in another state, so that this state needs no prompt.
fn elsewhere(cx: &Turning<'_>, schema: &OutputSchema) -> bool {
    let (intent, state) = (&cx.session.intent, &cx.session.state);
    let scoped = cx.config.schemas.for_extraction(intent, state).is_some_and(|it| it.id == schema.id);
    !scoped && !schema::collecting(cx)
}

async fn ask(cx: &mut Turning<'_>, schema: &OutputSchema, template: &PromptTemplate) -> Result<String, Fault> {
    cx.session.share_view();
    let definition = (*schema.definition).clone();
    let variables = llm::variables(cx, &definition);
    let prompts = llm::prompts(cx, &template.system, &template.user, &variables);
    let input = json!({
        "system_prompt": prompts.system,
        "user_prompt": prompts.user,
        "schema": definition,
        "userInput": cx.session.working_text(),
    });
    tell(cx, Stage::SchemaExtractionLlmInput, Progress::new(STEP, "SCHEMA_EXTRACTION_LLM_INPUT"), input);
    let text = match llm::ask(cx, "schema_extraction", LlmMode::Json, prompts, Some(definition)).await {
        Ok(reply) => reply.text,
        Err(error) => {
            publish(cx, Progress::error(STEP, "SCHEMA_EXTRACTION_LLM_ERROR"), || members(json!({"error": error.message})));
            return Err(Fault::of_llm());
        }
    };
    cx.session.last_output = Some(("SCHEMA_EXTRACTION", text.clone()));
    tell(cx, Stage::SchemaExtractionLlmOutput, Progress::new(STEP, "SCHEMA_EXTRACTION_LLM_OUTPUT"), json!({"json": text}));
    Ok(text)
}

/// Merges the reply; one that is not a JSON object is ignored. Fresh values remove older tool results, unless this turn's tools ran before.
fn take(cx: &mut Turning<'_>, schema: &OutputSchema, reply: &str) {
    let Ok(reply) = serde_json::from_str::<Map>(llm::unfenced(reply)) else { return };
    let fresh = schema::merge(schema, &mut cx.session.context, &reply);
    if fresh && cx.config.settings.profile.drops_findings && !schema.names.iter().any(|it| it == "mcp") {
        cx.session.context.shift_remove("mcp");
    }
}
