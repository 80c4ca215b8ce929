//! What a message holds for the slots of an intent, and which of it is taken (docs/spec/flows.md#4.4). `slot_reading` finds it.

use std::ops::Range;

use convengine_config::flow::document::EntityData;
use convengine_text::variable_path::VariablePath;
use convengine_turn::{Candidate, Verdict};
use convengine_understanding::entity::{Entity, EntityMatch};
use serde_json::{Value, json};

use super::intent_slots::IntentSlot;

/// The source of a value that the mark of a phrase takes.
pub(super) const MARK: &str = "mark";

/// What a message holds for the slots of an intent.
#[derive(Debug, Clone, Default)]
pub(super) struct SlotValues {
    pub slots: Vec<SlotValue>,
    /// The values by the name of their type.
    pub types: Vec<TypeValues>,
    /// The places of values that belong to a slot.
    pub taken: Vec<Range<usize>>,
}

/// What a message holds for a slot.
#[derive(Debug, Clone)]
pub(super) struct SlotValue {
    pub variable: VariablePath,
    /// The key of its type.
    pub entity: String,
    /// The value that belongs to it and to no other; null when several values of a list match equally well.
    pub own_value: Option<Value>,
    /// How that was found: `mark` or `near_words`.
    pub source: &'static str,
}

/// The values of a type, from left to right.
#[derive(Debug, Clone)]
pub(super) struct TypeValues {
    pub entity: String,
    pub found: Vec<EntityMatch>,
    /// Whether some are part of a more specific value, as the number in a date.
    pub is_reduced: bool,
}

/// The message that triggered an intent.
#[derive(Debug, Clone)]
pub(super) struct IntentTrigger {
    pub text: String,
    /// Number of frames below the frame of the intent.
    pub depth: usize,
    /// Slots that have already been prefilled from it, as `graph/node`.
    pub prefilled_slots: Vec<String>,
    /// The variables of these slots.
    pub entered_slots: Vec<String>,
    /// What it holds for the slots of the intent.
    pub values: SlotValues,
}

/// A value for a slot, with its place in the message if it is known and not taken yet.
#[derive(Debug)]
pub(super) struct TriggerValue {
    pub value: Value,
    pub range: Option<Range<usize>>,
    /// How it was found: `mark`, `near_words`, `earlier_message`, or `entity` for the first free value of its type.
    pub source: &'static str,
    /// Whether the message leaves no doubt that the slot is meant.
    pub is_named: bool,
}

impl TriggerValue {
    /// The value as a candidate of an explanation, without the value itself.
    pub(super) fn to_candidate(&self, entity: &str, unused: Option<Value>) -> Candidate {
        let mut candidate = Candidate::for_choice("", self.source, Verdict::Won);
        candidate.reason = match self.source {
            MARK => "the mark of a phrase takes it".to_owned(),
            "near_words" => "the words beside it stand for the slot".to_owned(),
            "earlier_message" => "an earlier message of the request holds it".to_owned(),
            _ => format!("it is the first value of '{entity}' that no other slot takes"),
        };
        candidate.facts.extend(self.range.as_ref().map(|range| ("span".to_owned(), json!([range.start, range.end]))));
        candidate.facts.extend(unused.map(|it| ("unused".to_owned(), it)));
        candidate
    }
}

