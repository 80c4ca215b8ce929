//! Which filled slots a message changes, and to what (docs/reference/repair.md#corrections).

use std::ops::Range;

use convengine_config::flow::document::EntityData;
use convengine_understanding::entity::EntityMatch;
use convengine_values::{
    Consent, denied_parts, has_other_words, is_addition, is_bare_hour, is_inquiry, is_question, read_consent, read_correction,
};
use serde_json::{Value, json};

use super::slot_reading::{reads_any_text, takes_free_text};
use super::slot_values::SlotValues;
use super::state::FilledSlot;
use super::view::SessionView;

/// A filled slot that a message changes.
pub(super) struct SlotChange {
    pub slot: FilledSlot,
    pub data: EntityData,
    /// The value that it gets; `None` when the message only says that its own is not meant.
    pub value: Option<Value>,
}

/// What a message changes.
#[derive(Default)]
pub(super) struct Changes {
    pub slots: Vec<SlotChange>,
    /// The part of the message that says it.
    pub text: String,
    /// All that this part holds.
    pub values: SlotValues,
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

/// What a message says about values that were given before it.
struct Statement {
    /// The part that says it: what stands behind "no wait".
    text: String,
    /// The locale of the session.
    locale: String,
    /// What this part holds.
    values: SlotValues,
    /// Values that are denied, each with the key of its type: "not June 5, June 6".
    denied: Vec<(String, Value)>,
    /// Whether it replaces something that an earlier message said.
    is_correction: bool,
    /// Whether it says so plainly, as "I meant" does.
    is_retraction: bool,
    /// Whether it adds to what was said: "and olives".
    is_addition: bool,
    /// Whether any of its words say that something changes.
    is_marked: bool,
    /// Whether it has nothing but values: "4, on Thursday", and not "4, I'll confirm on Thursday".
    is_plain_list: bool,
}

/// The question before a message.
struct Question<'q> {
    /// The slot that it asks for; `None` for a message with buttons.
    slot: Option<&'q EntityData>,
    expected: ExpectedChange,
    /// Whether it asks for yes or no.
    is_consent: bool,
    /// Whether the message answers it.
    is_answered: bool,
    /// Whether the message may hold more than the answer.
    can_hold_more: bool,
}

/// What a filled slot has, and what tells it from the others.
struct SlotContext {
    /// The key of its type.
    key: String,
    /// Its value.
    value: Value,
    /// Whether another filled slot has its type.
    is_type_shared: bool,
    /// Whether the slot that is asked for has its type.
    has_asked_type: bool,
    /// Whether it is the last that was filled, while another is asked for.
    is_last: bool,
}

impl SessionView<'_, '_> {
    /// Reads which of the slots that the request has filled in this graph a message changes.
    pub(super) fn read_changes(&self, asked: Option<&EntityData>, expected: ExpectedChange) -> Changes {
        let filled: Vec<(FilledSlot, EntityData)> =
            self.filled_slots_in_graph().into_iter().filter_map(|slot| Some((slot.clone(), self.find_slot_data(&slot)?))).collect();
        let text = self.restated_input();
        if filled.is_empty() || is_inquiry(&text, &self.state.locale) {
            return Changes::default();
        }
        let statement = self.read_statement(asked, &text, &filled);
        let question = Question::new(asked, expected, &statement, is_question(&text, &self.state.locale));
        let last = filled.last().map(|it| it.1.variable.clone());
        let mut slots = Vec::new();
        for (slot, data) in filled.iter().filter(|(_, data)| asked.is_none_or(|asked| asked.variable != data.variable)) {
            let key = data.type_key();
            let context = SlotContext {
                value: self.state.variable(&data.variable).cloned().unwrap_or_default(),
                is_type_shared: filled.iter().any(|(_, other)| other.variable != data.variable && other.type_key() == key),
                has_asked_type: asked.is_some_and(|asked| asked.type_key() == key),
                is_last: asked.is_some() && Some(&data.variable) == last.as_ref(),
                key,
            };
            let value = statement.new_value(data, &context, &question);
            let is_changed = value.as_ref().map_or_else(|| statement.withdraws(data, &context, &question), |it| context.value != *it);
            if is_changed {
                slots.push(SlotChange { slot: slot.clone(), data: data.clone(), value });
            }
        }
        Changes { slots, text: statement.text, values: statement.values }
    }

