//! Corrections: a message changes slots that the request has filled already, and the graph is walked again from the first of them
//! (docs/spec/flows.md#4.4).
//!
//! On the way nothing is asked that was answered. What was done with a value and cannot be taken back keeps it.

use convengine_config::flow::document::EntityData;
use convengine_text::locale::EngineText;
use serde_json::{Value, json};

use super::slot_changes::{Changes, ExpectedChange, SlotChange};
use super::state::{FilledSlot, FlowEvent};
use super::transition::Transition;
use super::turn::Turn;
use super::view::format_value;

/// What a message has changed.
pub(super) enum CorrectionResult {
    /// Nothing: it says nothing about filled slots.
    Nothing,
    /// Nothing, and a message to the user says so.
    Refused,
    /// Slots: the graph is walked again.
    Changed(Transition),
}

impl<'c> Turn<'c> {
    /// Changes the filled slots of which the message has another value. `asked` is the slot whose question it answers. Words
    /// beside a value and the words of corrections say that a filled slot is meant; others are changed as far as that is expected.
    pub(super) fn correct_slots(&mut self, asked: Option<&EntityData>, expected: ExpectedChange) -> CorrectionResult {
        if !self.flow.document.repair.correction || !matches!(self.event, FlowEvent::Message { .. }) {
            return CorrectionResult::Nothing;
        }
        let Changes { slots: changes, text, mut values } = self.view().read_changes(asked, expected);
        if changes.is_empty() {
            return CorrectionResult::Nothing;
        }
        let mut first: Option<usize> = None;
        let places: Vec<String> = self.view().filled_slots_in_graph().into_iter().map(|it| it.place).collect();
        for SlotChange { slot, data, value } in changes {
            if let Some(place) = value.as_ref().and_then(|it| values.place_of(&data, it)) {
                values.take(place);
            }
            if slot.is_final {
                self.say(EngineText::CannotChange, &[]);
                continue;
            }
            match value {
                Some(value) => {
                    let value = self.fit_half_of_day(&data, &text, value);
                    if !self.correct_slot(&slot, &data, value) {
                        continue;
                    }
                }
                None => {
                    if self.view().is_slot_redacted(&data) {
                        self.redact_input(&data.variable);
                    }
                    self.empty_slot(&data.variable);
                }
            }
            self.trace("repair", json!({"pattern": "correction", "variable": data.variable.to_string()}));
            let at = places.iter().position(|it| *it == slot.place);
            first = at.filter(|at| first.is_none_or(|first| *at < first)).or(first);
        }
        let Some(node) = first.and_then(|it| places.get(it)).and_then(|place| self.view().find_slot_node(place)) else {
            return CorrectionResult::Refused;
        };
        self.state.move_to(&node.id);
        self.is_rewalking = true;
        // What else was said is for the slots that are still open.
        self.offer_answer(&text, values, places);
        CorrectionResult::Changed(Transition::GraphPushed)
    }

    /// Gives a filled slot another value, and says so; returns whether it has it.
    fn correct_slot(&mut self, slot: &FilledSlot, data: &EntityData, value: Value) -> bool {
        if let Some(message) = self.find_violation(data, &value) {
            if let Some(message) = message {
                self.send_question(&message, &[], "");
            }
            return false;
        }
        let shown = format_value(&value);
        if self.write_variable(&data.variable, value).is_err() {
            return false;
        }
        self.record_filled_slot(&data.variable, &slot.place);
        if self.view().is_slot_redacted(data) {
            self.redact_input(&data.variable);
        } else {
            self.say(EngineText::Corrected, &[("value", &shown)]);
        }
        true
    }
}
