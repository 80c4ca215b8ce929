//! Calendar dates and times: in UTC, or in the local time of a zone.

use jiff::civil::{self, DateTime, Time};
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};

use super::locale::weekday_names;
use super::scanner::CharScanner;
use super::time_zone;

const EPOCH: civil::Date = civil::date(1970, 1, 1);

/// A calendar date with the time of day to the millisecond, of UTC unless a zone is named. It is within the years from -9999 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date(DateTime);

impl Date {
    /// Converts milliseconds since 1970-01-01T00:00:00Z; an instant outside of the calendar becomes its first or its last one.
    pub fn from_millis(millis: i64) -> Date {
        Date(DateTime::from(EPOCH).saturating_add(SignedDuration::from_millis(millis)))
    }

    /// Converts milliseconds since 1970-01-01T00:00:00Z to the local time of a zone; to UTC if the zone is unknown, and at the ends of the
    /// calendar, where local times may be outside of it.
    pub fn in_zone(millis: i64, zone: &str) -> Date {
        let instant = Timestamp::from_millisecond(millis);
        instant.map_or(Date::from_millis(millis), |instant| Date(time_zone::find_or_utc(zone).to_datetime(instant)))
    }

    /// Parses a date as [`Date::parse`] does; a time in UTC, which ends with `Z`, is converted to the local time of a zone.
    pub fn parse_in_zone(text: &str, zone: &str) -> Option<Date> {
        let date = Date::parse(text)?;
        if !text.trim().ends_with(['Z', 'z']) {
            return Some(date);
        }
        let instant = Offset::UTC.to_timestamp(date.0);
        Some(instant.map_or(date, |instant| Date(time_zone::find_or_utc(zone).to_datetime(instant))))
    }

    /// Parses a date such as `2026-01-31`, with an optional RFC 3339 time. The offset is checked but ignored: date and time are
    /// taken as written.
    pub fn parse(text: &str) -> Option<Date> {
        let text = text.trim();
        let (day, time) = text.split_at_checked(10).unwrap_or((text, ""));
        let [year, month, day] = parse_numbers(day, '-', ["....", "..", ".."])?;
        let day = civil::Date::new(year, month.try_into().ok()?, day.try_into().ok()?).ok()?;
        let Some(time) = time.strip_prefix(['T', 't', ' ']) else { return time.is_empty().then_some(Date(day.into())) };
        let clock = time.strip_suffix(['Z', 'z']).unwrap_or_else(|| {
            let at = time.len().saturating_sub(6);
            match time.split_at_checked(at) {
                Some((clock, offset))
                    if offset.strip_prefix(['+', '-']).is_some_and(|offset| parse_numbers(offset, ':', ["..", ".."]).is_some()) =>
                {
                    clock
                }
                Some(_) | None => time,
            }
        });
        let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
        let [hour, minute, second] = parse_numbers(clock, ':', ["..", "..", ".."])
            .or_else(|| parse_numbers(clock, ':', ["..", ".."]).map(|[hour, minute]| [hour, minute, 0]))
            .filter(|[_, _, second]| *second <= 60)?;
        if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let millisecond = fraction.bytes().chain(*b"00").take(3).fold(0, |sum, byte| sum * 10 + i32::from(byte - b'0'));
        let [hour, minute, second] = [hour, minute, second.min(59)].map(|number| i8::try_from(number).unwrap_or(i8::MAX));
        Some(Date(day.to_datetime(Time::new(hour, minute, second, millisecond * 1_000_000).ok()?)))
    }

    /// Returns the day and the time of day, to the second.
    pub fn to_civil(self) -> DateTime {
        self.0.date().at(self.0.hour(), self.0.minute(), self.0.second(), 0)
    }

    /// Returns the year.
    pub fn year(self) -> i16 {
        self.0.year()
    }

    /// Returns the milliseconds after the full second.
    pub fn millisecond(self) -> i16 {
        self.0.millisecond()
    }