impl SlotValues {
    /// No values yet for slots, each variable and type once.
    pub(super) fn for_slots<'s, 'c: 's>(slots: impl Iterator<Item = &'s IntentSlot<'c>>) -> SlotValues {
        let mut values = SlotValues::default();
        for slot in slots {
            if values.slot(slot.variable, &slot.type_key()).is_none() {
                values.slots.push(SlotValue { variable: slot.variable.clone(), entity: slot.type_key(), own_value: None, source: "" });
            }
        }
        values
    }

    /// The value that words name for a slot.
    pub(super) fn named(&self, data: &EntityData) -> Option<&Value> {
        self.slot(&data.variable, &data.type_key()).and_then(|it| it.own_value.as_ref()).filter(|it| !it.is_null())
    }

    pub(super) fn found_of(&self, key: &str) -> &[EntityMatch] {
        self.types.iter().find(|it| it.entity == key).map_or(&[], |it| &it.found)
    }

    /// Whether the message has any value for a slot.
    pub(super) fn has_any(&self) -> bool {
        self.types.iter().any(|it| !it.found.is_empty())
    }

    /// Whether words name a value for another slot than this one.
    pub(super) fn names_others(&self, data: &EntityData) -> bool {
        self.slots.iter().any(|slot| slot.own_value.is_some() && slot.variable != data.variable)
    }

    /// The only value of a slot's type that no words name for a slot; `None` for several.
    pub(super) fn only_free(&self, data: &EntityData) -> Option<&EntityMatch> {
        let mut free = self.found_of_type(data).iter().filter(|it| !self.is_taken(&it.range));
        let first = free.next()?;
        free.all(|it| it.value == first.value).then_some(first)
    }

    /// Whether no other slot has the type of this one, and words name no value for it.
    pub(super) fn is_sole_slot(&self, data: &EntityData) -> bool {
        let key = data.type_key();
        self.named(data).is_none() && self.slots.iter().filter(|it| it.entity == key).count() < 2
    }

    /// The different days that a message has for a slot of a day or moment and that no slot takes; none for other types.
    pub(super) fn different_days(&self, data: &EntityData, entity: &Entity) -> Vec<Value> {
        let is_day = !matches!(entity, Entity::Several(_)) && matches!(entity.kind(), "@date" | "@datetime");
        if is_day { self.free_values(self.found_of_type(data)).into_iter().cloned().collect() } else { Vec::new() }
    }

    /// The different values among some that no slot takes.
    pub(super) fn free_values<'v>(&self, found: &'v [EntityMatch]) -> Vec<&'v Value> {
        let mut values: Vec<&Value> = Vec::new();
        for item in found.iter().filter(|it| !self.is_taken(&it.range)) {
            values.extend(item.value.as_ref().filter(|value| !values.contains(value)));
        }
        values
    }

    /// The values of a slot's type, from left to right.
    pub(super) fn found_of_type(&self, data: &EntityData) -> &[EntityMatch] {
        self.found_of(&data.type_key())
    }

    /// The place of a value of a slot's type.
    pub(super) fn place_of(&self, data: &EntityData, value: &Value) -> Option<Range<usize>> {
        self.found_of(&data.type_key()).iter().find(|item| item.value.as_ref() == Some(value)).map(|it| it.range.clone())
    }

    /// The places of all values.
    pub(super) fn places(&self) -> Vec<Range<usize>> {
        self.types.iter().flat_map(|it| &it.found).map(|it| it.range.clone()).collect()
    }

    /// Whether a place overlaps a value of a slot's type.
    pub(super) fn overlaps_type(&self, data: &EntityData, range: &Range<usize>) -> bool {
        self.found_of_type(data).iter().any(|it| overlap(&it.range, range))
    }

    /// Whether a place is within a value of another type.
    pub(super) fn is_part_of_other(&self, key: &str, range: &Range<usize>) -> bool {
        self.types.iter().filter(|it| it.entity != key).flat_map(|it| &it.found).any(|it| overlap(&it.range, range))
    }

    /// Keeps slots from taking a part of the message.
    pub(super) fn take(&mut self, range: Range<usize>) {
        self.taken.push(range);
    }

    pub(super) fn slot(&self, variable: &VariablePath, entity: &str) -> Option<&SlotValue> {
        self.slots.iter().find(|slot| slot.variable == *variable && slot.entity == entity)
    }

    pub(super) fn is_taken(&self, range: &Range<usize>) -> bool {
        self.taken.iter().any(|it| overlap(it, range))
    }
}

impl SlotValue {
    pub(super) fn is_open_for(&self, kind: &TypeValues) -> bool {
        self.entity == kind.entity && self.own_value.is_none()
    }
}

/// Whether two places share a part.
pub(super) fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// The parts of a message with words that no value takes, as places: the words themselves may be a redacted value.
pub(super) fn unused_parts(text: &str, used: &[Range<usize>]) -> Value {
    let is_word = |character: char| character.is_alphanumeric();
    let mut parts: Vec<[usize; 2]> = Vec::new();
    let mut from = 0;
    let mut places: Vec<(usize, usize)> = used.iter().map(|it| (it.start, it.end)).chain([(text.len(), text.len())]).collect();
    places.sort_unstable();
    for (start, end) in places {
        let gap = text.get(from..start).unwrap_or_default();
        if let Some(first) = gap.find(is_word) {
            parts.push([from + first, from + gap.trim_end_matches(|it| !is_word(it)).len()]);
        }
        from = from.max(end);
    }
    json!(parts)
}
