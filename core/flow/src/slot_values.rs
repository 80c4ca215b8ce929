//! Which values of the message that triggers an intent belong to which of its slots (docs/spec/flows.md#4.4).
//!
//! The values are found when the intent begins, and in each answer: those of marks and those beside a word of a slot belong to that slot.
//! The others are taken by the slots of their type in the order in which these are entered. What no slot has taken when the turn ends is
//! kept for the slots that are reached later ([`PendingValues`]).

use std::cmp::Reverse;
use std::ops::Range;

use convengine_config::flow::IntentPhrases;
use convengine_config::flow::document::{EntityData, IntentDef};
use convengine_text::marked_phrase::{MarkFit, MarkedMatch, MarkedPhrase, trim_punctuation};
use convengine_text::phrase::PlacedPhrase;
use convengine_text::variable_path::VariablePath;
use convengine_turn::{Candidate, Verdict};
use convengine_understanding::entity::near_words::{NearWords, WordLocales, assign};
use convengine_understanding::entity::{Entity, EntityMatch, Extraction};
use convengine_values::{denied_parts, is_part_denied, is_refused, read_correction};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Walker;
use super::matching::IntentMatch;
use super::slot_explanation::unused_parts;
use super::slot_hints::{IntentSlot, slots_of_frame, slots_of_intent};

/// Entities that accept every message: only a mark of a phrase says what belongs to them.
const CATCH_ALL_ENTITIES: [&str; 2] = ["@string", "@list"];

/// Maximum values of a message that are kept for later.
const MAX_PENDING_VALUES: usize = 16;

/// Maximum messages of which values are kept for later.
const MAX_PENDING_MESSAGES: usize = 4;

/// What a message holds for the slots of an intent.
#[derive(Debug, Clone, Default)]
pub(super) struct SlotValues {
    slots: Vec<SlotValue>,
    /// The values by the name of their type.
    types: Vec<TypeValues>,
    /// The places of values that belong to a slot.
    taken: Vec<Range<usize>>,
}

/// What a message holds for a slot.
#[derive(Debug, Clone)]
struct SlotValue {
    variable: VariablePath,
    /// The key of its type.
    entity: String,
    /// The value that belongs to it and to no other; null when several values of a list match equally well.
    own: Option<Value>,
    /// How that was found: `mark` or `near_words`.
    source: &'static str,
}

/// The values of a type, from left to right.
#[derive(Debug, Clone)]
struct TypeValues {
    entity: String,
    found: Vec<EntityMatch>,
    /// Whether some are part of a more specific value, as the number in a date.
    is_reduced: bool,
}

/// What messages of a request hold for slots that it has not reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingValues {
    /// The number of the request.
    pub request: u32,
    /// The values, from left to right.
    pub values: Vec<PendingValue>,
}

/// A value for a slot that is not reached yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingValue {
    /// The variable of its slot; `None` for the first slot of its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// The key of its type.
    pub entity: String,
    /// The value.
    pub value: Value,
}

/// A value for a slot, with its place in the message if it is known and not taken yet.
#[derive(Debug)]
pub(super) struct TriggerValue {
    pub value: Value,
    range: Option<Range<usize>>,
    /// How it was found: `mark`, `near_words`, `earlier_message`, or `entity` for the first free value of its type.
    source: &'static str,
    /// Whether the message leaves no doubt that the slot is meant.
    pub is_named: bool,
}

impl TriggerValue {
    /// The value as a candidate of an explanation, without the value itself.
    pub(super) fn to_candidate(&self, entity: &str, unused: Option<Value>) -> Candidate {
        let mut candidate = Candidate::for_choice("", self.source, Verdict::Won);
        candidate.reason = match self.source {
            "mark" => "the mark of a phrase takes it".to_owned(),
            "near_words" => "the words beside it stand for the slot".to_owned(),
            "earlier_message" => "an earlier message of the request holds it".to_owned(),
            _ => format!("it is the first value of '{entity}' that no other slot takes"),
        };
        candidate.facts.extend(self.range.as_ref().map(|it| ("span".to_owned(), json!([it.start, it.end]))));
        candidate.facts.extend(unused.map(|it| ("unused".to_owned(), it)));
        candidate
    }
}