    /// Returns the number of days since 1970-01-01.
    pub fn days_since_epoch(self) -> i64 {
        self.0.date().duration_since(EPOCH).as_hours() / 24
    }

    /// Formats the date with a pattern of `YYYY`, `MM`, `DD`, `HH`, `mm` and `ss`, and of `dddd` and `ddd` for the long and the short name of
    /// the day of the week in the language of a locale; all other characters are copied.
    pub fn format(self, pattern: &str, locale: &str) -> String {
        let time = self.0;
        let fields = [
            ("YYYY", time.year()),
            ("MM", time.month().into()),
            ("DD", time.day().into()),
            ("HH", time.hour().into()),
            ("mm", time.minute().into()),
            ("ss", time.second().into()),
        ];
        let weekday = usize::try_from(time.weekday().to_monday_zero_offset()).unwrap_or_default();
        let [long, short] = weekday_names(weekday, locale);
        let mut out = String::new();
        let mut scan = CharScanner::new(pattern);
        loop {
            if let Some((_, name)) = [("dddd", long), ("ddd", short)].into_iter().find(|it| scan.eat(it.0)) {
                out.push_str(name);
                continue;
            }
            match fields.iter().find(|(name, _)| scan.eat(name)) {
                Some((name, number)) => out.push_str(&format!("{number:0width$}", width = name.len())),
                None => match scan.take_character() {
                    Some(other) => out.push(other),
                    None => return out,
                },
            }
        }
    }

    /// Formats the day, such as `2026-01-31`.
    pub fn to_day_string(self) -> String {
        self.0.date().to_string()
    }

    /// Formats day and time with milliseconds, such as `2026-01-31T09:00:00.000Z`.
    pub fn to_rfc3339_millis(self) -> String {
        format!("{:.3}Z", self.0)
    }

    /// Formats day and time, such as `2026-01-31T09:00:00Z`.
    pub fn to_rfc3339(self) -> String {
        format!("{:.0}Z", self.0)
    }
}

