//! Compares the values of expressions and tests their truth.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::error::EvalError;
use crate::text::decimal::to_number;
use crate::text::interpolation::print_value;

/// Returns the name of a value's type, for messages.
// These names and the messages of evaluation errors are part of the hashed trace of a turn: they must not change.
pub(super) fn type_name(value: Option<&Value>) -> &'static str {
    match value {
        None | Some(Value::Null) => "nothing",
        Some(Value::Bool(_)) => "true or false",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(_)) => "a text",
        Some(Value::Array(_)) => "a list",
        Some(Value::Object(_)) => "an object",
    }
}

/// Returns whether a value is truthy: null, 0, empty values and the strings `false`, `no` and `0` are not.
pub(super) fn is_truthy(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::Bool(truth)) => *truth,
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(Value::String(text)) => !matches!(text.trim(), "" | "0") && parse_boolean_word(text) != Some(false),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(members)) => !members.is_empty(),
    }
}

/// Parses `true`, `false`, `yes` and `no`, ignoring case.
pub(super) fn parse_boolean_word(text: &str) -> Option<bool> {
    let is = |word: &str| text.trim().eq_ignore_ascii_case(word);
    if is("true") || is("yes") {
        return Some(true);
    }
    (is("false") || is("no")).then_some(false)
}

/// Tests loose equality: numeric strings equal numbers, words for true and false equal booleans, and undefined equals null. Other
/// values of different types are not equal.
pub(super) fn is_equal(left: Option<&Value>, right: Option<&Value>, ignore_case: bool) -> bool {
    let (Some(a), Some(b)) = (left, right) else {
        return left.or(right).is_none_or(Value::is_null);
    };
    if let (Some(a), Some(b)) = (to_number(a), to_number(b)) {
        return compare_numbers(&a, &b) == Some(Ordering::Equal);
    }
    match (a, b) {
        (Value::Bool(truth), Value::String(text)) | (Value::String(text), Value::Bool(truth)) => parse_boolean_word(text) == Some(*truth),
        (Value::String(a), Value::String(b)) if ignore_case => a.to_lowercase() == b.to_lowercase(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(Some(a), Some(b), ignore_case)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, it)| b.contains_key(name) && is_equal(Some(it), b.get(name), ignore_case))
        }
        _ => a == b,
    }
}

/// Orders two numbers (or numeric strings), or two strings.
pub(super) fn compare_values(left: Option<&Value>, right: Option<&Value>) -> Result<Ordering, EvalError> {
    let numbers = left.and_then(to_number).zip(right.and_then(to_number));
    let found = match (numbers, left, right) {
        (Some((a, b)), ..) => compare_numbers(&a, &b),
        (None, Some(Value::String(a)), Some(Value::String(b))) => Some(a.cmp(b)),
        _ => None,
    };
    found.ok_or_else(|| EvalError([type_name(left), " cannot be ordered with ", type_name(right)].concat()))
}

pub(super) fn compare_numbers(a: &Number, b: &Number) -> Option<Ordering> {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// Tests for an element of a list, a substring (ignoring case) or a member of an object. Null contains nothing.
pub(super) fn contains(whole: Option<&Value>, part: Option<&Value>) -> Result<bool, EvalError> {
    match whole {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Array(items)) => Ok(items.iter().any(|it| is_equal(Some(it), part, false))),
        Some(Value::Object(members)) => Ok(expect_text(part)?.is_some_and(|it| members.contains_key(&it))),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            Ok(expect_text(whole)?.zip(expect_text(part)?).is_some_and(|(whole, part)| whole.to_lowercase().contains(&part.to_lowercase())))
        }
    }
}

/// Returns the text of a string, number or boolean; `None` for null.
pub(super) fn expect_text(value: Option<&Value>) -> Result<Option<String>, EvalError> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(it @ (Value::Bool(_) | Value::Number(_) | Value::String(_))) => Ok(Some(print_value(it))),
        Some(Value::Array(_) | Value::Object(_)) => Err(EvalError(["a text is needed, not ", type_name(value)].concat())),
    }
}
