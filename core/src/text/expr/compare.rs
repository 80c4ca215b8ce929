//! Compares the values of expressions and tests their truth.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::NoValue;
use crate::text::braces::printed;
use crate::text::decimal::number_of;

/// Returns the name of a value's type, for messages.
pub(super) fn kind(value: Option<&Value>) -> &'static str {
    match value {
        None | Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(_)) => "number",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "list",
        Some(Value::Object(_)) => "object",
    }
}

/// Returns whether a value is truthy: null, 0, empty values and the strings `false`, `no` and `0` are not.
pub(super) fn truth(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::Bool(truth)) => *truth,
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(Value::String(text)) => !matches!(text.trim(), "" | "0") && truth_of_word(text) != Some(false),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(members)) => !members.is_empty(),
    }
}

/// Parses `true`, `false`, `yes` and `no`, ignoring case.
pub(super) fn truth_of_word(text: &str) -> Option<bool> {
    let is = |word: &str| text.trim().eq_ignore_ascii_case(word);
    if is("true") || is("yes") {
        return Some(true);
    }
    (is("false") || is("no")).then_some(false)
}

/// Tests loose equality: numeric strings equal numbers, words for true and false equal booleans, and undefined equals null. Other
/// values of different types are not equal.
pub(super) fn equal(left: Option<&Value>, right: Option<&Value>, ignore_case: bool) -> bool {
    let (Some(a), Some(b)) = (left, right) else {
        return left.or(right).is_none_or(Value::is_null);
    };
    if let (Some(a), Some(b)) = (number_of(a), number_of(b)) {
        return compare_numbers(&a, &b) == Some(Ordering::Equal);
    }
    match (a, b) {
        (Value::Bool(truth), Value::String(text)) | (Value::String(text), Value::Bool(truth)) => truth_of_word(text) == Some(*truth),
        (Value::String(a), Value::String(b)) if ignore_case => a.to_lowercase() == b.to_lowercase(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(Some(a), Some(b), ignore_case)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, it)| b.contains_key(name) && equal(Some(it), b.get(name), ignore_case))
        }
        _ => a == b,
    }
}

/// Orders two numbers (or numeric strings), or two strings.
pub(super) fn order(left: Option<&Value>, right: Option<&Value>) -> Result<Ordering, NoValue> {
    let numbers = left.and_then(number_of).zip(right.and_then(number_of));
    let found = match (numbers, left, right) {
        (Some((a, b)), ..) => compare_numbers(&a, &b),
        (None, Some(Value::String(a)), Some(Value::String(b))) => Some(a.cmp(b)),
        _ => None,
    };
    found.ok_or_else(|| NoValue(["cannot compare ", kind(left), " with ", kind(right)].concat()))
}

pub(super) fn compare_numbers(a: &Number, b: &Number) -> Option<Ordering> {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// Tests for an element of a list, a substring (ignoring case) or a member of an object. Null contains nothing.
pub(super) fn contains(whole: Option<&Value>, part: Option<&Value>) -> Result<bool, NoValue> {
    match whole {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Array(items)) => Ok(items.iter().any(|it| equal(Some(it), part, false))),
        Some(Value::Object(members)) => Ok(text(part)?.is_some_and(|it| members.contains_key(&it))),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            Ok(text(whole)?.zip(text(part)?).is_some_and(|(whole, part)| whole.to_lowercase().contains(&part.to_lowercase())))
        }
    }
}

/// Returns the text of a string, number or boolean; `None` for null.
pub(super) fn text(value: Option<&Value>) -> Result<Option<String>, NoValue> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(it @ (Value::Bool(_) | Value::Number(_) | Value::String(_))) => Ok(Some(printed(it))),
        Some(Value::Array(_) | Value::Object(_)) => Err(NoValue(["expected string, got ", kind(value)].concat())),
    }
}
