//! Parsing, printing and rounding of numbers, based on their shortest decimal text to avoid floating-point noise.

use serde_json::Number;

/// Decimal digits that every double represents exactly.
const EXACT_DIGITS: usize = 15;

/// Returns the shortest text that parses back to the number; whole numbers have no fraction.
pub fn format_number(number: &Number) -> String {
    let mut text = number.to_string();
    if text.ends_with(".0") {
        text.truncate(text.len() - 2);
    }
    if text == "-0" { "0".to_owned() } else { text }
}

/// Parses a text of an optional sign, digits and a fraction as a number. Returns `None` for other texts and for more digits than a
/// number represents exactly.
pub fn parse_number(text: &str) -> Option<Number> {
    let text = text.trim();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let numeric = |digits: &str| !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
    if !numeric(whole) || !numeric(fraction) {
        return None;
    }
    match text.parse::<i64>() {
        Ok(number) => Some(Number::from(number)),
        Err(_) if digits.len() > EXACT_DIGITS + 1 => None,
        Err(_) => text.parse().ok().and_then(number_from_f64),
    }
}

/// Converts a double to a number, to a whole one where that is exact. Returns `None` for infinity and NaN.
pub fn number_from_f64(number: f64) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        return Some(Number::from(number as i64));
    }
    Number::from_f64(number)
}

/// Returns a whole number from 0 to `most`, such as a count of digits.
pub fn whole_up_to(number: f64, most: usize) -> Option<usize> {
    (number.fract() == 0.0 && (0.0..=most as f64).contains(&number)).then_some(number as usize)
}

/// A number as decimal digits.
pub struct Decimal {
    /// Whether it is below zero.
    pub negative: bool,
    /// The digits before the point; at least one.
    pub whole: String,
    /// The digits after the point.
    pub fraction: String,
}

impl Decimal {
    /// Creates the decimal digits of `number` times ten to the given power.
    pub fn new(number: &Number, power: i32) -> Decimal {
        let text = number.to_string();
        let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
        let negative = digits.starts_with('-');
        let (whole, fraction) = digits.trim_start_matches('-').split_once('.').unwrap_or((digits.trim_start_matches('-'), ""));
        let mut all = whole.to_owned();
        all.push_str(fraction);
        let point = exponent.parse::<i32>().unwrap_or_default() + power + i32::try_from(whole.len()).unwrap_or_default();
        if point < 1 {
            let zeros = usize::try_from(1 - point).unwrap_or_default();
            all.insert_str(0, &"0".repeat(zeros));
        }
        let point = usize::try_from(point).unwrap_or_default().max(1);
        while all.len() < point {
            all.push('0');
        }
        let (whole, fraction) = all.split_at(point);
        let whole = whole.trim_start_matches('0');
        Decimal {
            negative,
            whole: if whole.is_empty() { "0".to_owned() } else { whole.to_owned() },
            fraction: fraction.trim_end_matches('0').to_owned(),
        }
    }

    /// Rounds to at most `places` digits after the point; halves round away from zero.
    pub fn round(mut self, places: usize) -> Decimal {
        let up = self.fraction.as_bytes().get(places).is_some_and(|it| *it >= b'5');
        self.fraction.truncate(places);
        if up {
            let mut digits: Vec<u8> = self.whole.bytes().chain(self.fraction.bytes()).collect();
            let mut carry = true;
            for digit in digits.iter_mut().rev() {
                carry = *digit == b'9';
                *digit = if carry { b'0' } else { *digit + 1 };
                if !carry {
                    break;
                }
            }
            let text: String = carry.then_some('1').into_iter().chain(digits.into_iter().map(char::from)).collect();
            let (whole, fraction) = text.split_at(text.len() - self.fraction.len());
            (self.whole, self.fraction) = (whole.to_owned(), fraction.to_owned());
        }
        let end = self.fraction.trim_end_matches('0').len();
        self.fraction.truncate(end);
        self.negative &= self.whole != "0" || !self.fraction.is_empty();
        self
    }

    /// Prints the digits with a decimal point, and zeros after it up to `min_places` digits. `group` stands between thousands, or with
    /// `has_pairs` between pairs of digits above them.
    pub fn print(&self, group: &str, has_pairs: bool, point: &str, min_places: usize) -> String {
        let mut text = String::from(if self.negative { "-" } else { "" });
        for (at, digit) in self.whole.chars().enumerate() {
            let left = self.whole.len() - at;
            let is_group_end = if has_pairs && left > 3 { (left - 3).is_multiple_of(2) } else { left.is_multiple_of(3) };
            if at > 0 && is_group_end {
                text.push_str(group);
            }
            text.push(digit);
        }
        let zeros = min_places.saturating_sub(self.fraction.len());
        if zeros + self.fraction.len() > 0 {
            text.push_str(point);
            text.push_str(&self.fraction);
            text.extend(std::iter::repeat_n('0', zeros));
        }
        text
    }

    /// Converts the digits back to a number.
    pub fn to_number(&self) -> Option<Number> {
        let text = self.print("", false, ".", 0);
        text.parse::<i64>().map(Number::from).ok().or_else(|| text.parse().ok().and_then(number_from_f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn number(value: Value) -> Number {
        if let Value::Number(it) = value { it } else { unreachable!() }
    }

    #[test]
    fn numbers_are_formatted_and_parsed() {
        for (value, text) in
            [(json!(3.0), "3"), (json!(-0.5), "-0.5"), (json!(0.1), "0.1"), (json!(-0.0), "0"), (json!(u64::MAX), "18446744073709551615")]
        {
            assert_eq!(format_number(&number(value)), text);
        }
        for (text, value) in [
            (" 12 ", Some(json!(12))),
            ("+1.50", Some(json!(1.5))),
            ("-2.0", Some(json!(-2))),
            ("9007199254740993", Some(json!(9_007_199_254_740_993_i64))),
            ("12345678901234567890", None),
            ("1e3", None),
            ("", None),
            ("-", None),
            (".5", None),
            ("5.", None),
            ("--5", None),
            ("0x10", None),
            ("NaN", None),
            ("inf", None),
        ] {
            assert_eq!(parse_number(text).map(Value::Number), value, "{text}");
        }
    }

    #[test]
    fn halves_round_away_from_zero() {
        for (value, places, text) in [
            (json!(1.005), 2, "1.01"),
            (json!(-2.5), 0, "-3"),
            (json!(2.675), 2, "2.68"),
            (json!(999.995), 2, "1000"),
            (json!(-0.001), 2, "0"),
            (json!(1e21), 2, "1000000000000000000000"),
            (json!(1.5e-7), 7, "0.0000002"),
            (json!(12), 3, "12"),
            (json!(1e300), 0, "1"),
        ] {
            let decimal = Decimal::new(&number(value.clone()), 0).round(places);
            let printed = decimal.print("", false, ".", 0);
            assert!(printed == text || value == json!(1e300) && printed.len() == 301, "{value}: {printed}");
        }
        assert_eq!(Decimal::new(&number(json!(0.125)), 2).round(0).whole, "13");
        assert_eq!(Decimal::new(&number(json!(5)), -2).fraction, "05");
        assert_eq!(Decimal::new(&number(json!(1e19)), 0).to_number(), Some(number(json!(1e19))));
    }
}
