//! Takes a confirmation, a retry or a change of one collected value at its word, without a model. (`spec/pipeline.md` 2.9)
//! Reads: `ce_output_schema`, `ce_prompt_template`, `dialogue_act`, the message. Writes: `routing_decision`, `skip_*`, `correction_*`,
//! one value of the context, schema facts, lock. Waits for: nothing.

use serde_json::{Value, json};

use super::Flow;
use crate::audit::Stage;
use crate::config::{Act, InteractionTerms, OutputSchema};
use crate::json::members;
use crate::schema;
use crate::text::on_one_line;
use crate::turning::Turning;
use crate::verbose::{Progress, tell};

/// Messages that ask to try again.
const RETRIES: [&str; 5] = ["retry", "try again", "retry please", "please retry", "again"];

pub(super) fn run(t: &mut Turning<'_>) -> Flow {
    begin(t);
    let config = t.config;
    let verdict = match (schema::of_correction(t), config.prompts.interaction(&t.session.intent, &t.session.state)) {
        (Some(schema), Some(terms)) => decide(t, schema, terms),
        (None, _) => "nothing to correct: no schema is for this intent and state",
        (Some(_), None) => "nothing to correct: no prompt template says what the user may do here",
    };
    if let Some(why) = t.door.why("correction") {
        let about = json!({"act": t.session.act(), "routingDecision": t.session.params.get("routing_decision")});
        why.about(about).decided(&t.door, verdict);
    }
    Flow::Continue
}

/// Returns what was decided, and why.
fn decide(t: &mut Turning<'_>, schema: &OutputSchema, terms: &InteractionTerms) -> &'static str {
    let act = t.session.act();
    if terms.may_retry() && asks_to_retry(t.session.text()) {
        route(t, "RETRY_IN_PLACE");
        told(t, Stage::CorrectionStepRetryRequested, "RETRY_REQUESTED", json!({"routingDecision": "RETRY_IN_PLACE"}));
        "the message asks to try again, which may be done here"
    } else if terms.may_affirm() && act == Act::Affirm && schema::complete(schema, &t.session.context) {
        schema::note_and_lock(t, schema);
        route(t, "PROCEED_CONFIRMED");
        told(t, Stage::CorrectionStepConfirmAccept, "CONFIRM_ACCEPT", json!({"routingDecision": "PROCEED_CONFIRMED"}));
        "the user confirms, and all values are there"
    } else if terms.may_edit() && act == Act::Edit {
        correct(t, schema)
    } else {
        "the act is none that may be taken at its word here, or values are missing"
    }
}

/// What stands unless a rule of this turn said otherwise. (`decisions.md` 9)
fn begin(t: &mut Turning<'_>) {
    let answer = t.session.act() == Act::Answer;
    let routing = if answer { "HANDLE_AS_ANSWER" } else { "CONTINUE_STANDARD_FLOW" };
    for (key, value) in [
        ("routing_decision", json!(routing)),
        ("skip_schema_extraction", json!(false)),
        ("correction_applied", json!(false)),
        ("correction_target_field", Value::Null),
    ] {
        if !t.session.was_set_by_rule(key) {
            t.session.set_param(key, value);
        }
    }
}

fn asks_to_retry(text: &str) -> bool {
    let text = text.trim_end_matches(|c: char| c.is_whitespace() || ['.', '!', '?'].contains(&c)).to_lowercase();
    RETRIES.contains(&on_one_line(&text).as_str())
}

/// Keeps the intent and what was collected.
fn route(t: &mut Turning<'_>, decision: &str) {
    t.session.set_param("routing_decision", decision);
    t.session.set_param("skip_schema_extraction", true);
    t.session.set_param("skip_intent_resolution", true);
}

fn correct(t: &mut Turning<'_>, schema: &OutputSchema) -> &'static str {
    let Some((field, value)) = schema::patch(schema, t.session.text()) else {
        return "the user wants a change, but the message names no field with its value";
    };
    t.session.context.insert(field.to_owned(), value.clone());
    schema::note_and_lock(t, schema);
    route(t, "APPLY_CORRECTION");
    t.session.set_param("correction_applied", true);
    t.session.set_param("correction_target_field", field);
    let facts = json!({"field": field, "value": value, "routingDecision": "APPLY_CORRECTION"});
    told(t, Stage::CorrectionStepCorrectionPatchApplied, "CORRECTION_PATCH_APPLIED", facts);
    "the message changes one value"
}

fn told(t: &Turning<'_>, stage: Stage, determinant: &str, facts: Value) {
    let mut facts = members(facts);
    facts.insert("intent".to_owned(), json!(t.session.intent));
    facts.insert("state".to_owned(), json!(t.session.state));
    tell(t, stage, Progress::new("CorrectionStep", determinant), Value::Object(facts));
}