/// A value in the part of a message that a mark takes.
struct MarkedPart {
    value: Value,
    /// Its place in the part.
    place: Range<usize>,
    fit: MarkFit,
}

/// A type of the slots of an intent.
struct SlotType {
    /// Its key.
    name: String,
    entity: Entity,
    /// Whether a slot of the type has no value yet.
    is_open: bool,
}

impl<'c> Walker<'c> {
    /// Finds the values of the message for the slots of a matched intent, and redacts those of its marks that have to be.
    pub(super) fn find_slot_values(&mut self, hit: &IntentMatch<'c>, text: &str) -> SlotValues {
        let slots = slots_of_intent(self, hit.intent);
        let mut values = SlotValues::for_slots(slots.iter());
        if slots.is_empty() {
            return values;
        }
        let types = self.slot_types(&slots);
        self.take_marked_values(hit.intent, &types, text, &mut values);
        // A mark leaves no doubt, so that its value does not wait for its slot.
        for slot in values.slots.iter().filter(|it| it.own.is_some()) {
            if slots.iter().any(|it| *it.variable == slot.variable && self.is_intent_slot_redacted(it)) {
                self.redact_input_with(&slot.variable, slot.own.as_ref());
            }
        }
        values.types = self.find_wanted_values(&types, &values.taken, text);
        self.take_hinted_values(&hit.slots, &mut values);
        self.take_near_values(Some(hit.intent), &slots, text, &mut values);
        self.drop_parts_of_times(text, &mut values);
        values
    }

    /// Finds the values that an answer, or a part of it, has for the slots of the current frame.
    pub(super) fn find_answer_values(&self, text: &str) -> SlotValues {
        let slots = slots_of_frame(self);
        let mut values = SlotValues::for_slots(slots.iter().filter(|it| !CATCH_ALL_ENTITIES.contains(&it.entity)));
        let types = self.slot_types(&slots);
        values.types = self.find_wanted_values(&types, &[], text);
        let intent = self.frame().and_then(|it| it.intent_id.as_ref()).and_then(|it| self.flow.intent(it));
        self.take_near_values(intent, &slots, text, &mut values);
        self.drop_parts_of_times(text, &mut values);
        values
    }

    /// Leaves out numbers that no words name and that are in a day, a time or a duration, although no slot takes one: "for 2 nights".
    fn drop_parts_of_times(&self, text: &str, values: &mut SlotValues) {
        let taken = values.taken.clone();
        let is_free = |it: &EntityMatch| !taken.iter().any(|taken| overlap(taken, &it.range));
        let Some(numbers) = values.types.iter_mut().find(|it| it.entity == "@number" && it.found.iter().any(is_free)) else { return };
        let kinds = ["@date", "@time", "@duration"].into_iter().filter_map(Entity::from_system_name);
        let times: Vec<EntityMatch> = kinds.flat_map(|it| it.find_all(text, self.extraction_context())).collect();
        let is_part = |it: &EntityMatch| times.iter().any(|time| overlap(&time.range, &it.range) && time.range.len() > it.range.len());
        let count = numbers.found.len();
        numbers.found.retain(|it| !is_free(it) || !is_part(it));
        numbers.is_reduced |= numbers.found.len() < count;
    }

