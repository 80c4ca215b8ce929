//! Days and times of which a message only tells are values of no slot (docs/spec/flows.md#4.4): "my last visit was on 3 March", "I'm away
//! on Thursday". A slot whose question asks for such a day takes them.

use std::ops::Range;

use convengine_config::flow::document::{EntityData, IntentDef, Validation};
use convengine_text::date::Date;
use convengine_text::locale::language;
use convengine_understanding::entity::Entity;
use convengine_values::{Direction, Mention, asks_for_past, names_absence, read_mention, tells_of_past};
use serde_json::Value;

use super::intent_slots::IntentSlot;
use super::view::SessionView;

/// Entities of days and times.
const DAYS_AND_TIMES: [&str; 6] = ["@date", "@time", "@datetime", "@date_range", "@time_range", "@datetime_range"];

impl SessionView<'_, '_> {
    /// Whether a message only tells of a day or a time, which none of the slots of its type takes then.
    pub(super) fn is_only_mentioned(
        &self,
        text: &str,
        part: &Range<usize>,
        key: &str,
        slots: &[IntentSlot<'_>],
        intent: Option<&IntentDef>,
    ) -> bool {
        let mut own = slots.iter().filter(|it| it.type_key() == key);
        self.mention_of(text, part, key).is_some_and(|mention| !own.any(|slot| self.takes_mention(mention, slot, slots, intent)))
    }

    /// Whether a message only tells of a day or a time, which a slot of the current frame does not take then.
    pub(super) fn is_only_mentioned_for(&self, data: &EntityData, text: &str, part: &Range<usize>) -> bool {
        let slot = IntentSlot { variable: &data.variable, entity: &data.entity, prompt: &data.prompt, node: Some(data) };
        let takes = |mention: Mention| self.takes_mention(mention, &slot, &self.slots_of_frame(), self.active_intent());
        self.mention_of(text, part, &data.entity).is_some_and(|mention| !takes(mention))
    }

    /// How a message tells of a day or a time without asking for it; `None` for values of other types.
    pub(super) fn mention_of(&self, text: &str, part: &Range<usize>, key: &str) -> Option<Mention> {
        if !DAYS_AND_TIMES.iter().any(|it| key.starts_with(*it)) {
            return None;
        }
        let find_values = || {
            let kinds = DAYS_AND_TIMES.into_iter().filter_map(Entity::from_system_name);
            kinds.flat_map(|entity| entity.find_all(text, self.extraction_context())).map(|it| it.range).collect()
        };
        read_mention(text, part, find_values, &self.state.locale)
    }

    /// Whether one of the slots of an intent takes what a message only tells of: its direction asks for it, or else the words of its
    /// question, of its variable or of the phrases of the intent.
    ///
    /// "It was on 3 March" is an answer unless days to come are asked for: a question may be about what happened and have no word that says
    /// so.
    fn takes_mention(&self, mention: Mention, slot: &IntentSlot<'_>, slots: &[IntentSlot<'_>], intent: Option<&IntentDef>) -> bool {
        let direction = self.stated_direction(slot).or_else(|| self.direction_of_others(slot, slots));
        if direction == Some(Direction::Past) {
            return true;
        }
        let (locale, own) = (self.state.locale.as_str(), self.flow.document.default_locale.as_str());
        let asks = |test: fn(&str, &str) -> bool| self.is_question_about(slot, test);
        let phrases = intent.map(|it| it.phrases.as_slice()).unwrap_or_default();
        let is_begun_by = |test: fn(&str, &str) -> bool| phrases.iter().any(|phrase| test(phrase, locale) || test(phrase, own));
        match mention {
            Mention::Past => direction != Some(Direction::Future) || asks(asks_for_past),
            Mention::EarlierEvent => asks(asks_for_past) || is_begun_by(tells_of_past),
            Mention::Absence => asks(names_absence) || is_begun_by(names_absence),
        }
    }

