//! Lets a model find the values of the intent's schema in the message, and holds the intent until none is missing.
//! (`spec/pipeline.md` 2.17, `decisions.md` 9)
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

pub(super) async fn run(t: &mut Turning<'_>) -> Result<Flow, Fault> {
    let schema = schema::of_turn(t);
    if t.session.stalled || t.session.params.get("skip_schema_extraction") == Some(&Value::Bool(true)) {
        look(t, schema);
    } else if let Some(schema) = schema {
        extract(t, schema).await?;
    } else {
        release(t);
    }
    Ok(Flow::Continue)
}

/// Nothing is collected, so nothing holds the intent. What this turn asked stands, whatever the context says of an older turn.
fn release(t: &mut Turning<'_>) {
    t.session.lock = None;
    look(t, None);
    if t.session.context.contains_key("intent_lock") {
        t.session.write_context();
    }
}

/// Notes how far the schema has come, and changes nothing.
fn look(t: &mut Turning<'_>, schema: Option<&OutputSchema>) {
    match schema {
        Some(schema) => schema::note(t, schema),
        None => {
            t.session.schema = None;
            t.session.share_schema();
        }
    }
}

async fn extract(t: &mut Turning<'_>, schema: &OutputSchema) -> Result<(), Fault> {
    let config = t.config;
    let template = config.prompts.extraction(&t.session.intent, &t.session.state);
    llm::explain_template(t, SCHEMA_JSON, template.map(|it| it.id));
    if template.is_none() && elsewhere(t, schema) {
        look(t, Some(schema));
        return Ok(());
    }
    tell(t, Stage::SchemaExtractionStart, Progress::new(STEP, "SCHEMA_EXTRACTION_START"), json!({"schemaId": schema.id}));
    let Some(template) = template else {
        let message = format!("no prompt extracts values for intent {}, state {}", t.session.intent, t.session.state);
        return Err(Fault::new(FaultCode::PromptContextMissing, message));
    };
    schema::seed(schema, &mut t.session.context, &t.session.params);
    schema::note(t, schema);
    let reply = ask(t, schema, template).await?;
    take(t, schema, &reply);
    schema::note_and_lock(t, schema);
    tell(t, Stage::SchemaStatus, Progress::new(STEP, "SCHEMA_STATUS"), schema::status(t));
    rules::pass(t, Phase::PostSchemaExtraction, STEP).await;
    t.session.write_context();
    Ok(())
}

/// Whether everything was collected in another state, so that the state has no prompt because nothing is asked in it.
fn elsewhere(t: &Turning<'_>, schema: &OutputSchema) -> bool {
    let (intent, state) = (&t.session.intent, &t.session.state);
    let scoped = t.config.schemas.for_extraction(intent, state).is_some_and(|it| it.id == schema.id);
    !scoped && !schema::collecting(t)
}

async fn ask(t: &mut Turning<'_>, schema: &OutputSchema, template: &PromptTemplate) -> Result<String, Fault> {
    t.session.share_view();
    let definition = (*schema.definition).clone();
    let variables = llm::variables(t, &definition);
    let prompts = llm::prompts(t, &template.system, &template.user, &variables);
    let input = json!({
        "system_prompt": prompts.system,
        "user_prompt": prompts.user,
        "schema": definition,
        "userInput": t.session.working_text(),
    });
    tell(t, Stage::SchemaExtractionLlmInput, Progress::new(STEP, "SCHEMA_EXTRACTION_LLM_INPUT"), input);
    let text = match llm::ask(t, "schema_extraction", LlmMode::Json, prompts, Some(definition)).await {
        Ok(reply) => reply.text,
        Err(error) => {
            publish(t, Progress::error(STEP, "SCHEMA_EXTRACTION_LLM_ERROR"), || members(json!({"error": error.message})));
            return Err(Fault::of_llm());
        }
    };
    t.session.last_output = Some(("SCHEMA_EXTRACTION", text.clone()));
    tell(t, Stage::SchemaExtractionLlmOutput, Progress::new(STEP, "SCHEMA_EXTRACTION_LLM_OUTPUT"), json!({"json": text}));
    Ok(text)
}

/// A reply that is no JSON object says nothing. What tools found for older values goes when there are fresh ones, unless the tools
/// of the turn came first.
fn take(t: &mut Turning<'_>, schema: &OutputSchema, reply: &str) {
    let Ok(reply) = serde_json::from_str::<Map>(llm::unfenced(reply)) else { return };
    let fresh = schema::merge(schema, &mut t.session.context, &reply);
    if fresh && t.config.settings.profile.drops_findings && !schema.names.iter().any(|it| it == "mcp") {
        t.session.context.shift_remove("mcp");
    }
}