    fn read_statement(&self, asked: Option<&EntityData>, text: &str, filled: &[(FilledSlot, EntityData)]) -> Statement {
        let locale = &self.state.locale;
        let correction = read_correction(text, locale);
        let is_retraction = correction.as_ref().is_some_and(|it| it.is_retraction);
        let replacement = correction.as_ref().map_or(text, |correction| text.get(correction.replacement.clone()).unwrap_or_default());
        let values = self.find_answer_values(asked, replacement);
        let denied: Vec<(String, Value)> = filled.iter().flat_map(|it| self.denied_values(&it.1, text)).collect();
        let is_correction = correction.is_some_and(|it| it.replaced.is_none());
        let changes_answer = matches!(read_consent(text, locale), Some(Consent::YesBut | Consent::NoBut));
        Statement {
            is_plain_list: !has_other_words(replacement, &values.places(), locale),
            is_marked: is_correction || changes_answer || !denied.is_empty(),
            is_addition: is_addition(text, locale),
            text: replacement.to_owned(),
            locale: locale.clone(),
            values,
            denied,
            is_correction,
            is_retraction,
        }
    }

    /// The values of a slot's type that a message denies or refuses. A value may be read only without the words that deny it.
    pub(super) fn denied_values(&self, data: &EntityData, text: &str) -> Vec<(String, Value)> {
        let Some(entity) = self.flow.compile_slot_entity(data).filter(|_| !reads_any_text(&data.entity)) else { return Vec::new() };
        let mut parts = denied_parts(text, &self.state.locale);
        parts.push(0..text.len());
        let find = |part: Range<usize>| {
            let found = entity.find_items(text.get(part.clone()).unwrap_or_default(), self.extraction_context());
            found.into_iter().map(move |item| EntityMatch { range: item.range.start + part.start..item.range.end + part.start, ..item })
        };
        let denied = parts.into_iter().flat_map(find).filter(|it| self.is_unwanted(text, &it.range));
        denied.filter_map(|item| Some((data.type_key(), item.value?))).collect()
    }

    /// Whether a message corrects what the last request was told, now that it has ended.
    pub(super) fn corrects_ended_request(&self) -> bool {
        let text = self.event.input_text();
        let correction = read_correction(&text, &self.state.locale).filter(|it| it.replaced.is_none());
        if correction.as_ref().is_some_and(|it| it.is_retraction) {
            return true;
        }
        if is_question(&text, &self.state.locale) {
            return false;
        }
        let last = self.state.counters.requests;
        let slots = self.state.filled_slots.iter().filter(|slot| slot.request == last && last > 0 && !slot.is_emptied);
        slots.filter_map(|it| self.find_slot_data(it)).any(|data| {
            let denied = self.denied_values(&data, &text);
            let Some(entity) = self.flow.compile_slot_entity(&data) else { return false };
            // A number may be anything, and a text is in every message.
            let is_plain = data.entity != "@number" && !takes_free_text(&data, &entity) && !reads_any_text(&data.entity);
            is_plain && correction.is_some() && !entity.find_all(&text, self.extraction_context()).is_empty()
                || denied.iter().any(|(_, value)| self.state.variable(&data.variable) == Some(value))
        })
    }
}

impl<'q> Question<'q> {
    fn new(asked: Option<&'q EntityData>, expected: ExpectedChange, statement: &Statement, is_question: bool) -> Question<'q> {
        let is_consent = asked.is_some_and(|it| it.entity == "@boolean");
        let is_answered = asked.is_some_and(|slot| match is_consent {
            true => expected == ExpectedChange::Nothing,
            false => statement.values.named(slot).is_some() || statement.values.only_free(slot).is_some(),
        });
        let can_hold_more = is_answered && statement.is_plain_list && !is_consent && !is_question;
        Question { slot: asked, expected, is_consent, is_answered, can_hold_more }
    }

    /// Whether the message may mean a slot although none of its words say so.
    fn expects(&self, data: &EntityData) -> bool {
        let is_unmistakable = data.entity != "@number" && !reads_any_text(&data.entity);
        match self.expected {
            // "Friday at 3" to the question for a time is about the day, too.
            ExpectedChange::Nothing => self.can_hold_more && is_unmistakable,
            ExpectedChange::Unmistakable => is_unmistakable,
            ExpectedChange::Everything => true,
        }
    }
}

impl Statement {
    fn denies(&self, key: &str, value: &Value) -> bool {
        self.denied.iter().any(|(kind, denied)| kind == key && denied == value)
    }

    /// Whether the value of a slot, or a part of its list, is denied.
    fn denies_slot_value(&self, context: &SlotContext) -> bool {
        let is_denied = |value: &Value| self.denies(&context.key, value);
        is_denied(&context.value) || context.value.as_array().is_some_and(|items| items.iter().any(is_denied))
    }

