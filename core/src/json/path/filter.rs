//! Filter expressions and the semantics of their operators.

use std::borrow::Cow;

use serde_json::Value;

use super::compiled::{CompiledPath, length};
use crate::text::regex::Regex;

/// A filter expression.
#[derive(Debug, Clone)]
pub enum PathFilter {
    /// At least one filter is true.
    Any(Vec<PathFilter>),
    /// All filters are true.
    All(Vec<PathFilter>),
    /// The inner filter is false.
    Not(Box<PathFilter>),
    /// The path finds something, even null.
    Exists(CompiledPath),
    /// A comparison.
    Compare(PathOperand, PathOperator, PathOperand),
    /// The whole string matches the pattern.
    Matches(PathOperand, Regex),
}

/// One side of a comparison.
#[derive(Debug, Clone)]
pub enum PathOperand {
    /// A value from the document.
    Path(CompiledPath),
    /// A literal.
    Literal(Value),
}

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

impl PathFilter {
    /// Returns whether a value passes the filter.
    pub fn matches(&self, document: &Value, current: &Value) -> bool {
        match self {
            PathFilter::Any(filters) => filters.iter().any(|it| it.matches(document, current)),
            PathFilter::All(filters) => filters.iter().all(|it| it.matches(document, current)),
            PathFilter::Not(inner) => !inner.matches(document, current),
            PathFilter::Exists(path) => !path.find(document, current).is_empty(),
            PathFilter::Compare(a, operator, b) => {
                let (a, b) = (a.resolve(document, current), b.resolve(document, current));
                operator.is_satisfied(a.as_deref(), b.as_deref())
            }
            PathFilter::Matches(operand, regex) => {
                let value = operand.resolve(document, current);
                value.as_deref().and_then(Value::as_str).is_some_and(|text| regex.is_match(text) == Ok(true))
            }
        }
    }
}

impl PathOperand {
    fn resolve<'v>(&'v self, document: &'v Value, current: &'v Value) -> Option<Cow<'v, Value>> {
        match self {
            PathOperand::Path(path) => path.operand_value(document, current),
            PathOperand::Literal(value) => Some(Cow::Borrowed(value)),
        }
    }
}

impl PathOperator {
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
