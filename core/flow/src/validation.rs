//! Validation rules of slots (docs/spec/flows.md#4.4, step 7).

use std::cmp::Ordering;

use convengine_config::flow::document::{EntityData, LocalizedText, Validation};
use convengine_text::date::parse_duration_seconds;
use convengine_text::regex::Regex;
use convengine_text::value::EXPRESSION;
use convengine_turn::{Candidate, Map, Verdict};
use serde_json::Value;

use super::turn::Turn;

impl Turn<'_> {
    /// Returns the message of the first rule that a value violates; the inner `None` is a rule without a message.
    pub(super) fn find_violation(&mut self, data: &EntityData, value: &Value) -> Option<Option<LocalizedText>> {
        for rule in &data.validation {
            let extra = Map::from_iter([("value".to_owned(), value.clone())]);
            let bound = violated_bound(rule, value);
            let is_violated = bound.is_some() || rule.expr.as_ref().is_some_and(|it| !self.is_condition_true(it, extra));
            self.note(|| to_candidate(rule, is_violated, bound));
            if is_violated {
                return Some(rule.message.clone());
            }
        }
        None
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
