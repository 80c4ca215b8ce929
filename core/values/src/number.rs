//! Exact numbers: what is said is stored, or nothing.

use serde_json::Value;

/// A fraction of two integers in lowest terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number {
    numerator: i128,
    /// At least 1.
    denominator: i128,
}

impl Number {
    /// Nothing.
    pub const ZERO: Number = Number { numerator: 0, denominator: 1 };
    /// A single one.
    pub const ONE: Number = Number { numerator: 1, denominator: 1 };

    /// Creates a fraction in lowest terms; `None` for a denominator of 0 and what is too large.
    pub fn new(numerator: i128, denominator: i128) -> Option<Number> {
        if denominator == 0 {
            return None;
        }
        let divisor = greatest_common_divisor(numerator.unsigned_abs(), denominator.unsigned_abs());
        let divisor = i128::try_from(divisor).ok()?.max(1) * denominator.signum();
        Some(Number { numerator: numerator / divisor, denominator: denominator / divisor })
    }

    /// Creates a whole number.
    pub fn from_integer(value: u64) -> Number {
        Number { numerator: i128::from(value), denominator: 1 }
    }

    /// Parses digits with an optional point; `None` when there are too many.
    pub fn parse(digits: &str) -> Option<Number> {
        let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
        let numerator: i128 = format!("{whole}{decimals}").parse().ok()?;
        Number::new(numerator, 10_i128.checked_pow(u32::try_from(decimals.len()).ok()?)?)
    }

    /// The sum; `None` when it is too large.
    pub fn add(self, other: Number) -> Option<Number> {
        let left = self.numerator.checked_mul(other.denominator)?;
        let right = other.numerator.checked_mul(self.denominator)?;
        Number::new(left.checked_add(right)?, self.denominator.checked_mul(other.denominator)?)
    }

    /// The product; `None` when it is too large.
    pub fn multiply(self, other: Number) -> Option<Number> {
        Number::new(self.numerator.checked_mul(other.numerator)?, self.denominator.checked_mul(other.denominator)?)
    }

    /// The quotient; `None` for a divisor of 0 and when it is too large.
    pub fn divide(self, other: Number) -> Option<Number> {
        self.multiply(Number::new(other.denominator, other.numerator)?)
    }

    /// The number with the other sign.
    pub fn negate(self) -> Number {
        Number { numerator: -self.numerator, ..self }
    }

    /// A power of ten.
    pub fn power_of_ten(exponent: i32) -> Option<Number> {
        let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
        if exponent < 0 { Number::new(1, power) } else { Number::new(power, 1) }
    }

    /// Whether it is below 0.
    pub fn is_negative(self) -> bool {
        self.numerator < 0
    }

    /// The greatest integer that is not above.
    pub fn floor(self) -> Number {
        Number { numerator: self.numerator.div_euclid(self.denominator), denominator: 1 }
    }

    /// The integer; `None` for a fraction.
    pub fn to_integer(self) -> Option<i64> {
        if self.denominator == 1 { i64::try_from(self.numerator).ok() } else { None }
    }

    /// The decimal digits; `None` when they do not end, or are more than 30.
    pub fn to_decimal(self) -> Option<String> {
        let places = (0..=30_u32).find(|places| 10_i128.checked_pow(*places).is_some_and(|power| power % self.denominator == 0))?;
        let scaled = self.numerator.checked_mul(10_i128.checked_pow(places)? / self.denominator)?;
        let digits = format!("{:0>width$}", scaled.unsigned_abs(), width = places as usize + 1);
        let (whole, decimals) = digits.split_at_checked(digits.len() - places as usize)?;
        let sign = if scaled < 0 { "-" } else { "" };
        Some(if decimals.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{decimals}") })
    }

    /// The JSON number, an integer if it is one; `None` when an integer would lose digits.
    pub fn to_json(self) -> Option<Value> {
        if self.denominator == 1 {
            return i64::try_from(self.numerator).map(Value::from).or_else(|_| u64::try_from(self.numerator).map(Value::from)).ok();
        }
        let number: f64 = match self.to_decimal() {
            Some(decimal) => decimal.parse().ok()?,
            None => self.numerator as f64 / self.denominator as f64,
        };
        (number.is_finite() && (number.fract() != 0.0 || number.abs() < 9e15)).then(|| Value::from(number))
    }
}

fn greatest_common_divisor(mut one: u128, mut other: u128) -> u128 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_exact() {
        let third = Number::new(1, 3).unwrap();
        assert_eq!(third.multiply(Number::from_integer(6)).and_then(Number::to_integer), Some(2));
        assert_eq!(Number::parse("1.50").unwrap().to_decimal().unwrap(), "1.5");
        assert_eq!(Number::parse("0.05").unwrap().negate().to_decimal().unwrap(), "-0.05");
        assert_eq!(Number::parse("18446744073709551615").unwrap().to_json(), Some(json!(u64::MAX)));
        assert_eq!(Number::parse("123456789012345678901").unwrap().to_json(), None);
        assert_eq!(third.to_json(), Some(json!(1.0 / 3.0)));
        assert_eq!((third.to_decimal(), Number::new(1, 0), Number::parse(&"9".repeat(50))), (None, None, None));
    }
}
