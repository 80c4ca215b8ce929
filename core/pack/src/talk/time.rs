//! Parses the times and durations of talks.

use convengine_turn::Millis;
use jiff::civil::{self, DateTime};

const EPOCH: DateTime = civil::datetime(1970, 1, 1, 0, 0, 0, 0);

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
    let time: DateTime = text.strip_suffix('Z')?.parse().ok()?;
    let millis = time.duration_since(EPOCH).as_secs() * SECOND;
    // No other notation of the same time, and no part of a second, which talks do not have.
    (format!("{time}Z") == text && time.subsec_nanosecond() == 0 && millis >= 0).then_some(millis)
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
        assert_eq!(parse_instant("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse_instant("9999-12-31T23:59:59Z"), Some(253_402_300_799_000));
        for bad in [
            "2026-01-01",
            "2026-1-1T09:00:00Z",
            "2026-02-29T09:00:00Z",
            "2026-13-01T09:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T09:00:00",
            "2026-01-01 09:00:00Z",
            "2026-01-01T09:00Z",
            "2026-01-01T09:00:00.5Z",
            "2026-01-01T23:59:60Z",
            "T",
            "1969-01-01T00:00:00Z",
            "2026-01-01T09:00:00:00Z",
        ] {
            assert_eq!(parse_instant(bad), None, "{bad}");
        }
    }
}
