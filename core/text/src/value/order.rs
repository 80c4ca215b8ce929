//! Order, and the comparisons that are built on it and on equality.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::dialect::Dialect;

/// Which values have an order, beside numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a kind of value")]
pub struct Orderable {
    /// Two texts, by their characters.
    pub texts: bool,
    /// Numeric texts, as numbers.
    pub numeric_texts: bool,
    /// Two booleans, false first.
    pub booleans: bool,
    /// Null and a missing value, before all others.
    pub null_first: bool,
    /// Equal values without an order, for `<=` and `>=`.
    pub equals: bool,
}

/// A comparison of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
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
}

/// The signs of comparisons in all languages; longer signs come before their prefixes.
pub const COMPARISON_SIGNS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

impl Dialect {
    /// Orders two values; `None` when they have no order.
    pub fn compare(&self, left: Option<&Value>, right: Option<&Value>) -> Option<Ordering> {
        let Orderable { texts, numeric_texts, booleans, null_first, equals: _ } = self.orderable;
        let (left, right) = (left.unwrap_or(&Value::Null), right.unwrap_or(&Value::Null));
        if null_first && (left.is_null() || right.is_null()) {
            return Some(right.is_null().cmp(&left.is_null()));
        }
        match (left, right) {
            (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
            (Value::Bool(left), Value::Bool(right)) if booleans => Some(left.cmp(right)),
            (left, right) => {
                let numbers = if numeric_texts { self.number_of(left).zip(self.number_of(right)) } else { None };
                match (numbers, left, right) {
                    (Some((left, right)), ..) => compare_numbers(&left, &right),
                    (None, Value::String(left), Value::String(right)) if texts => Some(left.cmp(right)),
                    _ => None,
                }
            }
        }
    }

    /// Whether a comparison is true; `None` when it asks for an order that the values do not have.
    pub fn satisfies(&self, comparison: Comparison, left: Option<&Value>, right: Option<&Value>) -> Option<bool> {
        match comparison {
            Comparison::Equal => return Some(self.is_equal(left, right)),
            Comparison::NotEqual => return Some(!self.is_equal(left, right)),
            Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual => {}
        }
        let equal = || Some(Ordering::Equal).filter(|_| self.orderable.equals && self.is_equal(left, right));
        self.compare(left, right).or_else(equal).map(|it| comparison.includes(it))
    }
}

impl Comparison {
    /// Whether values of this order satisfy the comparison.
    pub fn includes(self, order: Ordering) -> bool {
        match self {
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        }
    }
}

/// Orders two numbers: integers exactly, others as doubles.
pub(super) fn compare_numbers(left: &Number, right: &Number) -> Option<Ordering> {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}
