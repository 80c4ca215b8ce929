//! Times that do not say in which half of the day they are, where an earlier message or the rules of their slot leave only one
//! (docs/spec/flows.md#4.4).

use std::ops::Range;

use convengine_config::flow::document::EntityData;
use convengine_understanding::entity::{Entity, EntityMatch};
use convengine_values::{is_bare_hour, says_afternoon};
use serde_json::{Value, json};

use super::state::FlowEvent;
use super::turn::Turn;
use super::view::SessionView;

impl Turn<'_> {
    /// The time in the other half of the day, if the message leaves the half open and only that one is allowed: of "half past two", 14:30
    /// where a slot takes times from 8 to 6. All other values stay as they are.
    ///
    /// A correction may have moved what was said to the half that is nearer to the time before: of "no, at nine", 21:00.
    pub(super) fn fit_half_of_day(&mut self, data: &EntityData, text: &str, value: Value) -> Value {
        if self.view().is_half_open(&data.entity, text, &value) {
            return self.choose_half(data, value);
        }
        match in_first_half(&value) {
            Some(said) if self.view().is_half_open(&data.entity, text, &said) => self.choose_allowed(data, value, said),
            _ => value,
        }
    }

    /// A time of which no words say the half of the day: in that of the day, if the message or an earlier one has said it ("Thursday
    /// afternoon"), else in the only half that is allowed.
    pub(super) fn choose_half(&mut self, data: &EntityData, value: Value) -> Value {
        match in_other_half(&value) {
            Some(other) if data.entity == "@time" && self.view().is_afternoon() => other,
            Some(other) => self.choose_allowed(data, value, other),
            None => value,
        }
    }

    /// The other value, if it is the only one of the two that the rules of the slot allow.
    fn choose_allowed(&mut self, data: &EntityData, value: Value, other: Value) -> Value {
        if !self.is_allowed(data, &value) && self.is_allowed(data, &other) { other } else { value }
    }

    /// Keeps for the time to come that the message says the afternoon of its day. What it says of a day replaces what an earlier one has
    /// said.
    pub(super) fn store_afternoon(&mut self) {
        let request = self.state.current_request();
        if self.view().has_open_time()
            && let Some(is_afternoon) = self.view().read_afternoon()
        {
            self.state.afternoon = is_afternoon.then_some(request);
        }
        let is_served = |request: &u32| self.state.awaiting.is_some() && self.state.stack.iter().any(|it| it.request == *request);
        self.state.afternoon = self.state.afternoon.filter(is_served);
    }
}

impl SessionView<'_, '_> {
    /// Whether the afternoon of a day is meant, as the message or an earlier one of the request says.
    fn is_afternoon(&self) -> bool {
        self.read_afternoon().unwrap_or_else(|| self.state.afternoon == Some(self.state.current_request()))
    }

    /// Whether the message says the afternoon of its day and no time; `None` if it says nothing about a day.
    fn read_afternoon(&self) -> Option<bool> {
        if !matches!(self.event, FlowEvent::Message { .. }) {
            return None;
        }
        let text = self.event.input_text();
        let find = |name: &str| {
            let entity = Entity::from_system_name(name);
            entity.map(|it| it.find_all(&text, self.extraction_context())).unwrap_or_default()
        };
        let is_meant = |place: &Range<usize>| !self.is_unwanted(&text, place) && self.mention_of(&text, place, "@date").is_none();
        let days: Vec<Range<usize>> = find("@date").into_iter().map(|it| it.range).filter(is_meant).collect();
        let has_time = || !find("@time").is_empty() || !self.times_of_moments(&text).is_empty();
        match says_afternoon(&text, &days, &self.state.locale) {
            true => Some(!has_time()),
            false => (!days.is_empty()).then_some(false),
        }
    }

    /// Whether the request has a slot for a time that it has not filled.
    fn has_open_time(&self) -> bool {
        self.slots_of_frame().iter().any(|slot| slot.entity == "@time" && !self.is_filled_by_current_request(slot.variable))
    }

    /// Whether a value of a type is a time of a message that nowhere says in which half of the day it is.
    pub(super) fn is_half_open(&self, entity: &str, text: &str, value: &Value) -> bool {
        if !matches!(entity, "@time" | "@datetime") {
            return false;
        }
        let find = |name: &str| {
            let entity = Entity::from_system_name(name);
            entity.map(|it| it.find_all(text, self.extraction_context())).unwrap_or_default()
        };
        let mut found: Vec<EntityMatch> = find(entity);
        if entity == "@time" {
            found.extend(self.times_of_moments(text));
        }
        let mut places: Vec<Range<usize>> = found.into_iter().filter(|it| it.value.as_ref() == Some(value)).map(|it| it.range).collect();
        let answer = || Entity::from_system_name(entity)?.read_answer(text, self.extraction_context());
        // "Three" has no place of a time, but may be an answer as a whole.
        if places.is_empty() && answer().as_ref() == Some(value) {
            places.push(0..text.len());
        }
        let days: Vec<Range<usize>> = find("@date").into_iter().map(|it| it.range).collect();
        !places.is_empty() && places.iter().all(|place| is_bare_hour(text, place, &days, &self.state.locale))
    }
}

/// The same time twelve hours later; `None` for what is no time, and for one in the afternoon.
fn in_other_half(value: &Value) -> Option<Value> {
    with_hour(value, |hour| (hour < 12).then_some(hour + 12))
}

/// The same time twelve hours earlier; `None` for what is no time, and for one in the morning.
fn in_first_half(value: &Value) -> Option<Value> {
    with_hour(value, |hour| hour.checked_sub(12))
}

fn with_hour(value: &Value, change: impl FnOnce(u32) -> Option<u32>) -> Option<Value> {
    let text = value.as_str()?;
    let (day, time) = text.find('T').map_or(("", text), |at| text.split_at(at + 1));
    let (hour, rest) = time.split_once(':')?;
    let hour = change(hour.parse().ok()?)?;
    Some(json!(format!("{day}{hour:02}:{rest}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_the_first_half_has_another_in_the_second() {
        for (time, other) in [
            ("02:30", Some("14:30")),
            ("00:45", Some("12:45")),
            ("11:59:30", Some("23:59:30")),
            ("2026-01-05T03:00", Some("2026-01-05T15:00")),
            ("12:00", None),
            ("14:30", None),
            ("2026-01-05", None),
        ] {
            assert_eq!(in_other_half(&json!(time)), other.map(|it| json!(it)), "{time}");
        }
        assert_eq!(in_other_half(&json!(3)), None);
        assert_eq!(in_first_half(&json!("21:30")), Some(json!("09:30")));
        assert_eq!(in_first_half(&json!("09:30")), None);
    }
}
