//! Corrections: a message changes slots that the request has filled already, and the graph is walked again from the first of them
//! (docs/spec/flows.md#4.4).
//!
//! On the way nothing is asked that was answered. What was done with a value and cannot be taken back keeps it.

use convengine_values::{Consent, is_part_denied, read_consent, read_correction};
use serde_json::{Value, json};

use super::Walker;
use super::walk::Transition;
use crate::config::flow::document::{EntityData, NodeKind};
use crate::flow::state::{FilledSlot, FlowEvent};
use crate::locale::EngineText;

/// A filled slot, and the value that a message gives it.
struct SlotChange {
    slot: FilledSlot,
    data: EntityData,
    value: Value,
}

/// Which filled slots a message may mean although no word says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpectedChange {
    /// None.
    Nothing,
    /// Those with an entity of the document, which an answer to another question does not hold by chance as it may hold a number.
    OwnEntities,
    /// All: the question is whether they are right.
    Everything,
}

/// What a message has changed.
pub(super) enum Corrected {
    /// Nothing: it says nothing about filled slots.
    Nothing,
    /// Nothing, and a message to the user says so.
    Refused,
    /// Slots: the graph is walked again.
    Changed(Transition),
}

impl<'c> Walker<'c> {
    /// Changes the filled slots of which the message has another value. `asked` is the slot whose question it answers. Words
    /// beside a value and the words of corrections say that a filled slot is meant; others are changed as far as that is expected.
    pub(super) fn correct_slots(&mut self, asked: Option<&EntityData>, expected: ExpectedChange) -> Corrected {
        if !self.flow.document.repair.correction || !matches!(self.event, FlowEvent::Message { .. }) {
            return Corrected::Nothing;
        }
        let changes = self.read_changes(asked, expected);
        if changes.is_empty() {
            return Corrected::Nothing;
        }
        let mut first: Option<usize> = None;
        let order: Vec<String> = self.filled_in_graph().into_iter().map(|it| it.place).collect();
        for SlotChange { slot, data, value } in changes {
            if slot.is_final {
                let text = self.engine_text(EngineText::CannotChange, &[]);
                self.send_text(&text);
                continue;
            }
            if let Some(message) = self.find_violation(&data, &value) {
                if let Some(message) = message {
                    self.send_question(&message, &[], "");
                }
                continue;
            }
            let shown = super::node::format_value(&value);
            if self.write_variable(&data.variable, value).is_err() {
                continue;
            }
            self.trace("repair", json!({"pattern": "correction", "variable": data.variable.to_string()}));
            self.note_filled(&data.variable, &slot.place);
            if self.is_slot_redacted(&data) {
                self.redact_input(&data.variable);
            } else {
                let text = self.engine_text(EngineText::Corrected, &[("value", &shown)]);
                self.send_text(&text);
            }
            let at = order.iter().position(|it| *it == slot.place);
            first = at.filter(|at| first.is_none_or(|first| *at < first)).or(first);
        }
        let Some(node) = first.and_then(|it| order.get(it)).and_then(|it| self.node_at(it)) else { return Corrected::Refused };
        if let Some(frame) = self.state.stack.last_mut() {
            node.id.clone_into(&mut frame.node);
        }
        self.is_rewalking = true;
        Corrected::Changed(Transition::GraphPushed)
    }

    fn read_changes(&self, asked: Option<&EntityData>, expected: ExpectedChange) -> Vec<SlotChange> {
        let filled: Vec<(FilledSlot, EntityData)> =
            self.filled_in_graph().into_iter().filter_map(|it| Some((it.clone(), self.data_of_slot(&it)?))).collect();
        if filled.is_empty() {
            return Vec::new();
        }
        let text = self.input_text();
        let correction = read_correction(&text, &self.state.locale);
        let is_retraction = correction.as_ref().is_some_and(|it| it.is_retraction);
        let part = correction.as_ref().map_or(0..text.len(), |it| it.replacement.clone());
        let said = text.get(part).unwrap_or_default();
        let values = self.find_answer_values(said);
        // The types of which a value is denied, each with the value: "not June 5, June 6".
        let denied: Vec<(String, Value)> = filled.iter().flat_map(|it| self.denied_values(&it.1, &text)).collect();
        let is_marked = correction.is_some_and(|it| it.replaced.is_none())
            || matches!(read_consent(&text, &self.state.locale), Some(Consent::YesBut | Consent::NoBut))
            || !denied.is_empty();
        let is_asked = |it: &EntityData| asked.is_some_and(|asked| asked.variable == it.variable);
        let last = filled.last().map(|it| it.1.variable.clone());
        let mut changes = Vec::new();
        for (slot, data) in filled.iter().filter(|it| !is_asked(&it.1)) {
            let key = data.type_key();
            let has_rival = filled.iter().any(|it| it.1.variable != data.variable && it.1.type_key() == key);
            let may_be_asked = asked.is_some_and(|it| it.type_key() == key);
            // Of several slots of a type the last answer is corrected, or none; a value of the slot that is asked for is an answer, unless
            // the message says that it is none.
            let is_last = asked.is_some() && Some(&data.variable) == last.as_ref();
            let is_expected = match expected {
                ExpectedChange::Nothing => false,
                ExpectedChange::OwnEntities => !data.entity.starts_with('@'),
                ExpectedChange::Everything => true,
            };
            // A number may be anything, so "sorry, 12" is an answer.
            let is_plain = is_retraction || data.entity != "@number" || asked.is_some_and(|it| it.entity == "@string");
            let has_denied_value = denied.iter().any(|it| it.0 == key && self.variable(&data.variable) == Some(&it.1));
            let is_other_denied = denied.iter().any(|it| it.0 == key) && !has_denied_value && has_rival;
            let is_choice = (!has_rival || is_last) && (!may_be_asked || is_retraction && is_last) && !is_other_denied;
            let is_addressed = has_denied_value || (is_marked && is_plain || is_expected) && is_choice;
            let by_kind = || if is_addressed { values.only_free(data).and_then(|it| it.value.as_ref()) } else { None };
            let Some(value) = values.named(data).or_else(by_kind) else { continue };
            if self.variable(&data.variable) != Some(value) {
                changes.push(SlotChange { slot: slot.clone(), data: data.clone(), value: value.clone() });
            }
        }
        changes
    }

    /// The values of a slot's type that a message denies.
    fn denied_values(&self, data: &EntityData, text: &str) -> Vec<(String, Value)> {
        let found = self.flow.compile_slot_entity(data).map(|it| it.find_all(text, self.extraction_context())).unwrap_or_default();
        let denied = found.into_iter().filter(|it| is_part_denied(text, &it.range, &self.state.locale));
        denied.filter_map(|it| Some((data.type_key(), it.value?))).collect()
    }

    /// The data of a filled slot of the current graph.
    pub(super) fn data_of_slot(&self, slot: &FilledSlot) -> Option<EntityData> {
        let node = self.node_at(&slot.place)?;
        if let NodeKind::Intent(data) = &node.kind {
            return self.parameter_data(&data.intent_id, &slot.variable);
        }
        if let NodeKind::Entity(data) = &node.kind { Some((**data).clone()) } else { None }
    }
}
