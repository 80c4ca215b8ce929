//! Validation rules of slots (docs/spec/flows.md#4.4, step 7).

use std::cmp::Ordering;

use convengine_config::flow::document::{EntityData, LocalizedText, Validation};
use convengine_text::date::{Date, parse_duration_seconds};
use convengine_text::regex::Regex;
use convengine_text::value::EXPRESSION;
use convengine_turn::{Candidate, Map, Verdict};
use convengine_values::Direction;
use serde_json::Value;

use super::turn::Turn;
use super::view::SessionView;

impl Turn<'_> {
    /// Returns the message of the first rule that a value violates; the inner `None` is a rule without a message. The last rule is the direction
    /// of a slot for days, if it is a bound.
    pub(super) fn find_violation(&mut self, data: &EntityData, value: &Value) -> Option<Option<LocalizedText>> {
        for rule in &data.validation {
            let (is_violated, bound) = self.check_rule(rule, value);
            self.note(|| to_candidate(rule, is_violated, bound));
            if is_violated {
                return Some(rule.message.clone());
            }
        }
        if !data.day_options.is_direction_bound {
            return None;
        }
        let is_violated = self.view().is_in_other_direction(data, value);
        self.note(|| direction_candidate(data.day_options.direction, is_violated));
        is_violated.then_some(None)
    }

    /// Whether a value violates no rule of a slot, without a note in the explanation.
    pub(super) fn is_allowed(&mut self, data: &EntityData, value: &Value) -> bool {
        data.validation.iter().all(|rule| !self.check_rule(rule, value).0)
            && !(data.day_options.is_direction_bound && self.view().is_in_other_direction(data, value))
    }

    /// Whether a value violates a rule, and by which bound, if it is not the expression.
    fn check_rule(&mut self, rule: &Validation, value: &Value) -> (bool, Option<&'static str>) {
        let extra = Map::from_iter([("value".to_owned(), value.clone())]);
        let bound = violated_bound(rule, value);
        let is_violated = bound.is_some() || rule.expr.as_ref().is_some_and(|it| !self.is_condition_true(it, extra));
        (is_violated, bound)
    }
}

impl SessionView<'_, '_> {
    /// Whether a day or a moment of a slot is on the other side of now than the direction of the slot says; today is on both.
    fn is_in_other_direction(&self, data: &EntityData, value: &Value) -> bool {
        if !matches!(data.entity.as_str(), "@date" | "@datetime") {
            return false;
        }
        let context = self.extraction_context();
        let now = Date::in_zone(context.now, context.time_zone).to_civil().to_string();
        let is_beyond = |value: &Value| {
            let Some(text) = value.as_str() else { return false };
            // A day is compared with today, and a month with this one.
            let now = now.get(..text.len()).unwrap_or(&now);
            match data.day_options.direction {
                Direction::Future => text < now,
                Direction::Past => text > now,
                Direction::Nearest => false,
            }
        };
        is_beyond(value) || value.as_array().is_some_and(|items| items.iter().any(is_beyond))
    }
}

/// Returns the first bound of a rule that a value violates; the rule's expression is not evaluated.
fn violated_bound(rule: &Validation, value: &Value) -> Option<&'static str> {
    let is_beyond = |bound: &Option<Value>, wrong: Ordering| bound.as_ref().and_then(|it| compare(value, it)).is_some_and(|it| it == wrong);
    let length = value.as_str().map(|text| text.chars().count());
    if is_beyond(&rule.min, Ordering::Less) {
        Some("min")
    } else if is_beyond(&rule.max, Ordering::Greater) {
        Some("max")
    } else if rule.min_length.zip(length).is_some_and(|(min, length)| length < min) {
        Some("min_length")
    } else if rule.max_length.zip(length).is_some_and(|(max, length)| length > max) {
        Some("max_length")
    } else {
        rule.pattern.as_ref().zip(value.as_str()).filter(|(pattern, text)| !matches(pattern, text)).map(|_| "pattern")
    }
}

