//! Parses the times and durations of talks.

use convengine_turn::Millis;

const SECOND: Millis = 1000;
const MINUTE: Millis = 60 * SECOND;
const HOUR: Millis = 60 * MINUTE;
const DAY: Millis = 24 * HOUR;

/// Units. A name comes before its own suffixes.
const UNITS: [(&str, Millis); 5] = [("ms", 1), ("s", SECOND), ("m", MINUTE), ("h", HOUR), ("d", DAY)];

/// Parses a duration such as `+45m`: an integer with `ms`, `s`, `m`, `h` or `d`.
pub(super) fn parse_duration(text: &str) -> Option<Millis> {
    let (number, unit) = UNITS.iter().find_map(|(name, unit)| Some((text.strip_prefix('+')?.strip_suffix(name)?, unit)))?;
    if number.is_empty() || !number.chars().all(|it| it.is_ascii_digit()) {
        return None;
    }
    number.parse::<Millis>().ok()?.checked_mul(*unit)
}

/// Parses a time such as `2026-01-01T09:00:00Z`.
pub(super) fn parse_instant(text: &str) -> Option<Millis> {
    let (date, clock) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = parse_numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = parse_numbers(clock, ':', [2, 2, 2])?;
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let years: Millis = (1970..year).map(|year| if is_leap_year(year) { 366 } else { 365 }).sum();
    let months: Millis = (1..month).map(|it| days_in_month(year, it)).sum();
    (year >= 1970).then_some((years + months + day - 1) * DAY + hour * HOUR + minute * MINUTE + second * SECOND)
}

fn parse_numbers(text: &str, between: char, digits: [usize; 3]) -> Option<[Millis; 3]> {
    let mut parts = text.split(between).zip(digits).map(|(part, digits)| {
        let is_valid = part.len() == digits && part.chars().all(|character| character.is_ascii_digit());
        is_valid.then(|| part.parse().ok()).flatten()
    });
    let found = [parts.next()??, parts.next()??, parts.next()??];
    (text.split(between).count() == 3).then_some(found)
}

fn is_leap_year(year: Millis) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: Millis, month: Millis) -> Millis {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year(year) => 29,
        2 => 28,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        let read = ["+850ms", "+2s", "+45m", "+1h", "+3d"].map(parse_duration);
        assert_eq!(read, [Some(850), Some(2000), Some(2_700_000), Some(3_600_000), Some(259_200_000)]);
        for bad in ["45m", "+m", "+5", "+-5m", "+1.5h", "+", "+99999999999999999d", "+5 m", "+5w"] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn instants_are_utc() {
        assert_eq!(parse_instant("2026-01-01T09:00:00Z"), Some(1_767_258_000_000));
        assert_eq!(parse_instant("2024-02-29T23:59:59Z"), Some(1_709_251_199_000));
        for bad in [
            "2026-01-01",
            "2026-1-1T09:00:00Z",
            "2026-02-29T09:00:00Z",
            "2026-13-01T09:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T09:00:00",
            "T",
            "1969-01-01T00:00:00Z",
            "2026-01-01T09:00:00:00Z",
        ] {
            assert_eq!(parse_instant(bad), None, "{bad}");
        }
    }
}
