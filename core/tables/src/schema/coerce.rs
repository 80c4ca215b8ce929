//! Converts the user's words to the type that a schema declares.

use convengine_config::{ValueKind, ValueSchema};
use convengine_text::value::TEMPLATE;
use convengine_values::{Consent, Context, Direction, Kind, read, read_consent};
use jiff::civil::DateTime;
use serde_json::{Number, Value};

use super::facts::is_valid;

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
    let is_same = |option: &&Value| {
        let number = option.as_f64().is_some() && option.as_f64() == value.as_ref().and_then(Value::as_f64);
        number || TEMPLATE.print(option).to_lowercase() == text.to_lowercase()
    };
    shape.options.iter().find(is_same).cloned()
}

fn coerce_kind(shape: &ValueSchema, text: &str) -> Option<Value> {
    match shape.kinds.iter().find(|it| **it != ValueKind::Null) {
        None | Some(ValueKind::String) => (!text.is_empty()).then(|| Value::from(text)),
        Some(ValueKind::Integer) => parse_number(text)?.as_i64().map(Value::from),
        Some(ValueKind::Number) => parse_number(text)?.as_f64().and_then(Number::from_f64).map(Value::Number),
        Some(ValueKind::Boolean) => match read_consent(text, "en")? {
            Consent::Yes => Some(Value::Bool(true)),
            Consent::No => Some(Value::Bool(false)),
            Consent::YesBut | Consent::NoBut => None,
        },
        Some(ValueKind::Object | ValueKind::Array | ValueKind::Null) => None,
    }
}

/// The only number in a text.
fn parse_number(text: &str) -> Option<Value> {
    let context = Context { locale: "en", now: DateTime::ZERO, direction: Direction::Future };
    let mut found = read(Kind::Number, text, &context).into_iter();
    let number = found.next().filter(|_| found.next().is_none())?;
    let (before, behind) = (text.get(..number.range.start)?, text.get(number.range.end..)?);
    // Other digits say that the text is something else.
    let has_digits = |part: &str| part.contains(|character: char| character.is_ascii_digit());
    (!has_digits(before) && !has_digits(behind)).then_some(number.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        for (text, expected) in [
            ("250", Some(json!(250))),
            ("about €1,250.50 please", Some(json!(1250.5))),
            ("350 000", Some(json!(350_000))),
            ("1'000'000", Some(json!(1_000_000))),
            ("-5", Some(json!(-5))),
            ("24 months", Some(json!(24))),
            ("twenty-four", Some(json!(24))),
            ("5k", Some(json!(5000))),
            ("2 million", Some(json!(2_000_000))),
            ("1,5", None),
            ("DE11", None),
            ("100-200", None),
            ("2026-01-02", None),
            ("3 or 4", None),
            ("lots", None),
        ] {
            assert_eq!(parse_number(text), expected, "{text}");
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
