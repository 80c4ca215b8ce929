//! Applies a confirmation, a retry or a correction of one collected value without a model. (docs/spec/pipeline.md#2.9)
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

/// Messages that request a retry.
const RETRIES: [&str; 5] = ["retry", "try again", "retry please", "please retry", "again"];

pub(super) fn run(cx: &mut Turning<'_>) -> Flow {
    begin(cx);
    let config = cx.config;
    let verdict = match (schema::of_correction(cx), config.prompts.interaction(&cx.session.intent, &cx.session.state)) {
        (Some(schema), Some(terms)) => decide(cx, schema, terms),
        (None, _) => "nothing to correct: no schema is for this intent and state",
        (Some(_), None) => "nothing to correct: no prompt template says what the user may do here",
    };
    if let Some(explanation) = cx.door.why("correction") {
        let about = json!({"act": cx.session.act(), "routingDecision": cx.session.params.get("routing_decision")});
        explanation.about(about).decided(&cx.door, verdict);
    }
    Flow::Continue
}

/// Applies the decision and returns its explanation.
fn decide(cx: &mut Turning<'_>, schema: &OutputSchema, terms: &InteractionTerms) -> &'static str {
    let act = cx.session.act();
    if terms.may_retry() && asks_to_retry(cx.session.text()) {
        route(cx, "RETRY_IN_PLACE");
        told(cx, Stage::CorrectionStepRetryRequested, "RETRY_REQUESTED", json!({"routingDecision": "RETRY_IN_PLACE"}));
        "the message asks to try again, which may be done here"
    } else if terms.may_affirm() && act == Act::Affirm && schema::complete(schema, &cx.session.context) {
        schema::note_and_lock(cx, schema);
        route(cx, "PROCEED_CONFIRMED");
        told(cx, Stage::CorrectionStepConfirmAccept, "CONFIRM_ACCEPT", json!({"routingDecision": "PROCEED_CONFIRMED"}));
        "the user confirms, and all values are there"
    } else if terms.may_edit() && act == Act::Edit {
        correct(cx, schema)
    } else {
        "the act is none that may be taken at its word here, or values are missing"
    }
}

/// Sets the defaults, unless a rule of this turn set the keys. (docs/decisions/README.md#9)
fn begin(cx: &mut Turning<'_>) {
    let answer = cx.session.act() == Act::Answer;
    let routing = if answer { "HANDLE_AS_ANSWER" } else { "CONTINUE_STANDARD_FLOW" };
    for (key, value) in [
        ("routing_decision", json!(routing)),
        ("skip_schema_extraction", json!(false)),
        ("correction_applied", json!(false)),
        ("correction_target_field", Value::Null),
    ] {
        if !cx.session.was_set_by_rule(key) {
            cx.session.set_param(key, value);
        }
    }
}

fn asks_to_retry(text: &str) -> bool {
    let text = text.trim_end_matches(|c: char| c.is_whitespace() || ['.', '!', '?'].contains(&c)).to_lowercase();
    RETRIES.contains(&on_one_line(&text).as_str())
}

/// Routes the turn so that it keeps the intent and the collected values.
fn route(cx: &mut Turning<'_>, decision: &str) {
    cx.session.set_param("routing_decision", decision);
    cx.session.set_param("skip_schema_extraction", true);
    cx.session.set_param("skip_intent_resolution", true);
}

fn correct(cx: &mut Turning<'_>, schema: &OutputSchema) -> &'static str {
    let Some((field, value)) = schema::patch(schema, cx.session.text()) else {
        return "the user wants a change, but the message names no field with its value";
    };
    cx.session.context.insert(field.to_owned(), value.clone());
    schema::note_and_lock(cx, schema);
    route(cx, "APPLY_CORRECTION");
    cx.session.set_param("correction_applied", true);
    cx.session.set_param("correction_target_field", field);
    let facts = json!({"field": field, "value": value, "routingDecision": "APPLY_CORRECTION"});
    told(cx, Stage::CorrectionStepCorrectionPatchApplied, "CORRECTION_PATCH_APPLIED", facts);
    "the message changes one value"
}

fn told(cx: &Turning<'_>, stage: Stage, determinant: &str, facts: Value) {
    let mut facts = members(facts);
    facts.insert("intent".to_owned(), json!(cx.session.intent));
    facts.insert("state".to_owned(), json!(cx.session.state));
    tell(cx, stage, Progress::new("CorrectionStep", determinant), Value::Object(facts));
}