/// The rule as a candidate of an explanation; `bound` is the one that is violated, if it is not the expression.
fn to_candidate(rule: &Validation, is_violated: bool, bound: Option<&str>) -> Candidate {
    let bounds = [
        ("min", rule.min.clone()),
        ("max", rule.max.clone()),
        ("min_length", rule.min_length.map(Value::from)),
        ("max_length", rule.max_length.map(Value::from)),
        ("pattern", rule.pattern.clone().map(Value::String)),
        ("expr", rule.expr.as_ref().map(|condition| Value::String(condition.source.clone()))),
    ];
    let set = bounds.iter().filter_map(|(name, value)| Some(format!("{name} {}", EXPRESSION.print(value.as_ref()?))));
    let name = set.collect::<Vec<_>>().join(", ");
    let reason = match bound {
        _ if !is_violated => "passed",
        Some("min") => "the value is below the minimum",
        Some("max") => "the value is above the maximum",
        Some("min_length") => "the text is too short",
        Some("max_length") => "the text is too long",
        Some(_) => "the text does not match the pattern",
        None => "the condition is false",
    };
    let verdict = if is_violated { Verdict::NotMatched } else { Verdict::Matched };
    Candidate::for_choice("", &name, verdict).with_reason(reason)
}

/// The direction of a slot as a candidate of an explanation.
fn direction_candidate(direction: Direction, is_violated: bool) -> Candidate {
    let name = if direction == Direction::Past { "direction past" } else { "direction future" };
    let (verdict, reason) = match (is_violated, direction) {
        (false, _) => (Verdict::Matched, "passed"),
        (true, Direction::Past) => (Verdict::NotMatched, "the value is in the future"),
        (true, Direction::Future | Direction::Nearest) => (Verdict::NotMatched, "the value is in the past"),
    };
    Candidate::for_choice("", name, verdict).with_reason(reason)
}

/// Matches a pattern; a pattern that does not compile matches nothing, and lint reports it.
fn matches(pattern: &str, text: &str) -> bool {
    Regex::new_linear(pattern).is_ok_and(|regex| regex.is_match(text).unwrap_or(false))
}

/// Compares a value with a bound: as amounts, durations or texts.
fn compare(value: &Value, bound: &Value) -> Option<Ordering> {
    let amount = |value: &Value| EXPRESSION.number_of(value.get("amount").unwrap_or(value)).map(Value::Number);
    if let (Some(value), Some(bound)) = (amount(value), amount(bound)) {
        return EXPRESSION.compare(Some(&value), Some(&bound));
    }
    let (value, bound) = (value.as_str()?, bound.as_str()?);
    match (parse_duration_seconds(value), parse_duration_seconds(bound)) {
        (Some(value), Some(bound)) => value.partial_cmp(&bound),
        // ISO dates sort as texts.
        _ => Some(value.cmp(bound)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn violates(rule: Value, value: Value) -> bool {
        violated_bound(&Validation::from_value(&rule), &value).is_some()
    }

    #[test]
    fn bounds_are_compared_by_kind() {
        assert!(violates(json!({"min": 5}), json!(4)) && !violates(json!({"min": 5}), json!(5)));
        assert!(violates(json!({"max": "10"}), json!(11)));
        assert!(violates(json!({"max": 100}), json!({"amount": "100.01", "currency": "EUR"})));
        assert!(violates(json!({"min": "2026-02-01"}), json!("2026-01-31")));
        assert!(violates(json!({"max": "PT2H"}), json!("PT121M")) && !violates(json!({"max": "PT2H"}), json!("PT0.5H")));
        assert!(violates(json!({"min_length": 3}), json!("añ")) && !violates(json!({"max_length": 2}), json!("añ")));
        assert!(violates(json!({"pattern": "^[A-Z]+$"}), json!("abc")) && !violates(json!({"pattern": "^[A-Z]+$"}), json!("ABC")));
        assert!(violates(json!({"pattern": "("}), json!("x")));
    }
}
