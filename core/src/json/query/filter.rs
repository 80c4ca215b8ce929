//! Filter expressions of RFC 9535 with its five functions.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use super::Query;
use crate::text::regex::Regex;

/// A filter expression.
#[derive(Debug, Clone)]
pub(super) enum Filter {
    Any(Vec<Filter>),
    All(Vec<Filter>),
    Not(Box<Filter>),
    /// The query finds something, even null.
    Exists(Query),
    Compare(Operand, Operator, Operand),
    /// The string matches the pattern, entirely or in part.
    Matches(Operand, Pattern),
}

/// A pattern.
#[derive(Debug, Clone)]
pub(super) enum Pattern {
    /// A literal; `None` when it is not a valid pattern.
    Written(Option<Regex>),
    /// A pattern from the document, and whether it must match the whole string.
    Found(Operand, bool),
}

/// One side of a comparison.
#[derive(Debug, Clone)]
pub(super) enum Operand {
    Literal(Value),
    /// A singular query.
    Single(Query),
    /// The length of a string, a list or an object.
    Length(Box<Operand>),
    /// The number of values that a query finds.
    Count(Query),
    /// The value of a query that finds exactly one.
    Only(Query),
}

/// A comparison operator.
#[derive(Debug, Clone, Copy)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Filter {
    /// Returns whether a value passes the filter.
    pub fn holds(&self, document: &Value, current: &Value) -> bool {
        match self {
            Filter::Any(filters) => filters.iter().any(|it| it.holds(document, current)),
            Filter::All(filters) => filters.iter().all(|it| it.holds(document, current)),
            Filter::Not(inner) => !inner.holds(document, current),
            Filter::Exists(query) => !query.find(document, current).is_empty(),
            Filter::Compare(left, operator, right) => {
                let (left, right) = (left.value(document, current), right.value(document, current));
                operator.holds(left.as_deref(), right.as_deref())
            }
            Filter::Matches(operand, pattern) => {
                let value = operand.value(document, current);
                let finds = |regex: &Regex| value.as_deref().and_then(Value::as_str).is_some_and(|it| regex.find(it).unwrap_or(false));
                match pattern {
                    Pattern::Written(regex) => regex.as_ref().is_some_and(finds),
                    Pattern::Found(pattern, whole) => {
                        let pattern = pattern.value(document, current);
                        pattern.as_deref().and_then(Value::as_str).and_then(|it| regex(it, *whole)).is_some_and(|it| finds(&it))
                    }
                }
            }
        }
    }
}

/// Compiles a pattern that must match a whole string or a part of it; `None` when it is not valid.
pub(super) fn regex(pattern: &str, whole: bool) -> Option<Regex> {
    let alone = Regex::linear(pattern).ok()?;
    if whole { Regex::linear(&format!(r"\A(?:{pattern})\z")).ok() } else { Some(alone) }
}

impl Operand {
    fn value<'v>(&'v self, document: &'v Value, current: &'v Value) -> Option<Cow<'v, Value>> {
        match self {
            Operand::Literal(value) => Some(Cow::Borrowed(value)),
            Operand::Single(query) => query.find(document, current).first().copied().map(Cow::Borrowed),
            Operand::Length(of) => {
                let value = of.value(document, current)?;
                crate::json::path::length(&value).map(|it| Cow::Owned(Value::from(it)))
            }
            Operand::Count(query) => Some(Cow::Owned(Value::from(query.find(document, current).len()))),
            Operand::Only(query) => match query.find(document, current).as_slice() {
                [only] => Some(Cow::Borrowed(*only)),
                _ => None,
            },
        }
    }
}

impl Operator {
    fn holds(self, left: Option<&Value>, right: Option<&Value>) -> bool {
        let equal = || match (left, right) {
            (Some(left), Some(right)) => same(left, right),
            (left, right) => left.is_none() && right.is_none(),
        };
        let order = || left.zip(right).and_then(|(left, right)| order(left, right));
        match self {
            Operator::Equal => equal(),
            Operator::NotEqual => !equal(),
            Operator::Less => order() == Some(Ordering::Less),
            Operator::Greater => order() == Some(Ordering::Greater),
            Operator::LessOrEqual => equal() || order() == Some(Ordering::Less),
            Operator::GreaterOrEqual => equal() || order() == Some(Ordering::Greater),
        }
    }
}

/// Tests equality; numbers are equal by value, at any depth.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(_), Value::Number(_)) => order(left, right) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b))),
        _ => left == right,
    }
}

/// Orders two numbers or two strings; other values have no order.
fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
        },
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => None,
    }
}
