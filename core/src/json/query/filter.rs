//! Filter expressions of RFC 9535 with its five functions.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use super::Query;
use crate::text::regex::Regex;

/// A filter expression.
#[derive(Debug, Clone)]
pub(super) enum QueryFilter {
    Any(Vec<QueryFilter>),
    All(Vec<QueryFilter>),
    Not(Box<QueryFilter>),
    /// The query finds something, even null.
    Exists(Query),
    Compare(QueryOperand, QueryOperator, QueryOperand),
    /// The string matches the pattern, entirely or in part.
    Matches(QueryOperand, QueryPattern),
}

/// A pattern.
#[derive(Debug, Clone)]
pub(super) enum QueryPattern {
    /// A literal; `None` when it is not a valid pattern.
    Literal(Option<Regex>),
    /// A pattern from the document, and whether it must match the whole string.
    Dynamic(QueryOperand, bool),
}

/// One side of a comparison.
#[derive(Debug, Clone)]
pub(super) enum QueryOperand {
    Literal(Value),
    /// A singular query.
    SingularQuery(Query),
    /// The length of a string, a list or an object.
    Length(Box<QueryOperand>),
    /// The number of values that a query finds.
    Count(Query),
    /// The value of a query that finds exactly one.
    OnlyValue(Query),
}

/// A comparison operator.
#[derive(Debug, Clone, Copy)]
pub(super) enum QueryOperator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl QueryFilter {
    /// Returns whether a value passes the filter.
    pub fn matches(&self, document: &Value, current: &Value) -> bool {
        match self {
            QueryFilter::Any(filters) => filters.iter().any(|it| it.matches(document, current)),
            QueryFilter::All(filters) => filters.iter().all(|it| it.matches(document, current)),
            QueryFilter::Not(inner) => !inner.matches(document, current),
            QueryFilter::Exists(query) => !query.find(document, current).is_empty(),
            QueryFilter::Compare(left, operator, right) => {
                let (left, right) = (left.resolve(document, current), right.resolve(document, current));
                operator.is_satisfied(left.as_deref(), right.as_deref())
            }
            QueryFilter::Matches(operand, pattern) => {
                let value = operand.resolve(document, current);
                let finds = |regex: &Regex| value.as_deref().and_then(Value::as_str).is_some_and(|it| regex.is_match(it).unwrap_or(false));
                match pattern {
                    QueryPattern::Literal(regex) => regex.as_ref().is_some_and(finds),
                    QueryPattern::Dynamic(pattern, whole) => {
                        let pattern = pattern.resolve(document, current);
                        pattern.as_deref().and_then(Value::as_str).and_then(|it| compile_pattern(it, *whole)).is_some_and(|it| finds(&it))
                    }
                }
            }
        }
    }
}

/// Compiles a pattern that must match a whole string or a part of it; `None` when it is not valid.
pub(super) fn compile_pattern(pattern: &str, whole: bool) -> Option<Regex> {
    let alone = Regex::new_linear(pattern).ok()?;
    if whole { Regex::new_linear(&format!(r"\A(?:{pattern})\z")).ok() } else { Some(alone) }
}

impl QueryOperand {
    fn resolve<'v>(&'v self, document: &'v Value, current: &'v Value) -> Option<Cow<'v, Value>> {
        match self {
            QueryOperand::Literal(value) => Some(Cow::Borrowed(value)),
            QueryOperand::SingularQuery(query) => query.find(document, current).first().copied().map(Cow::Borrowed),
            QueryOperand::Length(of) => {
                let value = of.resolve(document, current)?;
                crate::json::path::length(&value).map(|it| Cow::Owned(Value::from(it)))
            }
            QueryOperand::Count(query) => Some(Cow::Owned(Value::from(query.find(document, current).len()))),
            QueryOperand::OnlyValue(query) => match query.find(document, current).as_slice() {
                [only] => Some(Cow::Borrowed(*only)),
                _ => None,
            },
        }
    }
}

impl QueryOperator {
    fn is_satisfied(self, left: Option<&Value>, right: Option<&Value>) -> bool {
        let equal = || match (left, right) {
            (Some(left), Some(right)) => is_equal(left, right),
            (left, right) => left.is_none() && right.is_none(),
        };
        let order = || left.zip(right).and_then(|(left, right)| compare_values(left, right));
        match self {
            QueryOperator::Equal => equal(),
            QueryOperator::NotEqual => !equal(),
            QueryOperator::Less => order() == Some(Ordering::Less),
            QueryOperator::Greater => order() == Some(Ordering::Greater),
            QueryOperator::LessOrEqual => equal() || order() == Some(Ordering::Less),
            QueryOperator::GreaterOrEqual => equal() || order() == Some(Ordering::Greater),
        }
    }
}

/// Tests equality; numbers are equal by value, at any depth.
fn is_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(_), Value::Number(_)) => compare_values(left, right) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b)),
        (Value::Object(a), Value::Object(b)) => a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_equal(a, b))),
        _ => left == right,
    }
}

/// Orders two numbers or two strings; other values have no order.
fn compare_values(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
        },
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => None,
    }
}
