//! Equality.

use serde_json::{Map, Number, Value};

use super::decimal::parse_number;
use super::dialect::Dialect;
use super::order::compare_numbers;

/// Which texts count as numbers where a number or another such text is compared with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumericTexts {
    /// None.
    None,
    /// A sign, digits and a fraction, when compared with a number or another such text.
    Digits,
    /// Also those with an exponent, when compared with a number.
    Any,
}

impl Dialect {
    /// Whether two values are equal; `None` stands for a missing value.
    pub fn is_equal(&self, left: Option<&Value>, right: Option<&Value>) -> bool {
        match (left, right) {
            (Some(left), Some(right)) => self.are_equal(left, right),
            (None, None) => true,
            (left, right) => self.missing_is_null && left.or(right).is_some_and(Value::is_null),
        }
    }

    /// Whether two values are equal.
    pub fn are_equal(&self, left: &Value, right: &Value) -> bool {
        if let Some((left, right)) = self.numbers_of(left, right) {
            return compare_numbers(&left, &right).is_some_and(std::cmp::Ordering::is_eq);
        }
        match (left, right) {
            (Value::Bool(truth), Value::String(text)) | (Value::String(text), Value::Bool(truth)) if self.words_are_booleans => {
                self.parse_word(text) == Some(*truth)
            }
            (Value::String(left), Value::String(right)) if self.folds_case => left.to_lowercase() == right.to_lowercase(),
            (Value::Array(left), Value::Array(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(left, right)| self.are_equal(left, right))
            }
            (Value::Object(left), Value::Object(right)) => self.members_are_equal(left, right),
            (left, right) => left == right,
        }
    }

    fn members_are_equal(&self, left: &Map<String, Value>, right: &Map<String, Value>) -> bool {
        left.len() == right.len() && left.iter().all(|(name, member)| right.get(name).is_some_and(|other| self.are_equal(member, other)))
    }

    /// Returns two values as numbers, if they are compared as such.
    fn numbers_of(&self, left: &Value, right: &Value) -> Option<(Number, Number)> {
        if let (Value::Number(left), Value::Number(right)) = (left, right) {
            return Some((left.clone(), right.clone()));
        }
        match self.numeric_texts {
            NumericTexts::None => None,
            NumericTexts::Any if left.is_string() && right.is_string() => None,
            NumericTexts::Digits | NumericTexts::Any => self.number_of(left).zip(self.number_of(right)),
        }
    }

    /// Returns the number of a value: the number itself, or that of a numeric text.
    pub fn number_of(&self, value: &Value) -> Option<Number> {
        match (value, self.numeric_texts) {
            (Value::Number(number), _) => Some(number.clone()),
            (Value::String(text), NumericTexts::Digits) => parse_number(text),
            (Value::String(text), NumericTexts::Any) => {
                let text = text.trim();
                text.parse::<i64>().ok().map(Number::from).or_else(|| Number::from_f64(text.parse().ok()?))
            }
            _ => None,
        }
    }
}
