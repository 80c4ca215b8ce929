//! Collecting values: which schema a turn works on, how far it has come, and what replies and corrections change.

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

/// Why an intent is held while its values are collected.
pub const SCHEMA_INCOMPLETE: &str = "SCHEMA_INCOMPLETE";

/// Whether the values of the intent are still being collected, so that the intent is held.
pub fn collecting(t: &Turning<'_>) -> bool {
    of_turn(t).is_some_and(|it| !complete(it, &t.session.context))
}

/// Whether an intent collects values at all, in whatever state.
pub fn drives(t: &Turning<'_>, intent: &str) -> bool {
    t.config.schemas.has_intent(intent)
}

/// The schema whose values the turn extracts.
pub fn of_turn<'c>(t: &Turning<'c>) -> Option<&'c OutputSchema> {
    choose(t, t.config.schemas.for_extraction(&t.session.intent, &t.session.state), OutputSchema::extracts)
}

/// The schema whose values can be corrected: of any type.
pub fn of_correction<'c>(t: &Turning<'c>) -> Option<&'c OutputSchema> {
    choose(t, t.config.schemas.any_type(&t.session.intent, &t.session.state), |_| true)
}

/// A schema that a rule names in this turn, else the state's own, else the one that was used before, else that of any state.
///
/// `schema_id` never leads to another intent. The engine itself writes it after each use, so that a confirmation in another state
/// still finds what was collected; it stands behind the state's own schema, or a second stage would never be collected.
fn choose<'c>(t: &Turning<'c>, scoped: Option<&'c OutputSchema>, fits: fn(&OutputSchema) -> bool) -> Option<&'c OutputSchema> {
    if t.session.intent.trim().is_empty() {
        return None;
    }
    let number = |it: &Value| it.as_i64().or_else(|| it.as_str()?.trim().parse().ok());
    let named = t.session.params.get("schema_id").and_then(number).and_then(|it| t.config.schemas.by_id(it));
    let named = named.filter(|it| same_code(&it.intent, &t.session.intent) && fits(it));
    let by_rule = named.filter(|_| t.session.was_set_by_rule("schema_id"));
    by_rule.or(scoped.filter(|it| it.state != ANY)).or(named).or(scoped)
}

/// Notes how far a schema has come, where rules and templates find it.
pub fn note(t: &mut Turning<'_>, schema: &OutputSchema) {
    t.session.schema = Some(facts(schema, &t.session.context));
    t.session.share_schema();
}

/// The same, and the intent is held until nothing is missing.
pub fn note_and_lock(t: &mut Turning<'_>, schema: &OutputSchema) {
    note(t, schema);
    let complete = t.session.schema.as_ref().is_some_and(|it| it.complete);
    t.session.lock = (!complete).then(|| SCHEMA_INCOMPLETE.to_owned());
}

/// What audits and progress messages tell after an extraction.
pub fn status(t: &Turning<'_>) -> Value {
    let session = &t.session;
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
