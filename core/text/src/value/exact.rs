//! Sums, products and remainders of numbers as they are written, so that 100.1 - 100 is 0.1 and 0.3 % 0.1 is 0.

use serde_json::Number;

use super::arithmetic::Arithmetic;

/// A number as digits times a power of ten.
#[derive(Debug, Clone, Copy)]
struct Exact {
    digits: i128,
    exponent: i32,
}

/// Calculates with two numbers, without an error before the result becomes a double. Returns `None` for a quotient, which decimals may not
/// have, for a divisor of 0, and where the numbers are so far apart that a double is as good.
pub(super) fn calculate_exact(operator: Arithmetic, left: &Number, right: &Number) -> Option<f64> {
    let (left, right) = (Exact::new(left)?, Exact::new(right)?);
    let exponent = left.exponent.min(right.exponent);
    let aligned = || Some((left.digits_at(exponent)?, right.digits_at(exponent)?));
    let result = match operator {
        Arithmetic::Add => Exact { digits: aligned().and_then(|(left, right)| left.checked_add(right))?, exponent },
        Arithmetic::Subtract => Exact { digits: aligned().and_then(|(left, right)| left.checked_sub(right))?, exponent },
        Arithmetic::Multiply => {
            Exact { digits: left.digits.checked_mul(right.digits)?, exponent: left.exponent.checked_add(right.exponent)? }
        }
        Arithmetic::Remainder => Exact { digits: left.remainder_at(exponent, right)?, exponent },
        Arithmetic::Divide => return None,
    };
    format!("{}e{}", result.digits, result.exponent).parse().ok()
}

/// Whether a number is a multiple of another one.
pub fn is_multiple(number: &Number, step: &Number) -> bool {
    let (Some(number), Some(step)) = (Exact::new(number), Exact::new(step)) else { return false };
    number.remainder_at(number.exponent.min(step.exponent), step) == Some(0)
}

impl Exact {
    /// Reads the shortest text of a number.
    fn new(number: &Number) -> Option<Exact> {
        let text = number.to_string();
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let fraction = fraction.trim_end_matches('0');
        let digits = [whole, fraction].concat().parse().ok()?;
        let exponent = exponent.parse::<i32>().ok()?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        Some(Exact { digits, exponent })
    }

    /// Returns the digits for a smaller exponent; `None` where they are too many.
    fn digits_at(self, exponent: i32) -> Option<i128> {
        let power = u32::try_from(self.exponent.checked_sub(exponent)?).ok()?;
        if self.digits == 0 { Some(0) } else { self.digits.checked_mul(10_i128.checked_pow(power)?) }
    }

    /// Returns the digits of the remainder for the smaller exponent of both, with the sign of the dividend.
    fn remainder_at(self, exponent: i32, divisor: Exact) -> Option<i128> {
        let Some(by) = divisor.digits_at(exponent) else {
            // The divisor is greater than any number of these digits.
            return Some(self.digits);
        };
        let mut left = self.digits.checked_rem(by)?;
        for _ in exponent..self.exponent {
            left = left.checked_mul(10)?.checked_rem(by)?;
        }
        Some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_no_noise() {
        use Arithmetic::{Add, Divide, Multiply, Remainder, Subtract};
        for (left, operator, right, expected) in [
            ("0.3", Remainder, "0.1", Some(0.0)),
            ("-7.5", Remainder, "2", Some(-1.5)),
            ("5.7", Remainder, "-0.5", Some(0.2)),
            ("1e300", Remainder, "0.7", Some(0.3)),
            ("0.5", Remainder, "1e300", Some(0.5)),
            ("1e-300", Remainder, "7", Some(1e-300)),
            ("1", Remainder, "0", None),
            ("100.1", Subtract, "100", Some(0.1)),
            ("4.35", Subtract, "4.34", Some(0.01)),
            ("1.1", Add, "2.2", Some(3.3)),
            ("0.0", Add, "1e300", None),
            ("1e300", Add, "1", None),
            ("1.1", Multiply, "1.1", Some(1.21)),
            ("1e300", Multiply, "1e300", Some(f64::INFINITY)),
            ("1", Divide, "4", None),
        ] {
            let [first, second]: [Number; 2] = [left, right].map(|number| serde_json::from_str(number).unwrap());
            assert_eq!(calculate_exact(operator, &first, &second), expected, "{left} {operator:?} {right}");
        }
    }
}
