//! Membership in values, and the texts that text operators work on.

use serde_json::Value;

use super::error::EvalError;
use crate::value::{EXPRESSION, type_name};

/// Tests for an element of a list, a substring (ignoring case) or a member of an object. Null contains nothing.
pub(super) fn contains(whole: Option<&Value>, part: Option<&Value>) -> Result<bool, EvalError> {
    match whole {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Array(items)) => Ok(items.iter().any(|item| EXPRESSION.is_equal(Some(item), part))),
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
        Some(it @ (Value::Bool(_) | Value::Number(_) | Value::String(_))) => Ok(Some(EXPRESSION.print(it).into_owned())),
        Some(Value::Array(_) | Value::Object(_)) => Err(EvalError(["expected a string, found ", type_name(value)].concat())),
    }
}