    /// Finds the values of all types but those that the message denies, refuses or takes back.
    fn find_wanted_values(&self, types: &[SlotType], taken: &[Range<usize>], text: &str) -> Vec<TypeValues> {
        let correction = read_correction(text, &self.state.locale).and_then(|it| Some((it.replaced?, it.replacement)));
        let is_wanted = |it: &EntityMatch| !self.is_unwanted(text, &it.range);
        let keep_wanted = |found: &mut Vec<EntityMatch>| {
            let withdrawn = correction.as_ref().and_then(|(replaced, replacement)| withdrawn_place(found, replaced, replacement));
            let count = found.len();
            found.retain(|it| is_wanted(it) && withdrawn.as_ref() != Some(&it.range));
            found.len() < count
        };
        let mut found = find_types(types, taken, text, |entity| {
            let mut items = self.find_corrected(entity, text, correction.as_ref().map(|it| &it.1));
            if matches!(entity, Entity::Several(_)) {
                keep_wanted(&mut items);
            }
            entity.join_items(items)
        });
        for (kind, values) in types.iter().zip(&mut found) {
            // A list has been made of wanted values.
            values.is_reduced |= matches!(kind.entity, Entity::Several(_)) || keep_wanted(&mut values.found);
        }
        // "Not Friday, Saturday" may be read as nothing, unlike what is left of it.
        let denied = denied_parts(text, &self.state.locale);
        if !denied.is_empty() && found.iter().any(|it| it.found.is_empty()) {
            let rest = blank_out(text, &denied);
            let others = find_types(types, taken, &rest, |entity| {
                let items = entity.find_items(&rest, self.extraction_context()).into_iter();
                entity.join_items(items.filter(is_wanted).collect())
            });
            for (kind, other) in found.iter_mut().zip(others).filter(|it| it.0.found.is_empty()) {
                *kind = TypeValues { is_reduced: true, ..other };
            }
        }
        // "Thursday at 3" is a moment, of which a day and a time have a part each.
        let has_moments = found.iter().any(|it| it.entity.starts_with("@datetime"));
        for times in found.iter_mut().filter(|it| it.entity == "@time" && it.found.is_empty() && !has_moments) {
            times.found = self.times_of_moments(text).into_iter().filter(is_wanted).collect();
        }
        found
    }

    /// Finds the values of a type; those behind "no wait" also where the words before them leave none.
    fn find_corrected(&self, entity: &Entity, text: &str, replacement: Option<&Range<usize>>) -> Vec<EntityMatch> {
        let mut found = entity.find_items(text, self.extraction_context());
        let Some(replacement) = replacement.filter(|part| !found.iter().any(|it| it.range.start >= part.start)) else { return found };
        let later = entity.find_items(text.get(replacement.clone()).unwrap_or_default(), self.extraction_context());
        let placed = |it: EntityMatch| EntityMatch { range: it.range.start + replacement.start..it.range.end + replacement.start, ..it };
        found.extend(later.into_iter().map(placed));
        found
    }

    /// Whether a message says of a part of it that it is not meant or not wanted.
    pub(super) fn is_unwanted(&self, text: &str, part: &Range<usize>) -> bool {
        is_part_denied(text, part, &self.state.locale) || is_refused(text, part, &self.state.locale)
    }

    /// The times of the moments in a text, without their days.
    fn times_of_moments(&self, text: &str) -> Vec<EntityMatch> {
        let read = |name: &str| Entity::from_system_name(name).map(|it| it.find_all(text, self.extraction_context())).unwrap_or_default();
        let days = read("@date");
        let time = |moment: EntityMatch| {
            let value = moment.value?;
            let time = value.as_str()?.split_once('T')?.1.to_owned();
            let day = days.iter().find(|it| overlap(&it.range, &moment.range))?;
            let (before, behind) = (moment.range.start..day.range.start, day.range.end..moment.range.end);
            let range = if before.len() > behind.len() { before } else { behind };
            Some(EntityMatch { range, value: Some(time.into()) })
        };
        read("@datetime").into_iter().filter_map(time).collect()
    }

    /// Matches a message with a phrase that has marks.
    pub(super) fn match_marks(&self, intent: &'c IntentDef, phrase: &MarkedPhrase, text: &str) -> Option<MarkedMatch> {
        let message = PlacedPhrase::new(text, &self.flow.document.default_locale);
        if !phrase.has_words_in(&message) {
            return None;
        }
        let slots = slots_of_intent(self, intent);
        let types = self.slot_types(&slots);
        let fit = |variable: &VariablePath, part: &str| {
            let names = slots.iter().filter(|it| it.variable == variable).map(IntentSlot::type_key);
            let kinds = names.filter_map(|name| types.iter().find(|it| it.name == name));
            kinds.map(|it| self.read_part(it, part).map_or(MarkFit::Unfit, |it| it.fit)).min().unwrap_or(MarkFit::Whole)
        };
        phrase.find(text, &message, &fit)
    }

