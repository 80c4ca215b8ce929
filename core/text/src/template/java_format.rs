//! Dates and numbers in the formats of Java, which templates of the original use.

use serde_json::{Number, Value};

use crate::date::Date;
use crate::value::decimal::{Decimal, whole_up_to};
use crate::value::type_name;

/// The most characters of a short name of a month or of a day of the week.
const SHORT_NAME: usize = 3;

/// The most digits before or behind the point that a format asks for.
const MAX_DIGITS: usize = 20;

/// Formats a date, a date with a time, or milliseconds since 1970 by a pattern such as `dd.MM.yyyy HH:mm`; null stays null. A time is printed
/// as it is written, milliseconds in UTC, names in English.
///
/// # Errors
/// The value is no date, or the pattern has a letter that is not known.
pub(super) fn format_date(value: &Value, pattern: &Value) -> Result<Value, String> {
    let date = match value {
        Value::Null => return Ok(Value::Null),
        Value::String(text) => Date::parse(text),
        Value::Number(millis) => millis.as_i64().map(Date::from_millis),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let date =
        date.ok_or_else(|| format!("expected a date such as '2026-01-31' or '2026-01-31T09:00:00', found {}", type_name(Some(value))))?;
    let Value::String(pattern) = pattern else { return Err("the pattern of a date is a string, such as 'dd.MM.yyyy'".to_owned()) };
    let mut text = String::new();
    let mut rest = pattern.as_str();
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|it| it != first).unwrap_or(rest.len());
        if first == '\'' {
            rest = take_quoted(rest, &mut text);
        } else if first.is_ascii_alphabetic() {
            text.push_str(&format_field(date, first, end)?);
            rest = rest.get(end..).unwrap_or_default();
        } else {
            text.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    Ok(Value::from(text))
}

/// Adds a text in single quotes, in which a doubled quote stands for one. Returns what follows it.
fn take_quoted<'p>(rest: &'p str, text: &mut String) -> &'p str {
    let mut inside = rest.get(1..).unwrap_or_default();
    if let Some(after) = inside.strip_prefix('\'') {
        text.push('\'');
        return after;
    }
    loop {
        let (before, after) = inside.split_once('\'').unwrap_or((inside, ""));
        text.push_str(before);
        let Some(more) = after.strip_prefix('\'') else { return after };
        text.push('\'');
        inside = more;
    }
}

/// A field of a date by its letter and how often that is repeated.
fn format_field(date: Date, letter: char, count: usize) -> Result<String, String> {
    let time = date.to_civil();
    let named = |short: &str, long: &str| Ok(time.strftime(if count > SHORT_NAME { long } else { short }).to_string());
    let number: i16 = match letter {
        'y' | 'u' if count == 2 => time.year().rem_euclid(100),
        'y' | 'u' => time.year(),
        'M' | 'L' if count >= SHORT_NAME => return named("%b", "%B"),
        'M' | 'L' => time.month().into(),
        'd' => time.day().into(),
        'E' => return named("%a", "%A"),
        'a' => return Ok(if time.hour() < 12 { "AM" } else { "PM" }.to_owned()),
        'H' => time.hour().into(),
        'h' => ((time.hour() + 11) % 12 + 1).into(),
        'm' => time.minute().into(),
        's' => time.second().into(),
        'S' => date.millisecond(),
        _ => return Err(format!("unknown letter '{letter}' in the pattern of a date; put other words in quotes, as in 'dd ''of'' MMMM'")),
    };
    Ok(format!("{number:0count$}"))
}

