//! Applies a confirmation, a retry or a correction of one collected value without a model. (docs/spec/pipeline.md#2.9)
//! Reads: `ce_output_schema`, `ce_prompt_template`, `dialogue_act`, the message. Writes: `routing_decision`, `skip_*`, `correction_*`,
//! one value of the context, schema facts, lock. Waits for: nothing.

use convengine_config::{DialogueAct, InteractionTerms, OutputSchema};
use convengine_text::collapse_whitespace;
use convengine_text::json::into_members;
use serde_json::{Value, json};

use super::StepOutcome;
use crate::audit::Stage;
use crate::schema;
use crate::step_context::StepContext;
use crate::verbose::{Progress, publish_and_audit};

/// Messages that request a retry.
const RETRY_MESSAGES: [&str; 5] = ["retry", "try again", "retry please", "please retry", "again"];

pub(super) fn run(cx: &mut StepContext<'_>) -> StepOutcome {
    set_defaults(cx);
    let config = cx.config;
    let verdict = match (schema::correction_schema(cx), config.prompts.find_interaction(&cx.session.intent, &cx.session.state)) {
        (Some(schema), Some(terms)) => apply_decision(cx, schema, terms),
        (None, _) => "nothing to correct: no schema applies to this intent and state",
        (Some(_), None) => "nothing to correct: no prompt template says what the user may do here",
    };
    if let Some(explanation) = cx.effects.begin_explanation("correction") {
        let about = json!({"act": cx.session.dialogue_act(), "routingDecision": cx.session.params.get("routing_decision")});
        explanation.with_subject(about).record(&cx.effects, verdict);
    }
    StepOutcome::Continue
}

/// Applies the decision and returns its explanation.
fn apply_decision(cx: &mut StepContext<'_>, schema: &OutputSchema, terms: &InteractionTerms) -> &'static str {
    let act = cx.session.dialogue_act();
    if terms.can_retry() && is_retry_request(cx.session.text()) {
        set_routing(cx, "RETRY_IN_PLACE");
        publish_decision(cx, Stage::CorrectionStepRetryRequested, "RETRY_REQUESTED", json!({"routingDecision": "RETRY_IN_PLACE"}));
        "the message asks to try again, which may be done here"
    } else if terms.can_affirm() && act == DialogueAct::Affirm && schema::is_complete(schema, &cx.session.context) {
        schema::update_facts_and_lock(cx, schema);
        set_routing(cx, "PROCEED_CONFIRMED");
        publish_decision(cx, Stage::CorrectionStepConfirmAccept, "CONFIRM_ACCEPT", json!({"routingDecision": "PROCEED_CONFIRMED"}));
        "confirmed, and no value is missing"
    } else if terms.can_edit() && act == DialogueAct::Edit {
        apply_correction(cx, schema)
    } else {
        "the act cannot be applied here without a model, or values are missing"
    }
}

/// Sets the defaults, unless a rule of this turn set the keys. (docs/decisions/0030-correction.md)
fn set_defaults(cx: &mut StepContext<'_>) {
    let answer = cx.session.dialogue_act() == DialogueAct::Answer;
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

fn is_retry_request(text: &str) -> bool {
    let text = text.trim_end_matches(|c: char| c.is_whitespace() || ['.', '!', '?'].contains(&c)).to_lowercase();
    RETRY_MESSAGES.contains(&collapse_whitespace(&text).as_str())
}

/// Routes the turn so that it keeps the intent and the collected values.
fn set_routing(cx: &mut StepContext<'_>, decision: &str) {
    cx.session.set_param("routing_decision", decision);
    cx.session.set_param("skip_schema_extraction", true);
    cx.session.set_param("skip_intent_resolution", true);
}

fn apply_correction(cx: &mut StepContext<'_>, schema: &OutputSchema) -> &'static str {
    let Some((field, value)) = schema::parse_correction(schema, cx.session.text()) else {
        return "the user wants a change, but the message names no field with its value";
    };
    cx.session.context.insert(field.to_owned(), value.clone());
    schema::update_facts_and_lock(cx, schema);
    set_routing(cx, "APPLY_CORRECTION");
    cx.session.set_param("correction_applied", true);
    cx.session.set_param("correction_target_field", field);
    let facts = json!({"field": field, "value": value, "routingDecision": "APPLY_CORRECTION"});
    publish_decision(cx, Stage::CorrectionStepCorrectionPatchApplied, "CORRECTION_PATCH_APPLIED", facts);
    "the message changes one value"
}

fn publish_decision(cx: &StepContext<'_>, stage: Stage, determinant: &str, facts: Value) {
    let mut facts = into_members(facts);
    facts.insert("intent".to_owned(), json!(cx.session.intent));
    facts.insert("state".to_owned(), json!(cx.session.state));
    publish_and_audit(cx, stage, Progress::new("CorrectionStep", determinant), Value::Object(facts));
}
