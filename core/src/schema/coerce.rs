//! Converts the user's words to the type that a schema declares.

use serde_json::{Number, Value};

use super::facts::is_valid;
use crate::config::{ValueKind, ValueSchema};
use crate::value::TEMPLATE;

/// Multiplier words; a number before one of them is not the value.
const MULTIPLIERS: [&str; 8] = ["k", "m", "mn", "bn", "hundred", "thousand", "million", "billion"];

/// Converts a text to a value; `None` when it is unclear or not as declared.
pub(super) fn coerce(shape: &ValueSchema, text: &str) -> Option<Value> {
    let text = text.trim_start_matches([' ', '=', ':', ',']).trim_end_matches(['.', '?', '!', ' ']).trim();
    let value = if shape.options.is_empty() { coerce_kind(shape, text) } else { match_option(shape, text) };
    let value = value.filter(|it| is_valid(shape, it));
    // Writing `null` clears a value. (docs/spec/pipeline.md#Q-14, talk `correction_of_a_value`)
    value.or_else(|| text.eq_ignore_ascii_case("null").then_some(Value::Null))
}

fn match_option(shape: &ValueSchema, text: &str) -> Option<Value> {
    let value = coerce_kind(shape, text);
    let is_same = |it: &&Value| {
        let number = it.as_f64().is_some() && it.as_f64() == value.as_ref().and_then(Value::as_f64);
        number || TEMPLATE.print(it).to_lowercase() == text.to_lowercase()
    };
    shape.options.iter().find(is_same).cloned()
}

fn coerce_kind(shape: &ValueSchema, text: &str) -> Option<Value> {
    match shape.kinds.iter().find(|it| **it != ValueKind::Null) {
        None | Some(ValueKind::String) => (!text.is_empty()).then(|| Value::from(text)),
        Some(ValueKind::Integer) => parse_number(text)?.parse::<i64>().ok().map(Value::from),
        Some(ValueKind::Number) => parse_number(text)?.parse().ok().and_then(Number::from_f64).map(Value::Number),
        Some(ValueKind::Boolean) => match text.to_lowercase().as_str() {
            "true" | "yes" => Some(Value::Bool(true)),
            "false" | "no" => Some(Value::Bool(false)),
            _ => None,
        },
        Some(ValueKind::Object | ValueKind::Array | ValueKind::Null) => None,
    }
}

/// The only number in a text, without thousands separators.
fn parse_number(text: &str) -> Option<String> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let (before, rest) = text.split_at(start);
    // Digits after a letter are part of a name, such as DE11.
    if before.ends_with(char::is_alphanumeric) {
        return None;
    }
    let sign = before.strip_suffix('-').is_some_and(|it| !it.ends_with(char::is_alphanumeric));
    let mut digits = if sign { "-".to_owned() } else { String::new() };
    let mut rest = take_digits(rest, &mut digits);
    while let Some(group) = rest.strip_prefix([',', ' ', '\'']).filter(|it| count_digits(it) == 3) {
        rest = take_digits(group, &mut digits);
    }
    if let Some(fraction) = rest.strip_prefix('.').filter(|it| count_digits(it) > 0) {
        digits.push('.');
        rest = take_digits(fraction, &mut digits);
    }
    let unit = rest.trim_start().split(|c: char| !c.is_alphabetic()).next().unwrap_or_default().to_lowercase();
    let is_only_number = !rest.contains(|c: char| c.is_ascii_digit()) && !MULTIPLIERS.contains(&unit.as_str());
    is_only_number.then_some(digits)
}

/// The number of leading digits.
fn count_digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn take_digits<'t>(text: &'t str, digits: &mut String) -> &'t str {
    let (leading, rest) = text.split_at(count_digits(text));
    digits.push_str(leading);
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        for (text, expected) in [
            ("250", Some("250")),
            ("about €1,250.50 please", Some("1250.50")),
            ("350 000", Some("350000")),
            ("1'000'000", Some("1000000")),
            ("-5", Some("-5")),
            ("minus - 5", Some("5")),
            ("24 months", Some("24")),
            ("5k", None),
            ("2 million", None),
            ("1,5", None),
            ("DE11", None),
            ("100-200", None),
            ("2026-01-02", None),
            ("lots", None),
        ] {
            assert_eq!(parse_number(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_value_is_of_the_declared_kind_or_none() {
        let coerced = |kind, options: Value, text| {
            coerce(&ValueSchema { kinds: vec![kind], options: options.as_array().unwrap().clone(), ..ValueSchema::default() }, text)
        };
        assert_eq!(coerced(ValueKind::Integer, json!([]), ": 12."), Some(json!(12)));
        assert_eq!(coerced(ValueKind::Integer, json!([]), "1.5"), None);
        assert_eq!(coerced(ValueKind::Integer, json!([]), "99999999999999999999"), None);
        assert_eq!(coerced(ValueKind::Integer, json!([12, 24]), "24 months"), Some(json!(24)));
        assert_eq!(coerced(ValueKind::Integer, json!([12, 24]), "36"), None);
        assert_eq!(coerced(ValueKind::Number, json!([]), "NULL"), Some(Value::Null));
        assert_eq!(coerced(ValueKind::String, json!([]), "null"), Some(json!("null")));
        assert_eq!(coerced(ValueKind::String, json!(["Red"]), "red!"), Some(json!("Red")));
        assert_eq!(coerced(ValueKind::Array, json!([]), "a"), None);
        assert_eq!(coerced(ValueKind::Boolean, json!([]), "NO"), Some(json!(false)));
    }
}