/// Parses `N` numbers of fixed widths, separated by `mark`.
fn parse_numbers<const N: usize>(text: &str, mark: char, widths: [&str; N]) -> Option<[i16; N]> {
    let mut numbers = [0; N];
    let mut parts = text.split(mark);
    for (number, width) in numbers.iter_mut().zip(widths) {
        let part = parts.next().filter(|part| part.len() == width.len() && part.bytes().all(|byte| byte.is_ascii_digit()))?;
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}

/// Returns the length of an ISO 8601 duration in seconds; a month counts as 30 days and a year as 365.
pub fn parse_duration_seconds(text: &str) -> Option<f64> {
    let rest = text.strip_prefix('P')?;
    let (days, time) = rest.split_once('T').unwrap_or((rest, ""));
    let sum = |text: &str, units: &[(char, f64)]| -> Option<f64> {
        let mut total = 0.0;
        for part in text.split_inclusive(|it: char| it.is_ascii_alphabetic()) {
            let unit = part.chars().last()?;
            let number: f64 = part.trim_end_matches(unit).parse().ok()?;
            total += number * units.iter().find(|it| it.0 == unit)?.1;
        }
        Some(total)
    };
    let days = sum(days, &[('Y', 31_536_000.0), ('M', 2_592_000.0), ('W', 604_800.0), ('D', 86_400.0)])?;
    Some(days + sum(time, &[('H', 3600.0), ('M', 60.0), ('S', 1.0)])?)
}

#[cfg(test)]
mod tests {
    use super::Date;

    #[test]
    fn milliseconds_are_converted_to_dates() {
        for (millis, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_767_258_061_999, "2026-01-01T09:01:01Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
            (-62_162_035_200_001, "0000-02-29T23:59:59Z"),
        ] {
            assert_eq!(Date::from_millis(millis).to_rfc3339(), expected, "{millis}");
        }
        assert_eq!(Date::from_millis(1_767_258_000_000).year(), 2026);
        assert_eq!(Date::from_millis(-1).to_rfc3339_millis(), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn times_in_utc_are_converted_to_a_zone() {
        let local = |text: &str, zone: &str| Date::parse_in_zone(text, zone).unwrap().format("YYYY-MM-DD HH:mm:ss", "en");
        for (text, zone, expected) in [
            ("2026-03-28T23:30:00Z", "UTC", "2026-03-28 23:30:00"),
            ("2026-03-28T23:30:00Z", "Europe/Berlin", "2026-03-29 00:30:00"),
            ("2026-03-29T01:00:00.000z ", "Europe/Berlin", "2026-03-29 03:00:00"),
            ("2026-01-01T00:00:00Z", "America/New_York", "2025-12-31 19:00:00"),
            ("2026-03-28T23:30:00+05:30", "Europe/Berlin", "2026-03-28 23:30:00"),
            ("2026-03-28 23:30", "Europe/Berlin", "2026-03-28 23:30:00"),
            ("2026-03-28", "Asia/Kolkata", "2026-03-28 00:00:00"),
            ("9999-12-31T23:59:59Z", "Asia/Kolkata", "9999-12-31 23:59:59"),
        ] {
            assert_eq!(local(text, zone), expected, "{text} {zone}");
        }
        assert_eq!(Date::parse_in_zone("tomorrow", "Asia/Kolkata"), None);
        assert_eq!(Date::in_zone(1_767_225_599_999, "Asia/Kolkata").to_rfc3339_millis(), "2026-01-01T05:29:59.999Z");
    }

    #[test]
    fn dates_are_parsed_and_formatted() {
        for (text, expected) in [
            ("2026-01-31", Some("2026-01-31 00:00:00")),
            ("2024-02-29T23:59:58Z", Some("2024-02-29 23:59:58")),
            ("2026-01-31T09:05:07.25+02:00", Some("2026-01-31 09:05:07")),
            (" 2026-01-31 09:05 ", Some("2026-01-31 09:05:00")),
            ("2026-02-29", None),
            ("2026-13-01", None),
            ("2026-1-31", None),
            ("2026-01-31T25:00:00Z", None),
            ("2026-01-31T09:00:00.Z", None),
            ("2026-01-31x", None),
            ("tomorrow", None),
            ("2026-01-3é", None),
            ("", None),
        ] {
            assert_eq!(Date::parse(text).map(|it| it.format("YYYY-MM-DD HH:mm:ss", "en")).as_deref(), expected, "{text}");
        }
        assert_eq!(Date::parse("2026-03-04T05:06:07Z").unwrap().format("DD.MM.YYYY é HH-mm-ss D", "en"), "04.03.2026 é 05-06-07 D");
        for (day, locale, expected) in [
            ("2026-12-04", "de-DE", "Freitag, 04.12., Fr"),
            ("2026-12-06", "fr", "dimanche, 06.12., dim."),
            ("2026-12-07", "sv", "Monday, 07.12., Mon"),
        ] {
            assert_eq!(Date::parse(day).unwrap().format("dddd, DD.MM., ddd", locale), expected);
        }
        assert_eq!(Date::parse("2026-01-01T00:00:00.25Z").unwrap().to_rfc3339_millis(), "2026-01-01T00:00:00.250Z");
        for days in [-800_000, -719_469, -1, 0, 59, 60, 20_000, 1_000_000] {
            assert_eq!(Date::from_millis(days * 86_400_000).days_since_epoch(), days);
        }
        // The last moment stands for "never".
        for (millis, expected) in
            [(i64::MIN, "-009999-01-01T00:00:00Z"), (253_402_300_799_999, "9999-12-31T23:59:59Z"), (i64::MAX, "9999-12-31T23:59:59Z")]
        {
            assert_eq!(Date::from_millis(millis).to_rfc3339(), expected);
            assert_eq!(Date::in_zone(millis, "Europe/Berlin").to_rfc3339(), expected);
        }
    }
}
