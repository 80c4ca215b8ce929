//! Value collection: choosing the turn's schema, its completeness, and merging replies and corrections.

mod coerce;
mod correction;
mod facts;
mod merge;

pub use correction::parse_correction;
pub use facts::{compute_facts, is_complete};
pub use merge::{merge, merge_params};

use convengine_config::{ANY, OutputSchema, is_same_code};
use serde_json::{Value, json};

use crate::step_context::StepContext;

/// The lock reason while values are collected.
pub const SCHEMA_INCOMPLETE: &str = "SCHEMA_INCOMPLETE";

/// Whether the intent's values are still being collected, so that the intent is locked.
pub fn is_collecting(cx: &StepContext<'_>) -> bool {
    turn_schema(cx).is_some_and(|schema| !is_complete(schema, &cx.session.context))
}

/// Whether an intent has a schema, in any state.
pub fn has_schema(cx: &StepContext<'_>, intent: &str) -> bool {
    cx.config.schemas.has_intent(intent)
}

/// The schema for extraction in this turn.
pub fn turn_schema<'c>(cx: &StepContext<'c>) -> Option<&'c OutputSchema> {
    choose_schema(cx, cx.config.schemas.find_for_extraction(&cx.session.intent, &cx.session.state), OutputSchema::is_for_extraction)
}

/// The schema for corrections, of any type.
pub fn correction_schema<'c>(cx: &StepContext<'c>) -> Option<&'c OutputSchema> {
    choose_schema(cx, cx.config.schemas.find_any_type(&cx.session.intent, &cx.session.state), |_| true)
}

/// Chooses the schema that a rule names in this turn, else the state's own, else the one used before, else that of any state.
///
/// `schema_id` never leads to another intent (docs/spec/pipeline.md#Q-02). The engine writes it after each use, so that a confirmation
/// in another state still finds the collected values; the state's own schema takes precedence, or a second stage would never be collected.
fn choose_schema<'c>(
    cx: &StepContext<'c>,
    scoped: Option<&'c OutputSchema>,
    accepts: fn(&OutputSchema) -> bool,
) -> Option<&'c OutputSchema> {
    if cx.session.intent.trim().is_empty() {
        return None;
    }
    let number = |value: &Value| value.as_i64().or_else(|| value.as_str()?.trim().parse().ok());
    let named_schema = cx.session.params.get("schema_id").and_then(number).and_then(|id| cx.config.schemas.find_by_id(id));
    let named_schema = named_schema.filter(|schema| is_same_code(&schema.intent, &cx.session.intent) && accepts(schema));
    let rule_schema = named_schema.filter(|_| cx.session.was_set_by_rule("schema_id"));
    rule_schema.or(scoped.filter(|it| it.state != ANY)).or(named_schema).or(scoped)
}

/// Updates the schema facts in the session, for rules and templates.
pub fn update_facts(cx: &mut StepContext<'_>, schema: &OutputSchema) {
    cx.session.schema = Some(compute_facts(schema, &cx.session.context));
    cx.session.share_schema();
}

/// Updates the schema facts and locks the intent until nothing is missing.
pub fn update_facts_and_lock(cx: &mut StepContext<'_>, schema: &OutputSchema) {
    update_facts(cx, schema);
    let complete = cx.session.schema.as_ref().is_some_and(|it| it.complete);
    cx.session.lock = (!complete).then(|| SCHEMA_INCOMPLETE.to_owned());
}

/// The facts that audits and progress messages contain after an extraction.
pub fn status_payload(cx: &StepContext<'_>) -> Value {
    let session = &cx.session;
    let schema = session.schema.as_ref();
    json!({
        "schemaComplete": schema.is_some_and(|it| it.complete),
        "hasAnySchemaValue": schema.is_some_and(|it| it.has_any),
        "missingRequiredFields": schema.map(|it| &it.missing),
        "missingFieldOptions": schema.map(|it| &it.options),
        "schemaId": schema.map(|it| it.id),
        "intent": session.intent,
        "state": session.state,
        "intentLocked": session.lock.is_some(),
        "intentLockReason": session.lock,
        "context": session.context,
        "schemaJson": session.schema_json(),
    })
}