    fn slot_types(&self, slots: &[IntentSlot<'c>]) -> Vec<SlotType> {
        let mut types: Vec<SlotType> = Vec::new();
        for slot in slots {
            let Some(entity) = slot.compile_entity(self) else { continue };
            let name = slot.type_key();
            // What was there before the request may be named anew.
            let is_filled = self.is_of_this_request(slot.variable)
                && self.variable(slot.variable).is_some_and(|it| entity.accept(it, self.extraction_context()).is_some());
            let is_open = slot.is_always_asked() || !is_filled;
            match types.iter_mut().find(|it| it.name == name) {
                Some(known) => known.is_open |= is_open,
                None => types.push(SlotType { name, entity, is_open }),
            }
        }
        types
    }

    /// Gives slots the parts that the marks of the best phrase take.
    fn take_marked_values(&self, intent: &'c IntentDef, types: &[SlotType], text: &str, values: &mut SlotValues) {
        let Some(phrases) = self.phrases_of(intent).filter(|_| !intent.is_fallback) else { return };
        let matches = phrases.marked.iter().flatten().filter_map(|it| Some((it.literal_length(), self.match_marks(intent, it, text)?)));
        let best = matches.fold(None, |best: Option<(usize, MarkedMatch)>, next| match best {
            Some(best) if (best.0, best.1.score) >= (next.0, next.1.score) => Some(best),
            _ => Some(next),
        });
        for (variable, range) in best.map(|it| it.1.marks).unwrap_or_default() {
            for slot in values.slots.iter_mut().filter(|it| it.variable == variable && it.own.is_none()) {
                let kind = types.iter().find(|it| it.name == slot.entity);
                let Some(part) = kind.and_then(|it| self.read_part(it, text.get(range.clone())?)) else { continue };
                slot.own = Some(part.value);
                slot.source = "mark";
                values.taken.push(range.start + part.place.start..range.start + part.place.end);
            }
        }
    }

    /// Reads the part of a message that a mark takes.
    fn read_part(&self, kind: &SlotType, part: &str) -> Option<MarkedPart> {
        let context = self.extraction_context();
        // "On Friday, no, on Saturday"
        if !CATCH_ALL_ENTITIES.contains(&kind.name.as_str())
            && let Some(replacement) = read_correction(part, &self.state.locale).filter(|it| it.replaced.is_some()).map(|it| it.replacement)
            && let Some(later) = kind.entity.find_all(part.get(replacement.clone())?, context).into_iter().next()
        {
            let place = later.range.start + replacement.start..later.range.end + replacement.start;
            return Some(MarkedPart { value: later.value?, place, fit: MarkFit::Contains });
        }
        // A text has no punctuation around it; a number may have a sign.
        let plain = trim_punctuation(part);
        let candidates = if CATCH_ALL_ENTITIES.contains(&kind.name.as_str()) { [plain, plain] } else { [part.trim(), plain] };
        let is_meant = |it: &&str| !it.is_empty() && !kind.entity.is_negative_phrase(it);
        let accepted = candidates.into_iter().filter(is_meant).find_map(|it| kind.entity.accept(&it.into(), context));
        if let Some(value) = accepted {
            return Some(MarkedPart { value, place: 0..part.len(), fit: MarkFit::Whole });
        }
        if let Some(first) = kind.entity.find_all(part, context).into_iter().next() {
            return Some(MarkedPart { value: first.value?, place: first.range, fit: MarkFit::Contains });
        }
        let Extraction::Value(value) = kind.entity.extract(part, context) else { return None };
        Some(MarkedPart { value, place: 0..part.len(), fit: MarkFit::Contains })
    }

    /// Takes the values that a model has read, which are already written.
    fn take_hinted_values(&self, hints: &Value, values: &mut SlotValues) {
        let Some(hints) = hints.as_object() else { return };
        for slot in values.slots.iter().filter(|it| hints.contains_key(&it.variable.to_string())) {
            let written = self.variable(&slot.variable).filter(|it| !it.is_null());
            let found = values.types.iter().filter(|it| it.entity == slot.entity).flat_map(|it| &it.found);
            let mut free = found.filter(|it| it.value.as_ref() == written && written.is_some() && !values.is_taken(&it.range));
            if let Some(range) = free.next().map(|it| it.range.clone()) {
                values.taken.push(range);
            }
        }
    }

    /// Gives slots the values beside their words.
    fn take_near_values(&self, intent: Option<&'c IntentDef>, slots: &[IntentSlot<'c>], text: &str, values: &mut SlotValues) {
        let locales = WordLocales { phrases: &self.flow.document.default_locale, session: &self.state.locale };
        let message = PlacedPhrase::new(text, locales.phrases);
        let phrases = intent.and_then(|it| self.phrases_of(it));
        let marked: Vec<&MarkedPhrase> = phrases.map(|it| it.marked.iter().flatten().collect()).unwrap_or_default();
        for kind in &values.types {
            let found: Vec<&EntityMatch> = kind.found.iter().filter(|it| !values.is_taken(&it.range)).collect();
            let open: Vec<usize> =
                (0..values.slots.len()).filter(|it| values.slots.get(*it).is_some_and(|it| it.is_open_for(kind))).collect();
            // A value of a single slot is the first one. For a number, words decide whether it is one at all: "2 nights".
            let is_sole = open.len() == 1 && found.len() == 1 && kind.entity != "@number";
            if open.is_empty() || found.is_empty() || is_sole {
                continue;
            }
            let words: Vec<NearWords> = open
                .iter()
                .filter_map(|it| values.slots.get(*it))
                .map(|slot| {
                    let mut words = NearWords::default();
                    words.add_name(&slot.variable.to_string(), locales);
                    let same = slots.iter().filter(|it| *it.variable == slot.variable && it.type_key() == slot.entity);
                    same.flat_map(|it| it.prompt.variants_of_locale(&self.state.channel, locales.session))
                        .for_each(|it| words.add_prompt(&it.source, locales));
                    let marks = marked.iter().flat_map(|it| it.neighbors()).filter(|it| *it.variable == slot.variable);
                    marks.for_each(|it| words.add_neighbors(it, locales));
                    // "4 of 5" has no direction.
                    if open.len() > 1 {
                        words.add_directions(locales);
                    }
                    words
                })
                .collect();
            let places: Vec<Range<usize>> = found.iter().map(|it| it.range.clone()).collect();
            for (slot, number) in assign(&words.iter().collect::<Vec<_>>(), &places, &message, locales) {
                let slot = open.get(slot).and_then(|it| values.slots.get_mut(*it));
                if let Some((slot, found)) = slot.zip(found.get(number)) {
                    slot.own = Some(found.value.clone().unwrap_or_default());
                    slot.source = "near_words";
                    values.taken.push(found.range.clone());
                }
            }
        }
    }

