//! Corrections: a message changes slots that the request has filled already, and the graph is walked again from the first of them
//! (docs/spec/flows.md#4.4).
//!
//! On the way nothing is asked that was answered. What was done with a value and cannot be taken back keeps it.

use convengine_config::flow::document::{EntityData, NodeKind};
use convengine_text::locale::EngineText;
use convengine_values::{is_question, read_correction};
use serde_json::{Value, json};

use super::Walker;
use super::node::{format_value, reads_any_text, takes_free_text};
use super::slot_changes::{Changes, ExpectedChange, SlotChange};
use super::walk::Transition;
use crate::state::{FilledSlot, FlowEvent};

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
        let Changes { slots: changes, text, mut values } = self.read_changes(asked, expected);
        if changes.is_empty() {
            return Corrected::Nothing;
        }
        let mut first: Option<usize> = None;
        let order: Vec<String> = self.filled_in_graph().into_iter().map(|it| it.place).collect();
        for SlotChange { slot, data, value } in changes {
            if let Some(place) = value.as_ref().and_then(|it| values.place_of(&data, it)) {
                values.take(place);
            }
            if slot.is_final {
                let text = self.engine_text(EngineText::CannotChange, &[]);
                self.send_text(&text);
                continue;
            }
            match value {
                Some(value) => {
                    if !self.correct_slot(&slot, &data, value) {
                        continue;
                    }
                }
                None => {
                    if self.is_slot_redacted(&data) {
                        self.redact_input(&data.variable);
                    }
                    self.empty_slot(&data.variable);
                }
            }
            self.trace("repair", json!({"pattern": "correction", "variable": data.variable.to_string()}));
            let at = order.iter().position(|it| *it == slot.place);
            first = at.filter(|at| first.is_none_or(|first| *at < first)).or(first);
        }
        let Some(node) = first.and_then(|it| order.get(it)).and_then(|it| self.node_at(it)) else { return Corrected::Refused };
        if let Some(frame) = self.state.stack.last_mut() {
            node.id.clone_into(&mut frame.node);
        }
        self.is_rewalking = true;
        // What else was said is for the slots that are still open.
        self.offer_answer(&text, values, order);
        Corrected::Changed(Transition::GraphPushed)
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
        self.note_filled(&data.variable, &slot.place);
        if self.is_slot_redacted(data) {
            self.redact_input(&data.variable);
        } else {
            let text = self.engine_text(EngineText::Corrected, &[("value", &shown)]);
            self.send_text(&text);
        }
        true
    }

    /// Whether a message corrects what the last request was told, now that it has ended.
    pub(super) fn corrects_ended_request(&self) -> bool {
        let text = self.input_text();
        let correction = read_correction(&text, &self.state.locale).filter(|it| it.replaced.is_none());
        if correction.as_ref().is_some_and(|it| it.is_retraction) {
            return true;
        }
        if is_question(&text, &self.state.locale) {
            return false;
        }
        let last = self.state.counters.requests;
        let slots = self.state.filled_slots.iter().filter(|it| it.request == last && last > 0 && !it.is_emptied);
        slots.filter_map(|it| self.data_of_slot(it)).any(|data| {
            let denied = self.denied_values(&data, &text);
            let Some(entity) = self.flow.compile_slot_entity(&data) else { return false };
            // A number may be anything, and a text is in every message.
            let is_plain = data.entity != "@number" && !takes_free_text(&data, &entity) && !reads_any_text(&data.entity);
            is_plain && correction.is_some() && !entity.find_all(&text, self.extraction_context()).is_empty()
                || denied.iter().any(|it| self.variable(&data.variable) == Some(&it.1))
        })
    }

    /// The data of a filled slot.
    pub(super) fn data_of_slot(&self, slot: &FilledSlot) -> Option<EntityData> {
        let (graph, id) = slot.place.split_once('/')?;
        let node = self.flow.graph(graph)?.node(id.split('#').next().unwrap_or(id))?;
        if let NodeKind::Intent(data) = &node.kind {
            return self.parameter_data(&data.intent_id, &slot.variable);
        }
        if let NodeKind::Entity(data) = &node.kind { Some((**data).clone()) } else { None }
    }
}