    /// Whether the question of a slot or the name of its variable passes a test, which is given a text and its locale.
    fn is_question_about(&self, slot: &IntentSlot<'_>, test: fn(&str, &str) -> bool) -> bool {
        let (locale, own) = (self.state.locale.as_str(), self.flow.document.default_locale.as_str());
        let is_translated = slot.prompt.variants_by_key.iter().any(|(key, _)| language(key).eq_ignore_ascii_case(language(locale)));
        let passes = |prompt: &str| test(prompt, locale) || !is_translated && test(prompt, own);
        let name = slot.variable.to_string().replace(['.', '_'], " ");
        let mut prompts = slot.prompt.variants(&self.state.channel, locale, own).iter();
        prompts.any(|it| passes(question_of(&it.source))) || test(&name, own) || test(&name, "en")
    }

    /// The direction in which a slot takes days and no others: the one that it has, or that of its rules.
    fn stated_direction(&self, slot: &IntentSlot<'_>) -> Option<Direction> {
        let data = slot.node?;
        if data.day_options.is_direction_bound {
            return Some(data.day_options.direction);
        }
        if !matches!(slot.entity, "@date" | "@datetime") {
            return None;
        }
        let context = self.extraction_context();
        let today = Date::in_zone(context.now, context.time_zone).to_civil().date().to_string();
        data.validation.iter().find_map(|rule| direction_of_rule(rule, &today))
    }

    /// The direction of the days that belong to a time.
    fn direction_of_others(&self, slot: &IntentSlot<'_>, slots: &[IntentSlot<'_>]) -> Option<Direction> {
        let days = slots.iter().filter(|it| matches!(slot.entity, "@time" | "@time_range") && it.variable != slot.variable);
        let directions: Vec<Direction> = days.filter_map(|it| self.stated_direction(it)).collect();
        let has = |direction: Direction| directions.contains(&direction).then_some(direction);
        has(Direction::Past).or_else(|| has(Direction::Future))
    }
}

/// The direction in which a rule allows days: a greatest day that is over, or a comparison with today.
fn direction_of_rule(rule: &Validation, today: &str) -> Option<Direction> {
    if rule.max.as_ref().and_then(Value::as_str).is_some_and(|max| max < today) {
        return Some(Direction::Past);
    }
    let condition = rule.expr.as_ref()?.source.replace(' ', "");
    let compares = |sign: &str| condition.contains(&format!("value{sign}date()")) || condition.contains(&format!("value{sign}=date()"));
    let directions = [("<", Direction::Past), (">", Direction::Future)];
    directions.into_iter().find(|(sign, _)| compares(sign)).map(|it| it.1)
}

/// The question of a prompt that says something else before it: "You were here in March. When would you like to come?"
fn question_of(prompt: &str) -> &str {
    let end = prompt.rfind('?').unwrap_or(prompt.len());
    let before = prompt.get(..end).unwrap_or_default();
    let begin = before.rfind(['.', '!', '?', '\n', ':']).map_or(0, |at| at + 1);
    let question = before.get(begin..).unwrap_or_default();
    if end < prompt.len() { question } else { prompt }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rules_may_allow_days_in_one_direction_only() {
        for (rule, direction) in [
            (json!({"expr": "value <= date()"}), Some(Direction::Past)),
            (json!({"expr": "value < date() && value > \"2020\""}), Some(Direction::Past)),
            (json!({"max": "2025-12-31"}), Some(Direction::Past)),
            (json!({"expr": "value >= date()"}), Some(Direction::Future)),
            (json!({"max": "2026-12-31"}), None),
            (json!({"min": "2026-01-01"}), None),
            (json!({"expr": "value != other"}), None),
        ] {
            assert_eq!(direction_of_rule(&Validation::from_value(&rule), "2026-01-28"), direction, "{rule}");
        }
    }

    #[test]
    fn what_stands_before_a_question_is_left_out() {
        for (prompt, question) in [
            ("When was it?", "When was it"),
            ("You were here in March. When would you like to come?", " When would you like to come"),
            ("Thanks! Which day?", " Which day"),
            ("Please tell me the day.", "Please tell me the day."),
            ("", ""),
        ] {
            assert_eq!(question_of(prompt), question);
        }
    }
}