    fn phrases_of(&self, intent: &IntentDef) -> Option<&'c IntentPhrases> {
        let flow = self.flow;
        flow.document.intents.iter().zip(&flow.phrases).find(|it| it.0.id == intent.id).map(|it| it.1)
    }

    /// The value that the message that triggered the intent, or an answer of this turn, holds for a slot.
    pub(super) fn trigger_value(&self, data: &EntityData, entity: &Entity) -> Option<TriggerValue> {
        let trigger = self.trigger.as_ref()?;
        let values = &trigger.values;
        let key = data.type_key();
        let slot = values.slot(&data.variable, &key);
        if let Some((own, source)) = slot.and_then(|it| Some((it.own.clone()?, it.source))) {
            return Some(TriggerValue { value: own, range: None, source, is_named: true }).filter(|it| !it.value.is_null());
        }
        if CATCH_ALL_ENTITIES.contains(&data.entity.as_str()) {
            return None;
        }
        let is_alone = values.slots.iter().filter(|it| it.entity == key).count() < 2;
        let kind = values.types.iter().find(|it| slot.is_some() && it.entity == key);
        let is_shared = |it: &&TypeValues| it.is_reduced || it.found.iter().any(|it| !is_alone || values.is_taken(&it.range));
        let found = |value: Value, range: Option<Range<usize>>| TriggerValue { value, range, source: "entity", is_named: is_alone };
        if let Some(kind) = kind.filter(is_shared) {
            let first = kind.found.iter().find(|it| !values.is_taken(&it.range))?;
            return Some(found(first.value.clone()?, Some(first.range.clone())));
        }
        // A slot of another graph, or one whose values are not found by their place.
        let value = match entity.extract(&trigger.text, self.extraction_context()) {
            Extraction::Value(value) => value,
            // Of several values of a list one may be left after a denial, and a moment has a time.
            Extraction::Ambiguous(_) | Extraction::NotFound => {
                let [left] = values.found_of(&key) else { return None };
                return Some(found(left.value.clone()?, Some(left.range.clone())));
            }
        };
        let places = entity.find_all(&trigger.text, self.extraction_context());
        let is_free = |it: &&EntityMatch| !values.is_taken(&it.range) && !self.is_unwanted(&trigger.text, &it.range);
        match places.iter().find(|it| it.value.as_ref() == Some(&value)) {
            Some(place) if is_free(&place) => Some(found(value, Some(place.range.clone()))),
            Some(_) => {
                let next = places.iter().filter(|it| it.value.is_some()).find(is_free)?;
                Some(found(next.value.clone()?, Some(next.range.clone())))
            }
            None => values.taken.is_empty().then(|| found(value, None)),
        }
    }

    /// Takes the value that an earlier message of the request holds for a slot.
    pub(super) fn take_pending_value(&mut self, data: &EntityData) -> Option<TriggerValue> {
        let (request, key, variable) = (self.current_request(), data.type_key(), data.variable.to_string());
        let mut pending = self.state.pending_values.iter_mut().rev().filter(|it| it.request == request);
        let value = pending.find_map(|message| {
            let of_slot = |it: &PendingValue| it.entity == key && it.variable.as_ref().is_none_or(|it| *it == variable);
            let own = message.values.iter().position(|it| of_slot(it) && it.variable.is_some());
            let at = own.or_else(|| message.values.iter().position(of_slot))?;
            Some(message.values.remove(at).value)
        })?;
        self.state.pending_values.retain(|it| !it.values.is_empty());
        Some(TriggerValue { value, range: None, source: "earlier_message", is_named: true })
    }

    /// Stores what the message of this turn holds for slots that were not reached.
    pub(super) fn store_pending_values(&mut self) {
        let requests: Vec<u32> = self.state.stack.iter().map(|it| it.request).collect();
        let is_waiting = self.state.awaiting.is_some();
        self.state.pending_values.retain(|it| is_waiting && requests.contains(&it.request));
        let Some(trigger) = self.trigger.take().filter(|it| is_waiting && self.state.stack.len() > it.depth) else { return };
        let request = self.current_request();
        let slots = slots_of_frame(self);
        let is_open = |it: &&SlotValue| {
            let is_new = !trigger.entered_slots.contains(&it.variable.to_string());
            is_new && slots.iter().any(|slot| *slot.variable == it.variable) && self.is_slot_prefilled(&slots, &it.variable)
        };
        let open: Vec<&SlotValue> = trigger.values.slots.iter().filter(is_open).collect();
        let own = open.iter().filter_map(|it| {
            let value = it.own.clone().filter(|it| !it.is_null())?;
            Some(PendingValue { variable: Some(it.variable.to_string()), entity: it.entity.clone(), value })
        });
        let types = trigger.values.types.iter().filter(|kind| open.iter().any(|it| it.own.is_none() && it.entity == kind.entity));
        let free = types.flat_map(|kind| {
            let found = kind.found.iter().filter(|it| !trigger.values.is_taken(&it.range));
            found.filter_map(|it| Some(PendingValue { variable: None, entity: kind.entity.clone(), value: it.value.clone()? }))
        });
        let values: Vec<PendingValue> = own.chain(free).take(MAX_PENDING_VALUES).collect();
        if !values.is_empty() {
            self.state.pending_values.push(PendingValues { request, values });
            let spare = self.state.pending_values.len().saturating_sub(MAX_PENDING_MESSAGES);
            self.state.pending_values.drain(..spare);
        }
    }

    /// The parts of the message that triggered the intent that hold no value of its slots, if the turn is explained.
    pub(super) fn unused_in_trigger(&self) -> Option<Value> {
        self.open_explanation.as_ref()?;
        let trigger = self.trigger.as_ref()?;
        let values = trigger.values.types.iter().flat_map(|it| &it.found).map(|it| it.range.clone());
        let used: Vec<Range<usize>> = values.chain(trigger.values.taken.iter().cloned()).collect();
        Some(unused_parts(&trigger.text, &used))
    }

    /// Keeps other slots from taking a value.
    pub(super) fn claim_trigger_value(&mut self, found: &TriggerValue) {
        if let Some((trigger, range)) = self.trigger.as_mut().zip(found.range.clone()) {
            trigger.values.taken.push(range);
        }
    }

    /// Redacts the values that the message that triggered the intent holds for a slot.
    pub(super) fn redact_trigger_values(&mut self, data: &EntityData, entity: &Entity) {
        let Some(trigger) = self.trigger.as_ref() else { return };
        let own = trigger.values.slot(&data.variable, &data.type_key()).and_then(|it| it.own.clone());
        let first = match entity.extract(&trigger.text, self.extraction_context()) {
            Extraction::Value(value) if !CATCH_ALL_ENTITIES.contains(&data.entity.as_str()) => Some(value),
            Extraction::Value(_) | Extraction::NotFound | Extraction::Ambiguous(_) => None,
        };
        for value in first.iter().chain(own.iter().filter(|it| Some(*it) != first.as_ref())) {
            self.redact_input_with(&data.variable, Some(value));
        }
    }
}

