//! Extracts the values of the intent's schema from the message with a model, and locks the intent until all are collected.
//! (docs/spec/pipeline.md#2.17, docs/decisions/0035-schema-extraction.md)
//! Reads: `ce_output_schema`, `ce_prompt_template`, `schema_id`, `skip_schema_extraction`, parameters, history. Writes: values in the
//! context, schema facts, lock, last model text. Waits for: llm, rule tasks.

use convengine_config::{OutputSchema, Phase, PromptTemplate, SCHEMA_JSON};
use convengine_text::json::{into_members, read_object};
use convengine_turn::LlmMode;
use convengine_turn::{Fault, FaultCode};
use serde_json::{Value, json};

use super::StepOutcome;
use crate::audit::Stage;
use crate::llm;
use crate::rules;
use crate::schema;
use crate::step_context::StepContext;
use crate::verbose::{Progress, publish, publish_and_audit};

const STEP: &str = "SchemaExtractionStep";

pub(super) async fn run(cx: &mut StepContext<'_>) -> Result<StepOutcome, Fault> {
    let schema = schema::turn_schema(cx);
    if cx.session.is_question_turn || cx.session.params.get("skip_schema_extraction") == Some(&Value::Bool(true)) {
        update_facts(cx, schema);
    } else if let Some(schema) = schema {
        extract(cx, schema).await?;
    } else {
        release_lock(cx);
    }
    Ok(StepOutcome::Continue)
}

/// Removes the lock, because no values are collected. A question asked in this turn stays open, whatever the context still says.
/// (docs/spec/pipeline.md#Q-03)
fn release_lock(cx: &mut StepContext<'_>) {
    cx.session.lock = None;
    update_facts(cx, None);
    if cx.session.context.contains_key("intent_lock") {
        cx.session.write_context();
    }
}

/// Updates the schema facts only.
fn update_facts(cx: &mut StepContext<'_>, schema: Option<&OutputSchema>) {
    match schema {
        Some(schema) => schema::update_facts(cx, schema),
        None => {
            cx.session.schema = None;
            cx.session.share_schema();
        }
    }
}

async fn extract(cx: &mut StepContext<'_>, schema: &OutputSchema) -> Result<(), Fault> {
    let config = cx.config;
    let template = config.prompts.find_extraction(&cx.session.intent, &cx.session.state);
    llm::explain_template(cx, SCHEMA_JSON, template.map(|it| it.id));
    if template.is_none() && is_collected_elsewhere(cx, schema) {
        update_facts(cx, Some(schema));
        return Ok(());
    }
    publish_and_audit(cx, Stage::SchemaExtractionStart, Progress::new(STEP, "SCHEMA_EXTRACTION_START"), json!({"schemaId": schema.id}));
    let Some(template) = template else {
        let message = format!("no prompt extracts values for intent {}, state {}", cx.session.intent, cx.session.state);
        return Err(Fault::new(FaultCode::PromptContextMissing, message));
    };
    schema::merge_params(schema, &mut cx.session.context, &cx.session.params);
    schema::update_facts(cx, schema);
    let reply = ask_model(cx, schema, template).await?;
    merge_reply(cx, schema, &reply);
    schema::update_facts_and_lock(cx, schema);
    publish_and_audit(cx, Stage::SchemaStatus, Progress::new(STEP, "SCHEMA_STATUS"), schema::status_payload(cx));
    rules::run_pass(cx, Phase::PostSchemaExtraction, STEP).await;
    cx.session.write_context();
    Ok(())
}

/// Whether all values were collected in another state, so that this state needs no prompt.
fn is_collected_elsewhere(cx: &StepContext<'_>, schema: &OutputSchema) -> bool {
    let (intent, state) = (&cx.session.intent, &cx.session.state);
    let scoped = cx.config.schemas.find_for_extraction(intent, state).is_some_and(|it| it.id == schema.id);
    !scoped && !schema::is_collecting(cx)
}

async fn ask_model(cx: &mut StepContext<'_>, schema: &OutputSchema, template: &PromptTemplate) -> Result<String, Fault> {
    cx.session.share_view();
    let definition = (*schema.definition).clone();
    let variables = llm::prompt_variables(cx, &definition);
    let prompts = llm::render_prompts(cx, &template.system, &template.user, &variables);
    let input = json!({
        "system_prompt": prompts.system,
        "user_prompt": prompts.user,
        "schema": definition,
        "userInput": cx.session.working_text(),
    });
    publish_and_audit(cx, Stage::SchemaExtractionLlmInput, Progress::new(STEP, "SCHEMA_EXTRACTION_LLM_INPUT"), input);
    let text = match llm::call_model(cx, "schema_extraction", LlmMode::Json, prompts, Some(definition)).await {
        Ok(reply) => reply.text,
        Err(error) => {
            publish(cx, Progress::fatal(STEP, "SCHEMA_EXTRACTION_LLM_ERROR"), || into_members(json!({"error": error.message})));
            return Err(Fault::from_llm_failure());
        }
    };
    cx.session.last_output = Some(("SCHEMA_EXTRACTION", text.clone()));
    publish_and_audit(cx, Stage::SchemaExtractionLlmOutput, Progress::new(STEP, "SCHEMA_EXTRACTION_LLM_OUTPUT"), json!({"json": text}));
    Ok(text)
}

/// Merges the reply; one that is not a JSON object is ignored. Fresh values remove older tool results, unless this turn's tools ran before.
fn merge_reply(cx: &mut StepContext<'_>, schema: &OutputSchema, reply: &str) {
    let Ok(reply) = read_object(reply) else { return };
    let fresh = schema::merge(schema, &mut cx.session.context, &reply);
    if fresh && cx.config.settings.profile.clears_tool_results && !schema.names.iter().any(|it| it == "mcp") {
        cx.session.context.shift_remove("mcp");
    }
}
