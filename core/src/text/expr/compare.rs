//! How the values of expressions compare.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::NoValue;
use crate::text::braces::printed;
use crate::text::decimal::number_of;

/// What a value is called in messages.
pub(super) fn kind(value: Option<&Value>) -> &'static str {
    match value {
        None | Some(Value::Null) => "nothing",
        Some(Value::Bool(_)) => "true or false",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(_)) => "a text",
        Some(Value::Array(_)) => "a list",
        Some(Value::Object(_)) => "an object",
    }
}

/// Whether a value counts as true: nothing, 0, what is empty, and the texts `false`, `no` and `0` do not.
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

/// What the words `true`, `false`, `yes` and `no` mean, in any case.
pub(super) fn truth_of_word(text: &str) -> Option<bool> {
    let is = |word: &str| text.trim().eq_ignore_ascii_case(word);
    if is("true") || is("yes") {
        return Some(true);
    }
    (is("false") || is("no")).then_some(false)
}

/// Loose equality: numbers and texts that look like numbers are numbers, words for true and false are equal to them, and nothing is
/// equal to null. Other values of different kinds are not equal.
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

/// Which of two values comes first: of numbers and texts that look like numbers, or of two texts.
pub(super) fn order(left: Option<&Value>, right: Option<&Value>) -> Result<Ordering, NoValue> {
    let numbers = left.and_then(number_of).zip(right.and_then(number_of));
    let found = match (numbers, left, right) {
        (Some((a, b)), ..) => compare_numbers(&a, &b),
        (None, Some(Value::String(a)), Some(Value::String(b))) => Some(a.cmp(b)),
        _ => None,
    };
    found.ok_or_else(|| NoValue([kind(left), " cannot be ordered with ", kind(right)].concat()))
}

pub(super) fn compare_numbers(a: &Number, b: &Number) -> Option<Ordering> {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// Membership in a list, a part of a text whatever its case, or the name of a member. Nothing contains nothing.
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

/// The text of a text, a number or a truth; nothing for null.
pub(super) fn text(value: Option<&Value>) -> Result<Option<String>, NoValue> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(it @ (Value::Bool(_) | Value::Number(_) | Value::String(_))) => Ok(Some(printed(it))),
        Some(Value::Array(_) | Value::Object(_)) => Err(NoValue(["a text is needed, not ", kind(value)].concat())),
    }
}