impl SlotValues {
    /// No values yet for slots, each variable and type once.
    fn for_slots<'s, 'c: 's>(slots: impl Iterator<Item = &'s IntentSlot<'c>>) -> SlotValues {
        let mut values = SlotValues::default();
        for slot in slots {
            if values.slot(slot.variable, &slot.type_key()).is_none() {
                values.slots.push(SlotValue { variable: slot.variable.clone(), entity: slot.type_key(), own: None, source: "" });
            }
        }
        values
    }

    /// The value that words name for a slot.
    pub(super) fn named(&self, data: &EntityData) -> Option<&Value> {
        self.slot(&data.variable, &data.type_key()).and_then(|it| it.own.as_ref()).filter(|it| !it.is_null())
    }

    fn found_of(&self, key: &str) -> &[EntityMatch] {
        self.types.iter().find(|it| it.entity == key).map_or(&[], |it| &it.found)
    }

    /// Whether the message has any value for a slot.
    pub(super) fn has_any(&self) -> bool {
        self.types.iter().any(|it| !it.found.is_empty())
    }

    /// Whether words name a value for another slot than this one.
    pub(super) fn names_others(&self, data: &EntityData) -> bool {
        self.slots.iter().any(|it| it.own.is_some() && it.variable != data.variable)
    }

    /// The only value of a slot's type that no words name for a slot; `None` for several.
    pub(super) fn only_free(&self, data: &EntityData) -> Option<&EntityMatch> {
        let mut free = self.found_of_type(data).iter().filter(|it| !self.is_taken(&it.range));
        let first = free.next()?;
        free.all(|it| it.value == first.value).then_some(first)
    }

    /// The values of a slot's type, from left to right.
    pub(super) fn found_of_type(&self, data: &EntityData) -> &[EntityMatch] {
        self.found_of(&data.type_key())
    }

    /// The place of a value of a slot's type.
    pub(super) fn place_of(&self, data: &EntityData, value: &Value) -> Option<Range<usize>> {
        self.found_of(&data.type_key()).iter().find(|it| it.value.as_ref() == Some(value)).map(|it| it.range.clone())
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

    fn slot(&self, variable: &VariablePath, entity: &str) -> Option<&SlotValue> {
        self.slots.iter().find(|it| it.variable == *variable && it.entity == entity)
    }

    fn is_taken(&self, range: &Range<usize>) -> bool {
        self.taken.iter().any(|it| overlap(it, range))
    }
}

