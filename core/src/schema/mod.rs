//! Value collection: choosing the turn's schema, its completeness, and merging replies and corrections.

mod coerce;
mod facts;
mod merge;
mod patch;

pub use facts::{complete, facts};
pub use merge::{merge, seed};
pub use patch::patch;

use serde_json::{Value, json};

use crate::config::{ANY, OutputSchema, same_code};
use crate::turning::Turning;

/// The lock reason while values are collected.
pub const SCHEMA_INCOMPLETE: &str = "SCHEMA_INCOMPLETE";

/// Whether the intent's values are still being collected, so that the intent is locked.
pub fn collecting(cx: &Turning<'_>) -> bool {
    of_turn(cx).is_some_and(|it| !complete(it, &cx.session.context))
}

/// Whether an intent has a schema, in any state.
pub fn drives(cx: &Turning<'_>, intent: &str) -> bool {
    cx.config.schemas.has_intent(intent)
}

/// The schema for extraction in this turn.
pub fn of_turn<'c>(cx: &Turning<'c>) -> Option<&'c OutputSchema> {
    choose(cx, cx.config.schemas.for_extraction(&cx.session.intent, &cx.session.state), OutputSchema::extracts)
}

/// The schema for corrections, of any type.
pub fn of_correction<'c>(cx: &Turning<'c>) -> Option<&'c OutputSchema> {
    choose(cx, cx.config.schemas.any_type(&cx.session.intent, &cx.session.state), |_| true)
}

/// Chooses the schema that a rule names in this turn, else the state's own, else the one used before, else that of any state.
///
/// `schema_id` never leads to another intent (docs/decisions/README.md#Q-02). The engine writes it after each use, so that a confirmation
/// in another state still finds the collected values; the state's own schema takes precedence, or a second stage would never be collected.
fn choose<'c>(cx: &Turning<'c>, scoped: Option<&'c OutputSchema>, accepts: fn(&OutputSchema) -> bool) -> Option<&'c OutputSchema> {
    if cx.session.intent.trim().is_empty() {
        return None;
    }
    let number = |it: &Value| it.as_i64().or_else(|| it.as_str()?.trim().parse().ok());
    let named_schema = cx.session.params.get("schema_id").and_then(number).and_then(|it| cx.config.schemas.by_id(it));
    let named_schema = named_schema.filter(|it| same_code(&it.intent, &cx.session.intent) && accepts(it));
    let rule_schema = named_schema.filter(|_| cx.session.was_set_by_rule("schema_id"));
    rule_schema.or(scoped.filter(|it| it.state != ANY)).or(named_schema).or(scoped)
}

/// Updates the schema facts in the session, for rules and templates.
pub fn note(cx: &mut Turning<'_>, schema: &OutputSchema) {
    cx.session.schema = Some(facts(schema, &cx.session.context));
    cx.session.share_schema();
}

/// Updates the schema facts and locks the intent until nothing is missing.
pub fn note_and_lock(cx: &mut Turning<'_>, schema: &OutputSchema) {
    note(cx, schema);
    let complete = cx.session.schema.as_ref().is_some_and(|it| it.complete);
    cx.session.lock = (!complete).then(|| SCHEMA_INCOMPLETE.to_owned());
}

/// The facts that audits and progress messages contain after an extraction.
pub fn status(cx: &Turning<'_>) -> Value {
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
