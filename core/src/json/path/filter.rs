//! Filter expressions and the semantics of their operators.

use std::borrow::Cow;

use serde_json::Value;

use super::query::{Path, length};
use crate::text::regex::Regex;

/// A filter expression.
#[derive(Debug, Clone)]
pub enum Filter {
    /// At least one filter is true.
    Any(Vec<Filter>),
    /// All filters are true.
    All(Vec<Filter>),
    /// The inner filter is false.
    Not(Box<Filter>),
    /// The path finds something, even null.
    Exists(Path),
    /// A comparison.
    Compare(Operand, Operator, Operand),
    /// The whole string matches the pattern.
    Matches(Operand, Regex),
}

/// One side of a comparison.
#[derive(Debug, Clone)]
pub enum Operand {
    /// A value from the document.
    Path(Path),
    /// A literal.
    Literal(Value),
}

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
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

impl Filter {
    /// Returns whether a value passes the filter.
    pub fn holds(&self, document: &Value, current: &Value) -> bool {
        match self {
            Filter::Any(filters) => filters.iter().any(|it| it.holds(document, current)),
            Filter::All(filters) => filters.iter().all(|it| it.holds(document, current)),
            Filter::Not(inner) => !inner.holds(document, current),
            Filter::Exists(path) => !path.find(document, current).is_empty(),
            Filter::Compare(a, operator, b) => {
                let (a, b) = (a.value(document, current), b.value(document, current));
                operator.holds(a.as_deref(), b.as_deref())
            }
            Filter::Matches(operand, regex) => {
                let value = operand.value(document, current);
                value.as_deref().and_then(Value::as_str).is_some_and(|text| regex.find(text) == Ok(true))
            }
        }
    }
}

impl Operand {
    fn value<'v>(&'v self, document: &'v Value, current: &'v Value) -> Option<Cow<'v, Value>> {
        match self {
            Operand::Path(path) => path.operand(document, current),
            Operand::Literal(value) => Some(Cow::Borrowed(value)),
        }
    }
}

impl Operator {
    pub(super) fn holds(self, a: Option<&Value>, b: Option<&Value>) -> bool {
        let b = b.unwrap_or(&Value::Null);
        let list = b.as_array().map(Vec::as_slice).unwrap_or_default();
        let within = |value: &Value| list.iter().any(|it| equal(value, it));
        let elements = a.and_then(Value::as_array);
        let a_or_null = a.unwrap_or(&Value::Null);
        match self {
            Operator::Equal => equal(a_or_null, b),
            Operator::NotEqual => !equal(a_or_null, b),
            Operator::Less => numbers(a, b).is_some_and(|(a, b)| a < b),
            Operator::LessOrEqual => numbers(a, b).is_some_and(|(a, b)| a <= b),
            Operator::Greater => numbers(a, b).is_some_and(|(a, b)| a > b),
            Operator::GreaterOrEqual => numbers(a, b).is_some_and(|(a, b)| a >= b),
            Operator::In => within(a_or_null),
            Operator::NotIn => !within(a_or_null),
            Operator::SubsetOf => elements.is_some_and(|it| it.iter().all(within)),
            Operator::AnyOf => elements.is_some_and(|it| it.iter().any(within)),
            Operator::NoneOf => elements.is_some_and(|it| !it.iter().any(within)),
            Operator::Size => a.and_then(length).is_some_and(|it| b.as_u64() == u64::try_from(it).ok()),
            Operator::Empty => a.and_then(length).is_some_and(|it| b.as_bool() == Some(it == 0)),
            Operator::Contains => match (a_or_null, b) {
                (Value::Array(items), _) => items.iter().any(|it| equal(it, b)),
                (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
                (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_), _) => false,
            },
        }
    }
}

/// Tests equality; numbers are equal by value, even if one of them is a numeric string.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_) | Value::String(_)) | (Value::String(_), Value::Number(_)) => {
            matches!((as_number(a), as_number(b)), (Some(a), Some(b)) if a == b)
        }
        (a, b) => a == b,
    }
}

fn as_number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Returns two operands as numbers, the only values that have an order.
fn numbers(a: Option<&Value>, b: &Value) -> Option<(f64, f64)> {
    Some((a?.as_f64()?, b.as_f64()?))
}