impl SlotValue {
    fn is_open_for(&self, kind: &TypeValues) -> bool {
        self.entity == kind.entity && self.own.is_none()
    }
}

/// Finds the values of all types. A value that overlaps a taken place, or a more specific value of another type, is left out.
fn find_types(types: &[SlotType], taken: &[Range<usize>], text: &str, find: impl Fn(&Entity) -> Vec<EntityMatch>) -> Vec<TypeValues> {
    let found: Vec<Vec<EntityMatch>> = types.iter().map(|it| find(&it.entity)).collect();
    let mut order: Vec<(usize, &SlotType, &EntityMatch)> = Vec::new();
    for (number, (kind, matches)) in types.iter().zip(&found).enumerate() {
        order.extend(matches.iter().map(|it| (number, kind, it)));
    }
    let rank = |kind: &SlotType, it: &EntityMatch| (specificity(&kind.entity), it.range.len());
    order.sort_by_key(|it| Reverse(rank(it.1, it.2)));
    let mut kept: Vec<(usize, &SlotType, &EntityMatch)> = Vec::new();
    for (number, kind, value) in order {
        let is_part = kept.iter().any(|(other, other_kind, it)| {
            // A type that takes whole messages says nothing about their parts.
            let is_specific = other_kind.is_open && it.range.len() < text.trim().len();
            *other != number && is_specific && rank(other_kind, it) > rank(kind, value) && overlap(&it.range, &value.range)
        });
        if !is_part && !taken.iter().any(|it| overlap(it, &value.range)) {
            kept.push((number, kind, value));
        }
    }
    let of_type = |(number, (kind, all)): (usize, (&SlotType, &Vec<EntityMatch>))| {
        let mut left: Vec<EntityMatch> = kept.iter().filter(|it| it.0 == number).map(|it| it.2.clone()).collect();
        left.sort_by_key(|it| it.range.start);
        TypeValues { entity: kind.name.clone(), is_reduced: left.len() < all.len(), found: left }
    };
    types.iter().zip(&found).enumerate().map(of_type).collect()
}

