//! Finds which values of a message belong to which slots (docs/spec/flows.md#4.4).
//!
//! The values are found when the intent begins, and in each answer: those of marks and those beside a word of a slot belong to that slot.
//! The others are taken by the slots of their type in the order in which these are entered.

use std::cmp::Reverse;
use std::ops::Range;

use convengine_config::flow::IntentPhrases;
use convengine_config::flow::document::{EntityData, IntentDef};
use convengine_text::marked_phrase::{MarkFit, MarkedMatch, MarkedPhrase, trim_punctuation};
use convengine_text::phrase::{Phrase, PlacedPhrase};
use convengine_text::variable_path::VariablePath;
use convengine_understanding::entity::near_words::{NearWords, WordLocales, assign};
use convengine_understanding::entity::{Entity, EntityMatch, Extraction};
use convengine_values::{denied_parts, is_part_denied, is_refused, read_correction, restate_number};
use serde_json::Value;

use super::intent_match::IntentMatch;
use super::intent_slots::IntentSlot;
use super::slot_values::{IntentTrigger, MARK, SlotValues, TriggerValue, TypeValues, overlap};
use super::view::SessionView;

/// Entities that accept every message: only a mark of a phrase says what belongs to them.
pub(super) const CATCH_ALL_ENTITIES: [&str; 2] = ["@string", "@list"];

/// A value in the part of a message that a mark takes.
struct MarkedPart {
    value: Value,
    /// Its place in the part.
    place: Range<usize>,
    fit: MarkFit,
}

/// A type of the slots of an intent.
struct SlotType {
    key: String,
    entity: Entity,
    /// Whether a slot of the type may still take a value from the message.
    is_open: bool,
}

/// A message, and the slots that it may fill.
struct SlotMessage<'s, 'c> {
    text: &'s str,
    slots: &'s [IntentSlot<'c>],
    /// The intent that has them.
    intent: Option<&'s IntentDef>,
}