    /// The value that a filled slot gets.
    fn new_value(&self, data: &EntityData, context: &SlotContext, question: &Question<'_>) -> Option<Value> {
        let by_type = || if self.is_about(data, context, question) { self.free_value(data, context, question) } else { None };
        let found = self.values.named(data).cloned().or_else(by_type).filter(|it| !self.denies(&context.key, it));
        let found = found.map(|it| self.to_nearest_half(data, context, it));
        let is_joined = self.is_addition || self.denies_slot_value(context) || !self.is_marked && question.is_answered;
        match context.value.as_array().filter(|_| is_joined) {
            Some(items) => self.merge_items(items, found.as_ref(), context),
            None => found,
        }
    }

    /// Whether a value of the slot's type is about the slot: it is denied there, or the words say that something changes and only this slot
    /// can be meant.
    fn is_about(&self, data: &EntityData, context: &SlotContext, question: &Question<'_>) -> bool {
        let has_denied_value = self.denies_slot_value(context);
        let is_other_denied = self.denied.iter().any(|it| it.0 == context.key) && !has_denied_value && context.is_type_shared;
        // Of several slots of a type the last answer is corrected, or none; a value of the slot that is asked for is an answer, unless the
        // message says that it is none.
        let is_alone = !context.is_type_shared || context.is_last;
        let is_no_answer = !context.has_asked_type || self.is_retraction && context.is_last;
        // A number may be anything, so "sorry, 12" is an answer.
        let is_plain = self.is_retraction || data.entity != "@number" || question.slot.is_some_and(|it| it.entity == "@string");
        let is_added_to = self.is_addition && context.value.is_array();
        let is_meant = self.is_marked && is_plain || is_added_to || question.expects(data);
        has_denied_value || is_meant && is_alone && is_no_answer && !is_other_denied
    }

    /// The only value of a slot's type that belongs to nothing else.
    fn free_value(&self, data: &EntityData, context: &SlotContext, question: &Question<'_>) -> Option<Value> {
        let free = self.values.only_free(data)?;
        // "At 8" to a question for a number is the answer.
        let is_answer = question.is_answered && question.slot.is_some_and(|it| self.values.overlaps_type(it, &free.range));
        // The number in "at 4" is a time, and "and 3 kids" are something else.
        let is_number = data.entity != "@number" || self.is_plain_list && !self.values.is_part_of_other(&context.key, &free.range);
        free.value.clone().filter(|_| !is_answer && is_number)
    }

    /// A time that does not say in which half of the day it is, in the one that is nearer to the time of the slot.
    fn to_nearest_half(&self, data: &EntityData, context: &SlotContext, value: Value) -> Value {
        let place = self.values.place_of(data, &value).filter(|_| data.entity == "@time");
        let is_bare = place.is_some_and(|it| is_bare_hour(&self.text, &it, &[], &self.locale));
        if is_bare { nearest_half(&context.value, value) } else { value }
    }

    /// The items of a list without those that are denied, and with those that are new; `None` without any change that was meant.
    fn merge_items(&self, items: &[Value], found: Option<&Value>, context: &SlotContext) -> Option<Value> {
        let remaining = items.iter().filter(|it| !self.denies(&context.key, it)).cloned();
        let new = found.and_then(Value::as_array).into_iter().flatten().filter(|it| !items.contains(it)).cloned();
        let joined: Vec<Value> = remaining.chain(new).collect();
        let is_meant = found.is_some() || self.denies_slot_value(context) && !joined.is_empty();
        is_meant.then_some(Value::Array(joined))
    }

    /// Whether the message takes the value of a slot back without another: "not tomorrow".
    fn withdraws(&self, data: &EntityData, context: &SlotContext, question: &Question<'_>) -> bool {
        let is_consent = question.is_answered && question.is_consent;
        let is_own = !context.has_asked_type || context.is_last && self.is_correction && data.entity != "@number";
        self.denies_slot_value(context) && !is_consent && is_own
    }
}

/// A time in the half of the day in which it is nearer to another: of 3 o'clock, the one in the afternoon for half past two in the afternoon.
fn nearest_half(other: &Value, time: Value) -> Value {
    let minutes = |time: &Value| {
        let (hours, minutes) = time.as_str()?.split_once(':')?;
        Some(hours.parse::<i32>().ok()? * 60 + minutes.get(..2)?.parse::<i32>().ok()?)
    };
    let (Some(other_minutes), Some(early)) = (minutes(other), minutes(&time)) else { return time };
    let late = early + 12 * 60;
    if early >= 12 * 60 || (late - other_minutes).abs() >= (early - other_minutes).abs() {
        return time;
    }
    let rest = time.as_str().and_then(|it| it.split_once(':')).map_or("00", |it| it.1);
    json!(format!("{:02}:{rest}", late / 60))
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
