//! Arithmetic.

use serde_json::{Number, Value};

use super::decimal::number_from_f64;
use super::dialect::Dialect;
use super::exact::calculate_exact;
use super::type_name;

/// An operator between two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
}

/// The form of calculated numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberForm {
    /// Two integers give an integer, so that 7 / 2 is 3; others are doubles. As the original's templates calculate.
    Native,
    /// Decimals of 15 digits, so that 7 / 2 is 3.5, 0.1 + 0.2 is 0.3 and 0.3 % 0.1 is 0. Integers of more digits stay exact.
    Decimal {
        /// Whether a whole result is an integer rather than a double.
        keeps_whole: bool,
    },
}

/// Integers below it are exact as decimals of 15 digits.
const LEAST_LONG: u64 = 1_000_000_000_000_000;

impl Dialect {
    /// Calculates with two numbers, or with numeric texts where the dialect has them.
    ///
    /// # Errors
    /// An operand is no number, the divisor is 0, or the result is too large.
    pub fn calculate(&self, operator: Arithmetic, left: &Value, right: &Value) -> Result<Number, String> {
        let (Some(left), Some(right)) = (self.number_of(left), self.number_of(right)) else {
            return Err(["cannot calculate with ", type_name(Some(left)), " and ", type_name(Some(right))].concat());
        };
        let is_division = matches!(operator, Arithmetic::Divide | Arithmetic::Remainder);
        let wholes = left.as_i64().zip(right.as_i64());
        // A native double division by zero is infinite, which is no number either.
        if is_division && right.as_f64() == Some(0.0) && (wholes.is_some() || self.numbers != NumberForm::Native) {
            return Err("a number is divided by zero".to_owned());
        }
        let double = || left.as_f64().zip(right.as_f64()).map(|(left, right)| calculate_double(operator, left, right));
        let result = match (self.numbers, wholes) {
            (NumberForm::Native, Some((left, right))) => calculate_whole(operator, left, right).map(Number::from),
            (NumberForm::Native, None) => double().and_then(Number::from_f64),
            (NumberForm::Decimal { keeps_whole }, wholes) => {
                let exact = wholes.filter(|(left, right)| operator != Arithmetic::Divide || left.checked_rem(*right) == Some(0));
                let exact = exact.and_then(|(left, right)| calculate_whole(operator, left, right));
                let kept = exact.filter(|number| keeps_whole || number.unsigned_abs() >= LEAST_LONG).map(Number::from);
                let form = if keeps_whole { number_from_f64 } else { Number::from_f64 };
                let decimal = || calculate_exact(operator, &left, &right).or_else(double);
                kept.or_else(|| decimal().and_then(round_to_digits).and_then(form))
            }
        };
        result.ok_or_else(|| "the result is too large, or not a number".to_owned())
    }
}

/// Rounds to 15 significant digits, which every double represents exactly and spreadsheets use; `None` for infinity and NaN.
pub fn round_to_digits(number: f64) -> Option<f64> {
    format!("{number:.14e}").parse().ok().filter(|it: &f64| it.is_finite())
}

fn calculate_whole(operator: Arithmetic, left: i64, right: i64) -> Option<i64> {
    match operator {
        Arithmetic::Add => left.checked_add(right),
        Arithmetic::Subtract => left.checked_sub(right),
        Arithmetic::Multiply => left.checked_mul(right),
        Arithmetic::Divide => left.checked_div(right),
        Arithmetic::Remainder => left.checked_rem(right),
    }
}

fn calculate_double(operator: Arithmetic, left: f64, right: f64) -> f64 {
    match operator {
        Arithmetic::Add => left + right,
        Arithmetic::Subtract => left - right,
        Arithmetic::Multiply => left * right,
        Arithmetic::Divide => left / right,
        Arithmetic::Remainder => left % right,
    }
}