/// Formats a number with a fewest number of digits before the point and a number of digits behind it; null stays null. `marks` are those of
/// thousands and of the point, by their names in Java. Halves round away from zero.
///
/// # Errors
/// The value is no number, or an argument is not known.
pub(super) fn format_decimal(value: &Value, least: &Value, places: &Value, marks: [&Value; 2]) -> Result<Value, String> {
    let number = match value {
        Value::Null => return Ok(Value::Null),
        Value::Number(number) => number,
        other @ (Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => {
            return Err(format!("expected a number, found {}", type_name(Some(other))));
        }
    };
    let (least, places) = (digits_of(least)?, digits_of(places)?);
    let [group, point] = marks.map(mark_of);
    Ok(Value::from(print_decimal(number, least, places, group?, point?)))
}

fn print_decimal(number: &Number, least: usize, places: usize, group: &str, point: &str) -> String {
    let mut decimal = Decimal::new(number, 0).round(places);
    decimal.whole = if decimal.whole == "0" && least == 0 { String::new() } else { format!("{:0>least$}", decimal.whole) };
    decimal.print(group, false, if point.is_empty() { "." } else { point }, places)
}

fn digits_of(value: &Value) -> Result<usize, String> {
    let digits = value.as_f64().and_then(|digits| whole_up_to(digits, MAX_DIGITS));
    digits.ok_or_else(|| format!("'#numbers.formatDecimal' needs whole numbers of digits from 0 to {MAX_DIGITS}"))
}

/// The text of a mark by its name.
fn mark_of(name: &Value) -> Result<&'static str, String> {
    match name.as_str().unwrap_or_default() {
        "POINT" => Ok("."),
        "COMMA" => Ok(","),
        "WHITESPACE" => Ok(" "),
        "NONE" => Ok(""),
        // The marks of English, since templates have no locale.
        "DEFAULT" => Ok("."),
        _ => Err("a mark of '#numbers.formatDecimal' is 'POINT', 'COMMA', 'WHITESPACE', 'NONE' or 'DEFAULT'".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn dates_have_the_patterns_of_java() {
        for (value, pattern, expected) in [
            (json!("2026-03-04"), "dd.MM.yyyy", "04.03.2026"),
            (json!("2026-03-04T05:06:07.089Z"), "d/M/yy HH:mm:ss.SSS", "4/3/26 05:06:07.089"),
            (json!("2026-03-04T17:06:07+02:00"), "h:mm a", "5:06 PM"),
            (json!("2026-03-04T00:30"), "hh:mm a", "12:30 AM"),
            (json!("2026-03-04"), "EEE, d MMM yyyy", "Wed, 4 Mar 2026"),
            (json!("1969-12-31"), "EEEE 'the' d 'o''clock' ''MMMM", "Wednesday the 31 o'clock 'December"),
            (json!(0), "yyyy-MM-dd'T'HH:mm", "1970-01-01T00:00"),
        ] {
            assert_eq!(format_date(&value, &json!(pattern)), Ok(json!(expected)), "{value} {pattern}");
        }
        assert_eq!(format_date(&json!(null), &json!("dd")), Ok(json!(null)));
        for (value, pattern) in
            [(json!("soon"), json!("dd")), (json!("2026-03-04"), json!("dd w")), (json!([]), json!("dd")), (json!(0), json!(1))]
        {
            assert!(format_date(&value, &pattern).is_err(), "{value} {pattern}");
        }
    }

    #[test]
    fn decimals_have_the_marks_of_java() {
        let format = |value: Value, least: u64, group: &str, places: u64, point: &str| {
            format_decimal(&value, &json!(least), &json!(places), [&json!(group), &json!(point)])
        };
        for (value, least, group, places, point, expected) in [
            (json!(1.005), 1, "NONE", 2, "DEFAULT", "1.01"),
            (json!(12), 3, "NONE", 2, "COMMA", "012,00"),
            (json!(1_234_567.5), 1, "COMMA", 1, "POINT", "1,234,567.5"),
            (json!(-1234), 1, "POINT", 0, "COMMA", "-1.234"),
            (json!(1234), 6, "WHITESPACE", 0, "POINT", "001 234"),
            (json!(0.5), 0, "NONE", 2, "POINT", ".50"),
        ] {
            assert_eq!(format(value.clone(), least, group, places, point), Ok(json!(expected)), "{value}");
        }
        assert_eq!(format(json!(null), 1, "NONE", 2, "POINT"), Ok(json!(null)));
        assert!(format(json!("1"), 1, "NONE", 2, "POINT").is_err() && format(json!(1), 1, "DOT", 2, "POINT").is_err());
        assert!(format(json!(1), 21, "NONE", 2, "POINT").is_err());
    }
}
