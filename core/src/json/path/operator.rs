//! The comparison operators of filters and their semantics.

use serde_json::Value;

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathOperator {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `in`
    In,
    /// `nin`
    NotIn,
    /// `subsetof`
    SubsetOf,
    /// `anyof`
    AnyOf,
    /// `noneof`
    NoneOf,
    /// `size`
    Size,
    /// `empty`
    Empty,
    /// `contains`
    Contains,
}

impl PathOperator {
    /// Compares two values; `None` stands for a value that is missing.
    pub(super) fn is_satisfied(self, a: Option<&Value>, b: Option<&Value>) -> bool {
        let b = b.unwrap_or(&Value::Null);
        let list = b.as_array().map(Vec::as_slice).unwrap_or_default();
        let within = |value: &Value| list.iter().any(|it| is_equal(value, it));
        let elements = a.and_then(Value::as_array);
        let a_or_null = a.unwrap_or(&Value::Null);
        match self {
            PathOperator::Equal => is_equal(a_or_null, b),
            PathOperator::NotEqual => !is_equal(a_or_null, b),
            PathOperator::Less => to_numbers(a, b).is_some_and(|(a, b)| a < b),
            PathOperator::LessOrEqual => to_numbers(a, b).is_some_and(|(a, b)| a <= b),
            PathOperator::Greater => to_numbers(a, b).is_some_and(|(a, b)| a > b),
            PathOperator::GreaterOrEqual => to_numbers(a, b).is_some_and(|(a, b)| a >= b),
            PathOperator::In => within(a_or_null),
            PathOperator::NotIn => !within(a_or_null),
            PathOperator::SubsetOf => elements.is_some_and(|it| it.iter().all(within)),
            PathOperator::AnyOf => elements.is_some_and(|it| it.iter().any(within)),
            PathOperator::NoneOf => elements.is_some_and(|it| !it.iter().any(within)),
            PathOperator::Size => a.and_then(length).is_some_and(|it| b.as_u64() == u64::try_from(it).ok()),
            PathOperator::Empty => a.and_then(length).is_some_and(|it| b.as_bool() == Some(it == 0)),
            PathOperator::Contains => match (a_or_null, b) {
                (Value::Array(items), _) => items.iter().any(|it| is_equal(it, b)),
                (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
                (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_), _) => false,
            },
        }
    }
}

/// Tests equality; numbers are equal by value, even if one of them is a numeric string.
fn is_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_) | Value::String(_)) | (Value::String(_), Value::Number(_)) => {
            matches!((to_number(a), to_number(b)), (Some(a), Some(b)) if a == b)
        }
        (a, b) => a == b,
    }
}

fn to_number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Returns two operands as numbers, the only values that have an order.
fn to_numbers(a: Option<&Value>, b: &Value) -> Option<(f64, f64)> {
    Some((a?.as_f64()?, b.as_f64()?))
}

/// Returns the number of characters, elements or members; `None` for other values.
pub(in crate::json) fn length(value: &Value) -> Option<usize> {
    match value {
        Value::Array(items) => Some(items.len()),
        Value::Object(members) => Some(members.len()),
        Value::String(text) => Some(text.chars().count()),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}
