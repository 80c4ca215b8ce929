//! Corrections: a message changes slots that the request has filled already, and the graph is walked again from the first of them
//! (docs/spec/flows.md#4.4).
//!
//! On the way nothing is asked that was answered. What was done with a value and cannot be taken back keeps it.

use std::ops::Range;

use convengine_values::{
    Consent, denied_parts, has_other_words, is_addition, is_bare_hour, is_inquiry, is_question, read_consent, read_correction,
};
use serde_json::{Value, json};

use super::Walker;
use super::node::{format_value, reads_any_text, takes_free_text};
use super::slot_values::SlotValues;
use super::walk::Transition;
use crate::config::flow::document::{EntityData, NodeKind};
use crate::entity::EntityMatch;
use crate::flow::state::{FilledSlot, FlowEvent};
use crate::locale::EngineText;

/// A filled slot that a message changes.
struct SlotChange {
    slot: FilledSlot,
    data: EntityData,
    /// The value that it gets; `None` when the message only says that its own is not meant.
    value: Option<Value>,
}

/// What a message changes.
#[derive(Default)]
struct Changes {
    slots: Vec<SlotChange>,
    /// The part of the message that says it.
    text: String,
    /// All that this part holds.
    values: SlotValues,
}

/// Which filled slots a message may mean although no word says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpectedChange {
    /// None.
    Nothing,
    /// Those with a type of which an answer to another question holds no value by chance, as it may hold a number.
    Unmistakable,
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

    fn read_changes(&self, asked: Option<&EntityData>, expected: ExpectedChange) -> Changes {
        let filled: Vec<(FilledSlot, EntityData)> =
            self.filled_in_graph().into_iter().filter_map(|it| Some((it.clone(), self.data_of_slot(&it)?))).collect();
        if filled.is_empty() {
            return Changes::default();
        }
        let text = self.restated_input();
        let locale = &self.state.locale;
        if is_inquiry(&text, locale) {
            return Changes::default();
        }
        let correction = read_correction(&text, locale);
        let is_retraction = correction.as_ref().is_some_and(|it| it.is_retraction);
        let part = correction.as_ref().map_or(0..text.len(), |it| it.replacement.clone());
        let said = text.get(part).unwrap_or_default();
        let values = self.find_answer_values(said);
        // The types of which a value is denied, each with the value: "not June 5, June 6".
        let denied: Vec<(String, Value)> = filled.iter().flat_map(|it| self.denied_values(&it.1, &text)).collect();
        let is_correction = correction.is_some_and(|it| it.replaced.is_none());
        let is_addition = is_addition(&text, locale);
        let is_marked =
            is_correction || matches!(read_consent(&text, locale), Some(Consent::YesBut | Consent::NoBut)) || !denied.is_empty();
        let is_asked = |it: &EntityData| asked.is_some_and(|asked| asked.variable == it.variable);
        let is_answered = asked.is_some_and(|it| match it.entity.as_str() {
            "@boolean" => expected == ExpectedChange::Nothing,
            _ => values.named(it).is_some() || values.only_free(it).is_some(),
        });
        // "4, I'll confirm on Thursday" is about something else, "4, on Thursday" is not.
        let is_plain_list = !has_other_words(said, &values.places(), locale);
        let may_say_more = is_answered && is_plain_list && asked.is_some_and(|it| it.entity != "@boolean") && !is_question(&text, locale);
        let last = filled.last().map(|it| it.1.variable.clone());
        let mut changes = Vec::new();
        for (slot, data) in filled.iter().filter(|it| !is_asked(&it.1)) {
            let key = data.type_key();
            let has_rival = filled.iter().any(|it| it.1.variable != data.variable && it.1.type_key() == key);
            let may_be_asked = asked.is_some_and(|it| it.type_key() == key);
            // Of several slots of a type the last answer is corrected, or none; a value of the slot that is asked for is an answer, unless
            // the message says that it is none.
            let is_last = asked.is_some() && Some(&data.variable) == last.as_ref();
            let is_unmistakable = data.entity != "@number" && !reads_any_text(&data.entity);
            let is_expected = match expected {
                // "Friday at 3" to the question for a time is about the day, too.
                ExpectedChange::Nothing => may_say_more && is_unmistakable,
                ExpectedChange::Unmistakable => is_unmistakable,
                ExpectedChange::Everything => true,
            };
            // A number may be anything, so "sorry, 12" is an answer.
            let is_plain = is_retraction || data.entity != "@number" || asked.is_some_and(|it| it.entity == "@string");
            let own = self.variable(&data.variable).cloned().unwrap_or_default();
            let is_denied = |it: &Value| denied.iter().any(|(kind, value)| *kind == key && value == it);
            let has_denied_value = is_denied(&own) || own.as_array().is_some_and(|it| it.iter().any(is_denied));
            let is_other_denied = denied.iter().any(|it| it.0 == key) && !has_denied_value && has_rival;
            let is_choice = (!has_rival || is_last) && (!may_be_asked || is_retraction && is_last) && !is_other_denied;
            let is_added_to = is_addition && own.is_array();
            let is_addressed = has_denied_value || (is_marked && is_plain || is_added_to || is_expected) && is_choice;
            // The number in "at 4" is a time, "and 3 kids" are something else, and "at 8" to a question for a number is the answer.
            let is_own = |it: &&EntityMatch| {
                let is_answer = is_answered && asked.is_some_and(|asked| values.overlaps_type(asked, &it.range));
                !is_answer && (data.entity != "@number" || is_plain_list && !values.is_part_of_other(&key, &it.range))
            };
            let by_kind = || values.only_free(data).filter(|_| is_addressed).filter(is_own).and_then(|it| it.value.as_ref());
            let found = values.named(data).or_else(by_kind).cloned().filter(|it| !is_denied(it));
            let place = found.as_ref().filter(|_| data.entity == "@time").and_then(|it| values.place_of(data, it));
            let is_bare = place.and_then(|it| said.get(it)).is_some_and(is_bare_hour);
            let found = found.map(|it| if is_bare { nearest_half(&own, it) } else { it });
            // Of a list, some is taken away and some is added.
            let value = match own.as_array() {
                Some(items) if is_addition || has_denied_value || !is_marked && is_answered => {
                    let kept = items.iter().filter(|it| !is_denied(it)).cloned();
                    let new = found.as_ref().and_then(Value::as_array).into_iter().flatten().filter(|it| !items.contains(it)).cloned();
                    let joined: Vec<Value> = kept.chain(new).collect();
                    Some(Value::Array(joined)).filter(|it| found.is_some() || has_denied_value && *it != json!([]))
                }
                Some(_) | None => found,
            };
            // "Not tomorrow" leaves the day open.
            let is_consent = is_answered && asked.is_some_and(|it| it.entity == "@boolean");
            let is_withdrawn = has_denied_value && !is_consent && (!may_be_asked || is_last && is_correction && data.entity != "@number");
            let is_changed = value.as_ref().map_or(is_withdrawn, |it| own != *it);
            if is_changed {
                changes.push(SlotChange { slot: slot.clone(), data: data.clone(), value });
            }
        }
        Changes { slots: changes, text: said.to_owned(), values }
    }

    /// The values of a slot's type that a message denies or refuses. A value may be read only without the words that deny it.
    fn denied_values(&self, data: &EntityData, text: &str) -> Vec<(String, Value)> {
        let Some(entity) = self.flow.compile_slot_entity(data).filter(|_| !reads_any_text(&data.entity)) else { return Vec::new() };
        let mut parts = denied_parts(text, &self.state.locale);
        parts.push(0..text.len());
        let find = |part: Range<usize>| {
            let found = entity.find_items(text.get(part.clone()).unwrap_or_default(), self.extraction_context());
            found.into_iter().map(move |it| EntityMatch { range: it.range.start + part.start..it.range.end + part.start, ..it })
        };
        let denied = parts.into_iter().flat_map(find).filter(|it| self.is_unwanted(text, &it.range));
        denied.filter_map(|it| Some((data.type_key(), it.value?))).collect()
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

/// A time in the half of the day in which it is nearer to another: of 3 o'clock, the one in the afternoon for half past two in the afternoon.
fn nearest_half(other: &Value, time: Value) -> Value {
    let minutes = |it: &Value| {
        let (hours, minutes) = it.as_str()?.split_once(':')?;
        Some(hours.parse::<i32>().ok()? * 60 + minutes.get(..2)?.parse::<i32>().ok()?)
    };
    let (Some(near), Some(here)) = (minutes(other), minutes(&time)) else { return time };
    let there = here + 12 * 60;
    if here >= 12 * 60 || (there - near).abs() >= (here - near).abs() {
        return time;
    }
    let rest = time.as_str().and_then(|it| it.split_once(':')).map_or("00", |it| it.1);
    json!(format!("{:02}:{rest}", there / 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_hour_is_in_the_nearer_half_of_the_day() {
        for (other, time, expected) in
            [("15:00", "03:00", "15:00"), ("19:00", "08:00", "20:00"), ("15:00", "10:00", "10:00"), ("09:00", "08:30", "08:30")]
        {
            assert_eq!(nearest_half(&json!(other), json!(time)), json!(expected), "{other} {time}");
        }
    }
}
