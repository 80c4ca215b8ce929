//! Explanations of slots: how a value was found, which rules it passes, and whether the answer is accepted (docs/spec/flows.md#15.7).
//!
//! A redacted value is never in them: neither itself nor the text that it was read from.

use convengine_config::flow::document::EntityData;
use convengine_turn::{Candidate, Verdict};
use convengine_understanding::entity::Entity;
use serde_json::{Value, json};

use super::slot_values::unused_parts;
use super::transition::SlotResult;
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

    /// Decides the explanation of a slot with a valid value.
    pub(super) fn note_slot_value(&mut self, data: &EntityData, value: &Value, verdict: &str) {
        let is_redacted = self.open_explanation.is_some() && self.view().is_slot_redacted(data);
        self.note_verdict(|about| {
            let shown = if is_redacted { json!(format!("[{}]", data.variable)) } else { value.clone() };
            about.insert("value".to_owned(), shown);
            verdict.to_owned()
        });
    }

    /// Decides the explanation of a slot with an invalid answer: the user is asked again, or the attempts are used up.
    pub(super) fn note_attempt(&mut self, data: &EntityData, attempt: u32) {
        self.note_verdict(|about| {
            let (limit, is_last) = (data.max_attempts, attempt >= data.max_attempts);
            about.insert("attempt".to_owned(), json!(attempt));
            about.insert("maxAttempts".to_owned(), json!(limit));
            match is_last {
                false => format!("the answer is not valid: the user is asked again, after attempt {attempt} of {limit}"),
                true if data.required => format!("no valid answer in {attempt} attempts: the node fails"),
                true => format!("no valid answer in {attempt} attempts: the optional value gets its default"),
            }
        });
    }

    /// Records the explanation of an answer.
    pub(super) fn end_slot(&mut self, filled: &SlotResult) {
        self.close_explanation(|| match filled {
            SlotResult::Filled => "the value is accepted".to_owned(),
            SlotResult::Prompted(_) => "the question was interrupted and is asked again".to_owned(),
            SlotResult::Failed(failure) => format!("the node fails: {}", failure.message),
            SlotResult::Interrupted(_) => "something else interrupts the question".to_owned(),
        });
    }

    /// Records the explanation of a slot that was not asked for: only if there was something to decide.
    pub(super) fn end_unasked_slot(&mut self, filled: Option<&SlotResult>) {
        if self
            .open_explanation
            .as_ref()
            .is_some_and(|explanation| filled.is_none() && explanation.rows.is_empty() && explanation.verdict.is_empty())
        {
            self.open_explanation = None;
        }
        match filled {
            Some(filled) => self.end_slot(filled),
            None => self.close_explanation(|| "the value is not valid: the user is asked".to_owned()),
        }
    }
}

fn ambiguous(values: &str) -> Candidate {
    Candidate::for_choice("", "entity", Verdict::Failed).with_reason(format!("the answer fits equally well: {values}"))
}
