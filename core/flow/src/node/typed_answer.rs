//! What a slot reads from a typed answer (docs/spec/flows.md#4.4).

use std::ops::Range;

use convengine_config::flow::document::EntityData;
use convengine_understanding::entity::{Entity, EntityMatch, Extraction};
use convengine_values::{Correction, are_alternatives, is_inquiry, read_correction, split_alternatives};
use serde_json::{Value, json};

use super::super::slot_reading::{reads_any_text, takes_free_text};
use super::super::turn::Turn;
use super::super::view::SessionView;

impl Turn<'_> {
    /// Reads the value of a typed answer, and keeps the others that it has for slots to come. An error lists several of which none is chosen.
    pub(super) fn read_typed_answer(&mut self, data: &EntityData, entity: &Entity) -> Result<Option<Value>, Vec<Value>> {
        let text = if takes_free_text(data, entity) { self.event.input_text() } else { self.view().restated_input() };
        // "Is delivery free?"
        if !reads_any_text(&data.entity) && is_inquiry(&text, &self.state.locale) {
            return Ok(None);
        }
        let correction = read_correction(&text, &self.state.locale);
        if let Some(moment) = correction.as_ref().and_then(|correction| self.view().read_corrected_moment(entity, correction, &text)) {
            return Ok(Some(moment));
        }
        let replacement = correction.and_then(|correction| self.view().find_replacement(data, entity, correction, &text));
        let answer = replacement.unwrap_or(&text);
        let mut values = self.view().find_answer_values(Some(data), answer);
        let found = match entity.extract(answer, self.extraction_context()) {
            Extraction::NotFound => Ok(values.only_free(data).and_then(|it| it.value.clone())),
            Extraction::Value(value) => Ok(Some(value)),
            Extraction::Ambiguous(values) => Err(values.into_iter().map(Value::from).collect::<Vec<Value>>()),
        };
        // "Four" to the question for a time is one, and a number to no other slot.
        if found == Ok(None)
            && let Some(value) = entity.read_answer(answer, self.extraction_context())
        {
            return Ok(Some(value));
        }
        let places = entity.find_items(answer, self.extraction_context());
        // Numbers in a row are a telephone number or the like.
        if data.entity == "@number" && are_in_a_row(&places, answer) {
            return Ok(None);
        }
        let is_list = matches!(entity, Entity::Several(_));
        let is_denied = |item: &EntityMatch| {
            self.view().is_unwanted(answer, &item.range) || self.view().is_only_mentioned_for(data, answer, &item.range)
        };
        let has_denied = places.iter().any(is_denied);
        let mut alternatives = self.view().read_alternatives(if is_list { &places } else { values.found_of_type(data) }, answer);
        if alternatives.is_empty() && !reads_any_text(&data.entity) && found == Ok(None) {
            alternatives = self.view().read_split_alternatives(entity, answer);
        }
        if !alternatives.is_empty() && !has_denied {
            // "Giro or Spar": which of them is asked.
            found?;
            return if self.view().is_slot_redacted(data) { Ok(None) } else { Err(alternatives) };
        }
        // "Thursday I have school, Friday at ten": of two days in one answer nothing says which is meant.
        if values.is_sole_slot(data) && !has_denied && found.is_ok() {
            let several = values.different_days(data, entity);
            if several.len() > 1 {
                return if self.view().is_slot_redacted(data) { Ok(None) } else { Err(several) };
            }
        }
        let free = || values.only_free(data).filter(|candidate| is_list || !is_denied(candidate)).and_then(|it| it.value.clone());
        let value = match values.named(data).cloned() {
            Some(named) => Some(named),
            None if has_denied || values.names_others(data) || is_list && values.has_any() => free(),
            None => found?,
        };
        let Some(value) = value.filter(|it| !it.is_null()) else { return Ok(None) };
        let place = places.iter().find(|place| place.value.as_ref() == Some(&value)).map(|it| it.range.clone());
        if let Some(place) = place.or_else(|| values.place_of(data, &value)) {
            values.take(place);
            self.offer_answer(answer, values, Vec::new());
        }
        Ok(Some(value))
    }
}

impl SessionView<'_, '_> {
    /// The part of an answer that replaces what stands before it: "Boston" in "Chicago, no wait, Boston".
    fn find_replacement<'t>(&self, data: &EntityData, entity: &Entity, correction: Correction, text: &'t str) -> Option<&'t str> {
        let context = self.extraction_context();
        let is_whole_text = || entity.extract(text, context) == Extraction::Value(text.trim().into());
        let replacement = text.get(correction.replacement).filter(|_| correction.replaced.is_some() && !reads_any_text(&data.entity))?;
        (entity.extract(replacement, context) != Extraction::NotFound && !is_whole_text()).then_some(replacement)
    }

    /// The moment of which only the day or only the time is corrected: "tomorrow at 7, no, Friday".
    fn read_corrected_moment(&self, entity: &Entity, correction: &Correction, text: &str) -> Option<Value> {
        if entity.kind() != "@datetime" {
            return None;
        }
        let context = self.extraction_context();
        let find_single = |entity: &Entity, part: Range<usize>| {
            let mut found = entity.find_all(text.get(part)?, context).into_iter();
            found.next().filter(|_| found.next().is_none())?.value
        };
        if entity.extract(text.get(correction.replacement.clone())?, context) != Extraction::NotFound {
            return None;
        }
        let moment = find_single(entity, correction.replaced.clone()?)?;
        let (day, time) = moment.as_str()?.split_once('T')?;
        let new_day = find_single(&Entity::from_system_name("@date")?, correction.replacement.clone());
        let new_time = find_single(&Entity::from_system_name("@time")?, correction.replacement.clone());
        match (new_day.as_ref().and_then(Value::as_str), new_time.as_ref().and_then(Value::as_str)) {
            (Some(day), None) => Some(json!(format!("{day}T{time}"))),
            (None, Some(time)) => Some(json!(format!("{day}T{time}"))),
            (Some(_), Some(_)) | (None, None) => None,
        }
    }

    /// The values of a text that is read as nothing because it offers two of them.
    fn read_split_alternatives(&self, entity: &Entity, text: &str) -> Vec<Value> {
        let Some(parts) = split_alternatives(text, &self.state.locale) else { return Vec::new() };
        let values = parts.map(|part| match entity.find_items(part, self.extraction_context()).as_slice() {
            [only] if !self.is_unwanted(part, &only.range) => only.value.clone(),
            _ => None,
        });
        match values {
            [Some(one), Some(other)] if one != other => vec![one, other],
            _ => Vec::new(),
        }
    }

    /// The values that a text offers as alternatives: of "Monday or Tuesday", both.
    fn read_alternatives(&self, found: &[EntityMatch], text: &str) -> Vec<Value> {
        let mut alternatives: Vec<Value> = Vec::new();
        for pair in found.windows(2) {
            let [one, other] = pair else { continue };
            if one.value != other.value && are_alternatives(text, &one.range, &other.range, &self.state.locale) {
                for value in [one, other].into_iter().filter_map(|it| it.value.clone()) {
                    if !alternatives.contains(&value) {
                        alternatives.push(value);
                    }
                }
            }
        }
        alternatives
    }
}

/// Whether nothing but white space is between two of several values.
fn are_in_a_row(found: &[EntityMatch], text: &str) -> bool {
    let is_blank = |place: &Range<usize>| text.get(place.clone()).is_some_and(|gap| gap.trim().is_empty());
    found.windows(2).any(|pair| matches!(pair, [one, other] if is_blank(&(one.range.end..other.range.start))))
}
