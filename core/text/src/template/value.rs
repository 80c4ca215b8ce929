//! Values of template expressions: their parts, and operands of logical operators.

use std::borrow::Cow;

use serde_json::Value;

use crate::value::{TEMPLATE, type_name};

/// A borrowed value of the session, or one that an expression computed.
pub(super) type Val<'s> = Cow<'s, Value>;

static NULL: Value = Value::Null;

pub(super) fn null<'s>() -> Val<'s> {
    Cow::Borrowed(&NULL)
}

/// Converts an operand of a logical operator to a boolean: true, false and the words for them.
pub(super) fn to_boolean(value: &Value) -> Result<bool, String> {
    let found = match value {
        Value::Bool(truth) => Some(*truth),
        Value::String(text) => match text.trim() {
            "1" => Some(true),
            "0" => Some(false),
            word => TEMPLATE.parse_word(word),
        },
        Value::Null => return Err("a condition has no value; compare it, as in x == true".to_owned()),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    };
    found.ok_or_else(|| format!("a condition is {}, neither true nor false; compare it, as in x == true", type_name(Some(value))))
}

pub(super) fn get_member<'s>(value: Val<'s>, name: &str) -> Val<'s> {
    match value {
        Cow::Borrowed(value) => value.get(name).map_or_else(null, Cow::Borrowed),
        Cow::Owned(mut value) => value.get_mut(name).map_or_else(null, |member| Cow::Owned(member.take())),
    }
}

/// Returns the item of a list, the character of a string or the member of a map at a key.
pub(super) fn get_item<'s>(value: Val<'s>, key: &Value) -> Val<'s> {
    let position = key.as_u64().and_then(|position| usize::try_from(position).ok());
    match (value, position) {
        (value, None) => key.as_str().map_or_else(null, |name| get_member(value, name)),
        (Cow::Borrowed(Value::Array(items)), Some(at)) => items.get(at).map_or_else(null, Cow::Borrowed),
        (Cow::Owned(Value::Array(mut items)), Some(at)) => items.get_mut(at).map_or_else(null, |item| Cow::Owned(item.take())),
        (value, Some(at)) => match value.as_str() {
            Some(text) => text.chars().nth(at).map_or_else(null, |c| Cow::Owned(Value::from(c.to_string()))),
            None => get_member(value, &at.to_string()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn some_values_are_booleans() {
        for (value, expected) in [
            (json!(null), None),
            (json!(2), None),
            (json!("No"), Some(false)),
            (json!(" off "), Some(false)),
            (json!("0"), Some(false)),
            (json!("1"), Some(true)),
            (json!("on"), Some(true)),
            (json!(""), None),
            (json!([]), None),
        ] {
            assert_eq!(to_boolean(&value).ok(), expected, "{value}");
        }
    }
}
