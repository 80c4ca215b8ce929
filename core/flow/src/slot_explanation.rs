//! Explanations of slots: how a value was found, which rules it passes, and whether the answer is accepted (docs/spec/flows.md#15.7).
//!
//! A redacted value is never in them: neither itself nor the text that it was read from.

use convengine_config::flow::document::{EntityData, command_name};
use convengine_turn::{Candidate, Verdict};
use convengine_understanding::entity::Entity;
use serde_json::{Value, json};

use super::slot_values::unused_parts;
use super::transition::{SlotDecision, SlotReason, SlotResult, UnfilledReason};
use super::turn::Turn;
use super::view::format_value;

impl Turn<'_> {
    /// Begins the explanation of a slot.
    pub(super) fn begin_slot(&mut self, id: &str, data: &EntityData) {
        self.open_explanation(
            "slot",
            |turn| json!({"node": turn.state.node_key(id), "variable": data.variable.to_string(), "entity": data.entity}),
        );
    }

    /// Notes whether the answer has a value of the entity; the error holds values that fit equally well.
    pub(super) fn note_extraction(&mut self, data: &EntityData, entity: &Entity, found: &Result<Option<Value>, Vec<Value>>) {
        // A button is noted already.
        if self.open_explanation.as_ref().is_none_or(|it| !it.rows.is_empty()) {
            return;
        }
        let mut candidate = Candidate::for_choice("", "entity", Verdict::Won);
        match found {
            Ok(Some(value)) => {
                let places = entity.find_all(&self.event.input_text(), self.extraction_context());
                let place = places.iter().find(|place| place.value.as_ref() == Some(value)).map(|it| &it.range);
                if let Some(place) = place {
                    candidate.facts.insert("span".to_owned(), json!([place.start, place.end]));
                    candidate.facts.insert("unused".to_owned(), unused_parts(&self.event.input_text(), std::slice::from_ref(place)));
                }
            }
            Ok(None) => candidate = Candidate::for_choice("", "entity", Verdict::NotMatched).with_reason("the answer holds no value of it"),
            Err(_) if self.view().is_slot_redacted(data) => candidate = ambiguous("several values"),
            Err(values) => candidate = ambiguous(&values.iter().map(format_value).collect::<Vec<_>>().join(" / ")),
        }
        self.note(|| candidate);
    }

    /// Notes the button that the answer chooses, and whether its value is one of the entity.
    pub(super) fn note_button(&mut self, is_valid: bool) {
        let (verdict, reason) = if is_valid { (Verdict::Won, "") } else { (Verdict::NotMatched, "not a value of the entity") };
        self.note(|| Candidate::for_choice("", "button", verdict).with_reason(reason));
    }

    /// Notes whether a model has found a value.
    pub(super) fn note_model_extraction(&mut self, is_found: bool) {
        self.note(|| Candidate::for_choice("", "model", if is_found { Verdict::Won } else { Verdict::NotMatched }));
    }

    /// A value as an observer may see it, if the turn is observed.
    pub(super) fn observe_value(&self, data: &EntityData, value: &Value) -> Option<Value> {
        self.open_explanation.as_ref()?;
        Some(if self.view().is_slot_redacted(data) { json!(format!("[{}]", data.variable)) } else { value.clone() })
    }

    /// Records the explanation of what was decided about a slot.
    pub(super) fn end_slot(&mut self, data: &EntityData, decision: &SlotDecision) {
        self.close_explanation(|about| {
            if let Some(value) = &decision.value {
                about.insert("value".to_owned(), value.clone());
            }
            match decision.reason {
                SlotReason::Result => explain_result(&decision.result),
                SlotReason::FromMessage => "the value is taken from the message that triggered the intent".to_owned(),
                SlotReason::AlreadyFilled => "its variable already has a valid value; not asked".to_owned(),
                SlotReason::NeedsConfirmation => "the value is valid: the user is asked whether it is right".to_owned(),
                SlotReason::Confirmed => "the user has confirmed the value".to_owned(),
                SlotReason::InvalidAnswer(attempt) => {
                    about.insert("attempt".to_owned(), json!(attempt));
                    about.insert("maxAttempts".to_owned(), json!(data.max_attempts));
                    explain_attempt(data, attempt)
                }
                SlotReason::Command(command) => format!("the answer is the command '{}'", command_name(command)),
                SlotReason::CorrectsOther => "the message corrects another slot".to_owned(),
                SlotReason::ChangesValue => "the user changes a value: it is taken, and the user is asked again".to_owned(),
                SlotReason::Unconfirmed => "the answer is neither yes nor no: the user is asked again".to_owned(),
            }
        });
    }

    /// Records the explanation of a slot that was not asked for: only if there was something to decide.
    pub(super) fn end_unasked_slot(&mut self, data: &EntityData, decision: &Result<SlotDecision, UnfilledReason>) {
        match decision {
            Ok(decision) => self.end_slot(data, decision),
            Err(UnfilledReason::PrefillForbidden) => {
                self.close_explanation(|_| "prefill from the triggering message is off: the user is asked".to_owned());
            }
            Err(UnfilledReason::NoValue) if self.open_explanation.as_ref().is_some_and(|it| it.rows.is_empty()) => {
                self.open_explanation = None;
            }
            Err(UnfilledReason::NoValue) => self.close_explanation(|_| "the value is not valid: the user is asked".to_owned()),
        }
    }
}

fn explain_result(result: &SlotResult) -> String {
    match result {
        SlotResult::Filled => "the value is accepted".to_owned(),
        SlotResult::Prompted(_) => "the question was interrupted and is asked again".to_owned(),
        SlotResult::Failed(failure) => format!("the node fails: {}", failure.message),
        SlotResult::Interrupted(_) => "something else interrupts the question".to_owned(),
    }
}

fn explain_attempt(data: &EntityData, attempt: u32) -> String {
    let limit = data.max_attempts;
    match attempt >= limit {
        false => format!("the answer is not valid: the user is asked again, after attempt {attempt} of {limit}"),
        true if data.required => format!("no valid answer in {attempt} attempts: the node fails"),
        true => format!("no valid answer in {attempt} attempts: the optional value gets its default"),
    }
}

fn ambiguous(values: &str) -> Candidate {
    Candidate::for_choice("", "entity", Verdict::Failed).with_reason(format!("the answer fits equally well: {values}"))
}
