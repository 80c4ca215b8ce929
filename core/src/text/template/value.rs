//! Values of template expressions: printing, comparison and arithmetic.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::operator::Arithmetic;

/// A borrowed value of the session, or one that an expression computed.
pub(super) type Val<'s> = Cow<'s, Value>;

static NULL: Value = Value::Null;

pub(super) fn null<'s>() -> Val<'s> {
    Cow::Borrowed(&NULL)
}

/// Returns the text of a value: empty for null, JSON for lists and maps, doubles with a fraction or an exponent.
pub(super) fn print(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::Bool(true) => Cow::Borrowed("true"),
        Value::Bool(false) => Cow::Borrowed("false"),
        Value::String(text) => Cow::Borrowed(text),
        Value::Number(number) => Cow::Owned(number.as_f64().filter(|_| number.is_f64()).map_or_else(|| number.to_string(), print_double)),
        Value::Array(_) | Value::Object(_) => Cow::Owned(value.to_string()),
    }
}

// ConvEngine: doubles print as Java prints them; pinned by the pack `template_numbers`.
fn print_double(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        let text = number.to_string();
        return if text.contains('.') { text } else { format!("{text}.0") };
    }
    let text = format!("{number:E}");
    match text.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        Some(_) | None => text,
    }
}

/// Returns the truth value of a `th:if` condition: null, false, 0 and the words false, off and no are false, all else is true.
pub(super) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !["false", "off", "no"].iter().any(|it| text.trim().eq_ignore_ascii_case(it)),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// Converts an operand of a logical operator to a boolean: true, false and the words for them.
pub(super) fn to_boolean(value: &Value) -> Result<bool, String> {
    let word = match value {
        Value::Bool(truth) => return Ok(*truth),
        Value::String(text) => text.trim().to_ascii_lowercase(),
        Value::Null => return Err("a condition has no value; compare it, as in x == true".to_owned()),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => String::new(),
    };
    match word.as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err(format!("a condition is {}, neither true nor false; compare it, as in x == true", type_name(value))),
    }
}

/// Returns the type of a value, for messages.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "a missing value",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

pub(super) fn get_member<'s>(value: Val<'s>, name: &str) -> Val<'s> {
    match value {
        Cow::Borrowed(value) => value.get(name).map_or_else(null, Cow::Borrowed),
        Cow::Owned(mut value) => value.get_mut(name).map_or_else(null, |it| Cow::Owned(it.take())),
    }
}

/// Returns the item of a list, the character of a string or the member of a map at a key.
pub(super) fn get_item<'s>(value: Val<'s>, key: &Value) -> Val<'s> {
    let position = key.as_u64().and_then(|it| usize::try_from(it).ok());
    match (value, position) {
        (value, None) => key.as_str().map_or_else(null, |name| get_member(value, name)),
        (Cow::Borrowed(Value::Array(items)), Some(at)) => items.get(at).map_or_else(null, Cow::Borrowed),
        (Cow::Owned(Value::Array(mut items)), Some(at)) => items.get_mut(at).map_or_else(null, |it| Cow::Owned(it.take())),
        (value, Some(at)) => match value.as_str() {
            Some(text) => text.chars().nth(at).map_or_else(null, |it| Cow::Owned(Value::from(it.to_string()))),
            None => get_member(value, &at.to_string()),
        },
    }
}

pub(super) fn is_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64() && (a.is_f64() || b.is_f64()),
        _ => left == right,
    }
}

/// Orders two values; null sorts first.
pub(super) fn compare(left: &Value, right: &Value) -> Result<Ordering, String> {
    let order = match (left, right) {
        (Value::Null, _) | (_, Value::Null) => Some(right.is_null().cmp(&left.is_null())),
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => a.as_f64().zip(b.as_f64()).and_then(|(a, b)| a.partial_cmp(&b)),
        },
        (Value::String(a), Value::String(b)) => Some(a.encode_utf16().cmp(b.encode_utf16())),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        _ => None,
    };
    order.ok_or_else(|| format!("{} cannot be compared with {}", type_name(left), type_name(right)))
}