/// How specific the values of a type are: numbers, then phone numbers, which may be dates as well, then all others.
fn specificity(entity: &Entity) -> u8 {
    match entity.kind() {
        "@number" => 0,
        "@phone" => 1,
        _ => 2,
    }
}

/// The place of the value that a later one replaces: `50` in "50 dollars, no wait, 60 dollars".
fn withdrawn_place(found: &[EntityMatch], replaced: &Range<usize>, replacement: &Range<usize>) -> Option<Range<usize>> {
    let has_later = found.iter().any(|it| it.range.start >= replacement.start);
    found.iter().rev().find(|it| has_later && it.range.end <= replaced.end).map(|it| it.range.clone())
}

/// A text with blanks in place of some parts, so that the others stay where they are.
fn blank_out(text: &str, parts: &[Range<usize>]) -> String {
    let is_blank = |at: usize| parts.iter().any(|it| it.contains(&at));
    let blank = |(at, character): (usize, char)| {
        let count = if is_blank(at) { character.len_utf8() } else { 1 };
        std::iter::repeat_n(if is_blank(at) { ' ' } else { character }, count)
    };
    text.char_indices().flat_map(blank).collect()
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

#[cfg(test)]
mod tests {
    use convengine_understanding::entity::ExtractionContext;

    use super::*;

    /// Wednesday, 2026-01-28, at noon.
    const CONTEXT: ExtractionContext<'_> = ExtractionContext { locale: "en-US", now: 1_769_601_600_000, time_zone: "UTC", parses: None };

    /// The values of each type in a text; a type in brackets has no open slot.
    fn found(names: &[&'static str], text: &str) -> String {
        let note = || Entity::from_patterns(&["(?s)(.+)".to_owned()], None, false).unwrap();
        let kind = |it: &&'static str| {
            let name = it.trim_matches(['(', ')']);
            SlotType { name: name.to_owned(), entity: Entity::from_system_name(name).unwrap_or_else(note), is_open: name == *it }
        };
        let types: Vec<SlotType> = names.iter().map(kind).collect();
        let found = find_types(&types, &[], text, |it| it.find_all(text, CONTEXT));
        let shown = |it: &TypeValues| it.found.iter().map(|it| &text[it.range.clone()]).collect::<Vec<_>>().join("+");
        found.iter().map(shown).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn parts_of_more_specific_values_are_left_out() {
        for (names, text, expected) in [
            (vec!["@number", "@date"], "3 on 5 March", "3|5 March"),
            (vec!["@number", "(@date)"], "3 on 5 March", "3|5 March"),
            (vec!["@currency", "@number"], "2 for $5", "$5|2"),
            (vec!["@number", "@phone"], "call 5551234", "|5551234"),
            (vec!["@phone", "@date"], "2026-03-05", "|2026-03-05"),
            (vec!["@phone", "@date"], "on 2026-03-05", "|2026-03-05"),
            (vec!["@duration", "@date"], "in 3 days for 2 hours", "2 hours|in 3 days"),
            (vec!["@number", "note"], "3 of them", "3|3 of them"),
        ] {
            assert_eq!(found(&names, text), expected, "{text}");
        }
    }
}