impl<'c> SessionView<'_, 'c> {
    /// Finds the values of the message for the slots of a matched intent.
    pub(super) fn find_slot_values(&self, hit: &IntentMatch<'c>, text: &str) -> SlotValues {
        let slots = self.slots_of_intent(hit.intent);
        let mut values = SlotValues::for_slots(slots.iter());
        if slots.is_empty() {
            return values;
        }
        let types = self.slot_types(&slots, None);
        self.take_marked_values(hit.intent, &types, text, &mut values);
        let message = SlotMessage { text, slots: &slots, intent: Some(hit.intent) };
        values.types = self.find_wanted_values(&types, &values.taken, &message);
        self.take_hinted_values(&hit.slots, &mut values);
        self.take_near_values(Some(hit.intent), &slots, text, &mut values);
        self.drop_parts_of_times(text, &mut values);
        values
    }

    /// Finds the values that an answer, or a part of it, has for the slots of the current frame. `asked` is the slot that was asked for.
    pub(super) fn find_answer_values(&self, asked: Option<&EntityData>, text: &str) -> SlotValues {
        let slots = self.slots_of_frame();
        let mut values = SlotValues::for_slots(slots.iter().filter(|it| !CATCH_ALL_ENTITIES.contains(&it.entity)));
        let types = self.slot_types(&slots, asked);
        let message = SlotMessage { text, slots: &slots, intent: self.active_intent() };
        values.types = self.find_wanted_values(&types, &[], &message);
        let intent = self.state.frame().and_then(|it| it.intent_id.as_ref()).and_then(|it| self.flow.intent(it));
        self.take_near_values(intent, &slots, text, &mut values);
        self.drop_parts_of_times(text, &mut values);
        values
    }

    /// Whether an answer has values that a slot may take: the one that was asked for, or another one without its own question.
    pub(super) fn has_values_to_keep(&self, asked: &EntityData, values: &SlotValues) -> bool {
        let slots = self.slots_of_frame();
        let may_take = |slot: &IntentSlot<'c>| *slot.variable == asked.variable || !self.takes_only_answers(slot);
        let mut found = values.types.iter().filter(|kind| !kind.found.is_empty());
        found.any(|kind| slots.iter().any(|slot| slot.type_key() == kind.entity && may_take(slot)))
    }

    /// The text of the event with the number that it corrects: of "7 pm, no, 8", "8 pm".
    pub fn restated_input(&self) -> String {
        let text = self.event.input_text();
        restate_number(&text, &self.state.locale).unwrap_or(text)
    }

    /// Leaves out numbers that no words name and that are in a day, a time or a duration, although no slot takes one: "for 2 nights".
    fn drop_parts_of_times(&self, text: &str, values: &mut SlotValues) {
        let taken = values.taken.clone();
        let is_free = |item: &EntityMatch| !taken.iter().any(|taken| overlap(taken, &item.range));
        let Some(numbers) = values.types.iter_mut().find(|kind| kind.entity == "@number" && kind.found.iter().any(is_free)) else { return };
        let kinds = ["@date", "@time", "@duration"].into_iter().filter_map(Entity::from_system_name);
        let times: Vec<EntityMatch> = kinds.flat_map(|entity| entity.find_all(text, self.extraction_context())).collect();
        let is_part =
            |item: &EntityMatch| times.iter().any(|time| overlap(&time.range, &item.range) && time.range.len() > item.range.len());
        let count = numbers.found.len();
        numbers.found.retain(|number| !is_free(number) || !is_part(number));
        numbers.is_reduced |= numbers.found.len() < count;
    }

    /// Finds the values of all types but those that the message denies, refuses, takes back or only tells of.
    fn find_wanted_values(&self, types: &[SlotType], taken: &[Range<usize>], message: &SlotMessage<'_, 'c>) -> Vec<TypeValues> {
        let SlotMessage { text, slots, intent } = *message;
        let correction =
            read_correction(text, &self.state.locale).and_then(|correction| Some((correction.replaced?, correction.replacement)));
        let is_wanted = |kind: &SlotType, item: &EntityMatch| {
            !self.is_unwanted(text, &item.range) && !self.is_only_mentioned(text, &item.range, &kind.key, slots, intent)
        };
        let keep_wanted = |kind: &SlotType, found: &mut Vec<EntityMatch>| {
            let withdrawn = correction.as_ref().and_then(|(replaced, replacement)| withdrawn_place(found, replaced, replacement));
            let count = found.len();
            found.retain(|item| is_wanted(kind, item) && withdrawn.as_ref() != Some(&item.range));
            found.len() < count
        };
        let mut found = find_types(types, taken, text, |kind| {
            let mut items = self.find_corrected(&kind.entity, text, correction.as_ref().map(|it| &it.1));
            if matches!(kind.entity, Entity::Several(_)) {
                keep_wanted(kind, &mut items);
            }
            kind.entity.join_items(items)
        });
        for (kind, values) in types.iter().zip(&mut found) {
            // A list has been made of wanted values.
            values.is_reduced |= matches!(kind.entity, Entity::Several(_)) || keep_wanted(kind, &mut values.found);
        }
        // "Not Friday, Saturday" may be read as nothing, unlike what is left of it.
        let denied = denied_parts(text, &self.state.locale);
        if !denied.is_empty() && found.iter().any(|it| it.found.is_empty()) {
            let rest = blank_out(text, &denied);
            let rest_values = find_types(types, taken, &rest, |kind| {
                let items = kind.entity.find_items(&rest, self.extraction_context()).into_iter();
                kind.entity.join_items(items.filter(|it| is_wanted(kind, it)).collect())
            });
            for (kind, other) in found.iter_mut().zip(rest_values).filter(|it| it.0.found.is_empty()) {
                *kind = TypeValues { is_reduced: true, ..other };
            }
        }
        // "Thursday at 3" is a moment, of which a day and a time have a part each.
        let has_moments = found.iter().any(|it| it.entity.starts_with("@datetime"));
        for (kind, times) in types.iter().zip(&mut found).filter(|(_, it)| it.entity == "@time" && it.found.is_empty() && !has_moments) {
            times.found = self.times_of_moments(text).into_iter().filter(|it| is_wanted(kind, it)).collect();
        }
        found
    }

    /// Finds the values of a type; those behind "no wait" also where the words before them leave none.
    fn find_corrected(&self, entity: &Entity, text: &str, replacement: Option<&Range<usize>>) -> Vec<EntityMatch> {
        let mut found = entity.find_items(text, self.extraction_context());
        let Some(replacement) = replacement.filter(|part| !found.iter().any(|it| it.range.start >= part.start)) else { return found };
        let replacement_matches = entity.find_items(text.get(replacement.clone()).unwrap_or_default(), self.extraction_context());
        let shift =
            |item: EntityMatch| EntityMatch { range: item.range.start + replacement.start..item.range.end + replacement.start, ..item };
        found.extend(replacement_matches.into_iter().map(shift));
        found
    }

    /// Whether a message says of a part of it that it is not meant or not wanted.
    pub(super) fn is_unwanted(&self, text: &str, part: &Range<usize>) -> bool {
        is_part_denied(text, part, &self.state.locale) || is_refused(text, part, &self.state.locale)
    }

    /// The times of the moments in a text, without their days.
    pub(super) fn times_of_moments(&self, text: &str) -> Vec<EntityMatch> {
        let find =
            |name: &str| Entity::from_system_name(name).map(|entity| entity.find_all(text, self.extraction_context())).unwrap_or_default();
        let days = find("@date");
        let time = |moment: EntityMatch| {
            let value = moment.value?;
            let time = value.as_str()?.split_once('T')?.1.to_owned();
            let day = days.iter().find(|it| overlap(&it.range, &moment.range))?;
            let (before, behind) = (moment.range.start..day.range.start, day.range.end..moment.range.end);
            let range = if before.len() > behind.len() { before } else { behind };
            Some(EntityMatch { range, value: Some(time.into()) })
        };
        find("@datetime").into_iter().filter_map(time).collect()
    }

    /// Matches a message with a phrase that has marks.
    pub(super) fn match_marks(&self, intent: &'c IntentDef, phrase: &MarkedPhrase, text: &str) -> Option<MarkedMatch> {
        let message = PlacedPhrase::new(text, &self.flow.document.default_locale);
        if !phrase.has_words_in(&message) {
            return None;
        }
        let slots = self.slots_of_intent(intent);
        let types = self.slot_types(&slots, None);
        let fit = |variable: &VariablePath, part: &str| {
            let keys = slots.iter().filter(|it| it.variable == variable).map(IntentSlot::type_key);
            let kinds = keys.filter_map(|key| types.iter().find(|it| it.key == key));
            kinds.map(|kind| self.read_part(kind, part).map_or(MarkFit::Unfit, |it| it.fit)).min().unwrap_or(MarkFit::Whole)
        };
        phrase.find(text, &message, &fit)
    }

    /// The best phrase of an intent in the message, with its score.
    pub(super) fn best_phrase(&self, intent: &'c IntentDef, phrases: &'c IntentPhrases, input: &Phrase) -> Option<(f64, &'c str)> {
        let message = self.event.input_text();
        let score = |phrase: &Phrase, marked: &Option<MarkedPhrase>| match marked {
            Some(marked) => self.match_marks(intent, marked, &message).map(|it| it.score),
            None => input.match_phrase(phrase).map(|it| it.1),
        };
        let all = intent.phrases.iter().zip(&phrases.positive).zip(&phrases.marked);
        let found = all.filter_map(|((text, phrase), marked)| Some((phrase.tokens().len(), score(phrase, marked)?, text.as_str())));
        found.max_by(|a, b| (a.0, a.1).partial_cmp(&(b.0, b.1)).unwrap_or(std::cmp::Ordering::Equal)).map(|it| (it.1, it.2))
    }

    fn slot_types(&self, slots: &[IntentSlot<'c>], asked: Option<&EntityData>) -> Vec<SlotType> {
        let mut types: Vec<SlotType> = Vec::new();
        for slot in slots {
            let Some(entity) = slot.compile_entity(self.flow) else { continue };
            let key = slot.type_key();
            // What was there before the request may be named anew.
            let is_filled = self.is_filled_by_current_request(slot.variable)
                && self.state.variable(slot.variable).is_some_and(|value| entity.accept(value, self.extraction_context()).is_some());
            let may_take = asked.is_some_and(|it| it.variable == *slot.variable) || !self.takes_only_answers(slot);
            let is_open = may_take && (slot.is_always_asked() || !is_filled);
            match types.iter_mut().find(|it| it.key == key) {
                Some(known) => known.is_open |= is_open,
                None => types.push(SlotType { key, entity, is_open }),
            }
        }
        types
    }

    /// Gives slots the parts that the marks of the best phrase take.
    fn take_marked_values(&self, intent: &'c IntentDef, types: &[SlotType], text: &str, values: &mut SlotValues) {
        let Some(phrases) = self.phrases_of(intent).filter(|_| !intent.is_fallback) else { return };
        let matches =
            phrases.marked.iter().flatten().filter_map(|phrase| Some((phrase.literal_length(), self.match_marks(intent, phrase, text)?)));
        let best = matches.fold(None, |best: Option<(usize, MarkedMatch)>, next| match best {
            Some(best) if (best.0, best.1.score) >= (next.0, next.1.score) => Some(best),
            _ => Some(next),
        });
        for (variable, range) in best.map(|it| it.1.marks).unwrap_or_default() {
            for slot in values.slots.iter_mut().filter(|slot| slot.variable == variable && slot.own_value.is_none()) {
                let kind = types.iter().find(|it| it.key == slot.entity);
                let Some(part) = kind.and_then(|kind| self.read_part(kind, text.get(range.clone())?)) else { continue };
                slot.own_value = Some(part.value);
                slot.source = MARK;
                values.taken.push(range.start + part.place.start..range.start + part.place.end);
            }
        }
    }

    /// Reads the part of a message that a mark takes.
    fn read_part(&self, kind: &SlotType, part: &str) -> Option<MarkedPart> {
        let context = self.extraction_context();
        // "On Friday, no, on Saturday"
        if !CATCH_ALL_ENTITIES.contains(&kind.key.as_str())
            && let Some(replacement) = read_correction(part, &self.state.locale).filter(|it| it.replaced.is_some()).map(|it| it.replacement)
            && let Some(new_match) = kind.entity.find_all(part.get(replacement.clone())?, context).into_iter().next()
        {
            let place = new_match.range.start + replacement.start..new_match.range.end + replacement.start;
            return Some(MarkedPart { value: new_match.value?, place, fit: MarkFit::Contains });
        }
        // A text has no punctuation around it; a number may have a sign.
        let plain = trim_punctuation(part);
        let candidates = if CATCH_ALL_ENTITIES.contains(&kind.key.as_str()) { [plain, plain] } else { [part.trim(), plain] };
        let is_meant = |text: &&str| !text.is_empty() && !kind.entity.is_negative_phrase(text);
        let accepted = candidates.into_iter().filter(is_meant).find_map(|candidate| kind.entity.accept(&candidate.into(), context));
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
        for slot in values.slots.iter().filter(|slot| hints.contains_key(&slot.variable.to_string())) {
            let written = self.state.variable(&slot.variable).filter(|it| !it.is_null());
            let found = values.types.iter().filter(|it| it.entity == slot.entity).flat_map(|it| &it.found);
            let mut free = found.filter(|item| item.value.as_ref() == written && written.is_some() && !values.is_taken(&item.range));
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
        let marked: Vec<&MarkedPhrase> = phrases.map(|phrases| phrases.marked.iter().flatten().collect()).unwrap_or_default();
        for kind in &values.types {
            let found: Vec<&EntityMatch> = kind.found.iter().filter(|it| !values.is_taken(&it.range)).collect();
            let open: Vec<usize> =
                (0..values.slots.len()).filter(|at| values.slots.get(*at).is_some_and(|it| it.is_open_for(kind))).collect();
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
                    let same_slots =
                        slots.iter().filter(|intent_slot| *intent_slot.variable == slot.variable && intent_slot.type_key() == slot.entity);
                    same_slots
                        .flat_map(|it| it.prompt.variants_of_locale(&self.state.channel, locales.session))
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
                    slot.own_value = Some(found.value.clone().unwrap_or_default());
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
}

impl IntentTrigger {
    /// The value that the message that triggered the intent, or an answer of this turn, holds for a slot.
    pub(super) fn value_for(&self, view: SessionView<'_, '_>, data: &EntityData, entity: &Entity) -> Option<TriggerValue> {
        let values = &self.values;
        let key = data.type_key();
        let slot = values.slot(&data.variable, &key);
        if let Some((value, source)) = slot.and_then(|slot| Some((slot.own_value.clone()?, slot.source))) {
            return Some(TriggerValue { value, range: None, source, is_named: true }).filter(|it| !it.value.is_null());
        }
        if CATCH_ALL_ENTITIES.contains(&data.entity.as_str()) {
            return None;
        }
        let is_alone = values.slots.iter().filter(|it| it.entity == key).count() < 2;
        let kind = values.types.iter().find(|kind| slot.is_some() && kind.entity == key);
        let is_shared = |kind: &&TypeValues| kind.is_reduced || kind.found.iter().any(|item| !is_alone || values.is_taken(&item.range));
        let is_mentioned = |item: &EntityMatch| view.is_only_mentioned_for(data, &self.text, &item.range);
        let new_value = |value: Value, range: Option<Range<usize>>| TriggerValue { value, range, source: "entity", is_named: is_alone };
        // Of two days in one message nothing says which is meant, so the slot asks.
        if is_alone && values.different_days(data, entity).len() > 1 {
            return None;
        }
        if let Some(kind) = kind.filter(is_shared) {
            let first = kind.found.iter().find(|it| !values.is_taken(&it.range) && !is_mentioned(it))?;
            return Some(new_value(first.value.clone()?, Some(first.range.clone())));
        }
        // A slot of another graph, or one whose values are not found by their place.
        let value = match entity.extract(&self.text, view.extraction_context()) {
            Extraction::Value(value) => value,
            // Of several values of a list one may be left after a denial, and a moment has a time.
            Extraction::Ambiguous(_) | Extraction::NotFound => {
                let [only] = values.found_of(&key) else { return None };
                return Some(new_value(only.value.clone()?, Some(only.range.clone())));
            }
        };
        let places = entity.find_all(&self.text, view.extraction_context());
        let is_free =
            |item: &&EntityMatch| !values.is_taken(&item.range) && !view.is_unwanted(&self.text, &item.range) && !is_mentioned(item);
        match places.iter().find(|place| place.value.as_ref() == Some(&value)) {
            Some(place) if is_free(&place) => Some(new_value(value, Some(place.range.clone()))),
            Some(_) => {
                let next = places.iter().filter(|it| it.value.is_some()).find(is_free)?;
                Some(new_value(next.value.clone()?, Some(next.range.clone())))
            }
            None => values.taken.is_empty().then(|| new_value(value, None)),
        }
    }
}

/// Whether a type takes every text, so that no text says that it is meant.
pub(super) fn reads_any_text(entity: &str) -> bool {
    matches!(entity, "@string" | "@list" | "@boolean")
}

/// Whether a slot takes texts as they are.
pub(super) fn takes_free_text(data: &EntityData, entity: &Entity) -> bool {
    matches!(data.entity.as_str(), "@string" | "@list") || matches!(entity, Entity::Patterns(_))
}

/// Finds the values of all types. A value that overlaps a taken place, or a more specific value of another type, is left out.
fn find_types(types: &[SlotType], taken: &[Range<usize>], text: &str, find: impl Fn(&SlotType) -> Vec<EntityMatch>) -> Vec<TypeValues> {
    let found: Vec<Vec<EntityMatch>> = types.iter().map(find).collect();
    let mut by_rank: Vec<(usize, &SlotType, &EntityMatch)> = Vec::new();
    for (number, (kind, matches)) in types.iter().zip(&found).enumerate() {
        by_rank.extend(matches.iter().map(|it| (number, kind, it)));
    }
    let rank = |kind: &SlotType, item: &EntityMatch| (specificity(&kind.entity), item.range.len());
    by_rank.sort_by_key(|(_, kind, value)| Reverse(rank(kind, value)));
    let mut specific: Vec<(usize, &SlotType, &EntityMatch)> = Vec::new();
    for (number, kind, value) in by_rank {
        let is_part = specific.iter().any(|(other, other_kind, item)| {
            // A type that takes whole messages says nothing about their parts.
            let is_specific = other_kind.is_open && item.range.len() < text.trim().len();
            *other != number && is_specific && rank(other_kind, item) > rank(kind, value) && overlap(&item.range, &value.range)
        });
        if !is_part && !taken.iter().any(|it| overlap(it, &value.range)) {
            specific.push((number, kind, value));
        }
    }
    let to_values = |(number, (kind, all)): (usize, (&SlotType, &Vec<EntityMatch>))| {
        let mut remaining: Vec<EntityMatch> = specific.iter().filter(|it| it.0 == number).map(|it| it.2.clone()).collect();
        remaining.sort_by_key(|it| it.range.start);
        TypeValues { entity: kind.key.clone(), is_reduced: remaining.len() < all.len(), found: remaining }
    };
    types.iter().zip(&found).enumerate().map(to_values).collect()
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
    found.iter().rev().find(|item| has_later && item.range.end <= replaced.end).map(|it| it.range.clone())
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

#[cfg(test)]
mod tests {
    use convengine_understanding::entity::ExtractionContext;

    use super::*;

    /// Wednesday, 2026-01-28, at noon.
    const CONTEXT: ExtractionContext<'_> = ExtractionContext { locale: "en-US", now: 1_769_601_600_000, time_zone: "UTC", parses: None };

    /// The values of each type in a text; a type in brackets has no open slot.
    fn found(names: &[&'static str], text: &str) -> String {
        let note = || Entity::from_patterns(&["(?s)(.+)".to_owned()], None, false).unwrap();
        let kind = |label: &&'static str| {
            let name = label.trim_matches(['(', ')']);
            SlotType { key: name.to_owned(), entity: Entity::from_system_name(name).unwrap_or_else(note), is_open: name == *label }
        };
        let types: Vec<SlotType> = names.iter().map(kind).collect();
        let found = find_types(&types, &[], text, |it| it.entity.find_all(text, CONTEXT));
        let shown = |values: &TypeValues| values.found.iter().map(|it| &text[it.range.clone()]).collect::<Vec<_>>().join("+");
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