/// How arithmetic treats numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberMode {
    /// Two integers give an integer, as in ConvEngine's templates.
    Native,
    /// All numbers are decimals of 15 digits, as in formulas: 1 / 2 is 0.5, and 0.1 + 0.2 is 0.3. Integers of more digits stay
    /// exact.
    Decimal,
}

pub(super) fn calculate(operator: Arithmetic, numbers: NumberMode, left: &Value, right: &Value) -> Result<Value, String> {
    let (Value::Number(a), Value::Number(b)) = (left, right) else {
        return Err(format!("calculating needs two numbers, not {} and {}", type_name(left), type_name(right)));
    };
    let wholes = a.as_i64().zip(b.as_i64());
    let is_division = matches!(operator, Arithmetic::Divide | Arithmetic::Remainder);
    if is_division && (matches!(wholes, Some((_, 0))) || numbers == NumberMode::Decimal && b.as_f64() == Some(0.0)) {
        return Err("a number is divided by zero".to_owned());
    }
    let decimal_of = || a.as_f64().zip(b.as_f64()).map(|(a, b)| calculate_double(operator, a, b));
    let result = match (wholes, numbers) {
        (Some((a, b)), NumberMode::Native) => calculate_whole(operator, a, b).map(Number::from),
        (None, NumberMode::Native) => decimal_of().and_then(Number::from_f64),
        (_, NumberMode::Decimal) => wholes.and_then(|(a, b)| calculate_long(operator, a, b)).or_else(|| decimal_of().and_then(to_decimal)),
    };
    result.map(Value::Number).ok_or_else(|| "the result of a calculation is too large, or no number".to_owned())
}

/// Rounds to 15 significant digits, which every double represents exactly and spreadsheets use.
pub(super) fn to_decimal(number: f64) -> Option<Number> {
    format!("{number:.14e}").parse().ok().and_then(Number::from_f64)
}

/// Calculates an integer result of more digits than [`to_decimal`] keeps.
fn calculate_long(operator: Arithmetic, a: i64, b: i64) -> Option<Number> {
    let result = if operator == Arithmetic::Divide && a.checked_rem(b) != Some(0) { None } else { calculate_whole(operator, a, b) };
    result.filter(|it| it.unsigned_abs() >= 1_000_000_000_000_000).map(Number::from)
}

fn calculate_whole(operator: Arithmetic, a: i64, b: i64) -> Option<i64> {
    match operator {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
        Arithmetic::Divide => a.checked_div(b),
        Arithmetic::Remainder => a.checked_rem(b),
    }
}

fn calculate_double(operator: Arithmetic, a: f64, b: f64) -> f64 {
    match operator {
        Arithmetic::Add => a + b,
        Arithmetic::Subtract => a - b,
        Arithmetic::Multiply => a * b,
        Arithmetic::Divide => a / b,
        Arithmetic::Remainder => a % b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn doubles_print_with_a_fraction_or_an_exponent() {
        for (number, text) in [
            (2.0, "2.0"),
            (-0.0, "-0.0"),
            (3.25, "3.25"),
            (0.001, "0.001"),
            (0.0001, "1.0E-4"),
            (9_999_999.5, "9999999.5"),
            (1e7, "1.0E7"),
            (12_345_678.9, "1.23456789E7"),
            (1e21, "1.0E21"),
            (-1.5e-9, "-1.5E-9"),
        ] {
            assert_eq!(print(&json!(number)), text);
        }
        assert_eq!(print(&json!(u64::MAX)), "18446744073709551615");
    }

    #[test]
    fn conditions_accept_every_value_and_booleans_only_some() {
        for (value, condition, truth_of_it) in [
            (json!(null), false, None),
            (json!(0), false, None),
            (json!(0.0), false, None),
            (json!(2), true, None),
            (json!("off"), false, Some(false)),
            (json!("No"), false, Some(false)),
            (json!("0"), true, Some(false)),
            (json!("on"), true, Some(true)),
            (json!(""), true, None),
            (json!([]), true, None),
            (json!({}), true, None),
        ] {
            assert_eq!((is_true(&value), to_boolean(&value).ok()), (condition, truth_of_it), "{value}");
        }
    }
}
