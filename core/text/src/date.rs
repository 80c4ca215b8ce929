//! Calendar dates and times: in UTC, or in the local time of a zone.

use super::time_zone;

const DAY_MS: i64 = 86_400_000;

/// A calendar date with the time of day, of UTC unless a zone is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    /// The year.
    pub year: i64,
    /// The month, from 1.
    pub month: i64,
    /// The day of the month, from 1.
    pub day: i64,
    second: i64,
    millisecond: i64,
}

impl Date {
    /// Converts milliseconds since 1970-01-01T00:00:00Z.
    pub fn from_millis(millis: i64) -> Date {
        let days = millis.div_euclid(DAY_MS);
        let second = millis.rem_euclid(DAY_MS) / 1000;
        let millisecond = millis.rem_euclid(1000);
        // Years start in March here, so that the leap day is the last day of its year; 0000-03-01 is 719,468 days before 1970.
        let days = days + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Date { year, month, day, second, millisecond }
    }

    /// Converts milliseconds since 1970-01-01T00:00:00Z to the local time of a zone.
    pub fn in_zone(millis: i64, zone: &str) -> Date {
        Date::from_millis(millis.saturating_add(time_zone::offset_millis(zone, millis)))
    }

    /// Parses a date as [`Date::parse`] does; a time in UTC, which ends with `Z`, is converted to the local time of a zone.
    pub fn parse_in_zone(text: &str, zone: &str) -> Option<Date> {
        let date = Date::parse(text)?;
        let is_utc = text.trim().ends_with(['Z', 'z']);
        let millis = date.days_since_epoch() * DAY_MS + date.second * 1000 + date.millisecond;
        Some(if is_utc { Date::in_zone(millis, zone) } else { date })
    }

    /// Parses a date such as `2026-01-31`, with an optional RFC 3339 time. The offset is checked but ignored: date and time are
    /// taken as written.
    pub fn parse(text: &str) -> Option<Date> {
        let text = text.trim();
        let (day, time) = text.split_at_checked(10).unwrap_or((text, ""));
        let [year, month, day] = parse_numbers(day, '-', ["....", "..", ".."])?;
        let date = Date { year, month, day, second: 0, millisecond: 0 };
        // A day that is not in the calendar converts back to a different one.
        if Date::from_millis(date.days_since_epoch() * DAY_MS) != date {
            return None;
        }
        let Some(time) = time.strip_prefix(['T', 't', ' ']) else { return time.is_empty().then_some(date) };
        let clock = time.strip_suffix(['Z', 'z']).unwrap_or_else(|| {
            let at = time.len().saturating_sub(6);
            match time.split_at_checked(at) {
                Some((clock, offset))
                    if offset.strip_prefix(['+', '-']).is_some_and(|it| parse_numbers(it, ':', ["..", ".."]).is_some()) =>
                {
                    clock
                }
                Some(_) | None => time,
            }
        });
        let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
        let [hour, minute, second] = parse_numbers(clock, ':', ["..", "..", ".."])
            .or_else(|| parse_numbers(clock, ':', ["..", ".."]).map(|[hour, minute]| [hour, minute, 0]))
            .filter(|[hour, minute, second]| *hour < 24 && *minute < 60 && *second <= 60)?;
        if fraction.is_empty() || !fraction.bytes().all(|it| it.is_ascii_digit()) {
            return None;
        }
        let millisecond = fraction.bytes().chain(*b"00").take(3).fold(0, |sum, it| sum * 10 + i64::from(it - b'0'));
        Some(Date { second: hour * 3600 + minute * 60 + second.min(59), millisecond, ..date })
    }

    /// Returns the number of days since 1970-01-01.
    pub fn days_since_epoch(self) -> i64 {
        let (year, month) = if self.month > 2 { (self.year, self.month - 3) } else { (self.year - 1, self.month + 9) };
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let day_of_year = (153 * month + 2) / 5 + self.day - 1;
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
    }

    /// Formats the date with a pattern of `YYYY`, `MM`, `DD`, `HH`, `mm` and `ss`; all other characters are copied.
    pub fn format(self, pattern: &str) -> String {
        let mut out = String::new();
        let mut rest = pattern;
        while let Some(first) = rest.chars().next() {
            let parts = [
                ("YYYY", self.year),
                ("MM", self.month),
                ("DD", self.day),
                ("HH", self.second / 3600),
                ("mm", self.second / 60 % 60),
                ("ss", self.second % 60),
            ];
            let found = parts.iter().find_map(|(name, number)| Some((rest.strip_prefix(name)?, name.len(), number)));
            let (after, width, number) = match found {
                Some(found) => found,
                None => {
                    out.push(first);
                    rest = rest.get(first.len_utf8()..).unwrap_or_default();
                    continue;
                }
            };
            let digits = number.to_string();
            out.extend(std::iter::repeat_n('0', width.saturating_sub(digits.len())));
            out.push_str(&digits);
            rest = after;
        }
        out
    }

    /// Hour, minute, second and millisecond.
    pub fn clock(self) -> [i64; 4] {
        [self.second / 3600, self.second / 60 % 60, self.second % 60, self.millisecond]
    }

    /// The day and the time of day, to the second; `None` outside the years from -9999 to 9999.
    pub fn to_civil(self) -> Option<jiff::civil::DateTime> {
        let day = jiff::civil::Date::new(self.year.try_into().ok()?, self.month.try_into().ok()?, self.day.try_into().ok()?).ok()?;
        let [hour, minute, second] = [self.second / 3600, self.second / 60 % 60, self.second % 60].map(|it| i8::try_from(it).unwrap_or(0));
        Some(day.at(hour, minute, second, 0))
    }

    /// Formats the day, such as `2026-01-31`.
    pub fn to_day_string(self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }

    /// Formats day and time with milliseconds, such as `2026-01-31T09:00:00.000Z`.
    pub fn to_rfc3339_millis(self) -> String {
        let seconds = self.to_rfc3339();
        format!("{}.{:03}Z", seconds.trim_end_matches('Z'), self.millisecond)
    }

    /// Formats day and time, such as `2026-01-31T09:00:00Z`.
    pub fn to_rfc3339(self) -> String {
        format!("{}T{:02}:{:02}:{:02}Z", self.to_day_string(), self.second / 3600, self.second / 60 % 60, self.second % 60)
    }
}

/// Parses `N` numbers of fixed widths, separated by `mark`.
fn parse_numbers<const N: usize>(text: &str, mark: char, widths: [&str; N]) -> Option<[i64; N]> {
    let mut numbers = [0; N];
    let mut parts = text.split(mark);
    for (number, width) in numbers.iter_mut().zip(widths) {
        let part = parts.next().filter(|it| it.len() == width.len() && it.bytes().all(|it| it.is_ascii_digit()))?;
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
        assert_eq!(Date::from_millis(1_767_258_000_000).year, 2026);
        assert_eq!(Date::from_millis(-1).to_rfc3339_millis(), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn times_in_utc_are_converted_to_a_zone() {
        let local = |text: &str, zone: &str| Date::parse_in_zone(text, zone).unwrap().format("YYYY-MM-DD HH:mm:ss");
        for (text, zone, expected) in [
            ("2026-03-28T23:30:00Z", "UTC", "2026-03-28 23:30:00"),
            ("2026-03-28T23:30:00Z", "Europe/Berlin", "2026-03-29 00:30:00"),
            ("2026-03-29T01:00:00.000z ", "Europe/Berlin", "2026-03-29 03:00:00"),
            ("2026-01-01T00:00:00Z", "America/New_York", "2025-12-31 19:00:00"),
            ("2026-03-28T23:30:00+05:30", "Europe/Berlin", "2026-03-28 23:30:00"),
            ("2026-03-28 23:30", "Europe/Berlin", "2026-03-28 23:30:00"),
            ("2026-03-28", "Asia/Kolkata", "2026-03-28 00:00:00"),
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
            assert_eq!(Date::parse(text).map(|it| it.format("YYYY-MM-DD HH:mm:ss")).as_deref(), expected, "{text}");
        }
        assert_eq!(Date::parse("2026-03-04T05:06:07Z").unwrap().format("DD.MM.YYYY é HH-mm-ss D"), "04.03.2026 é 05-06-07 D");
        assert_eq!(Date::parse("2026-01-01T00:00:00.25Z").unwrap().to_rfc3339_millis(), "2026-01-01T00:00:00.250Z");
        for days in [-800_000, -719_469, -1, 0, 59, 60, 20_000, 1_000_000] {
            assert_eq!(Date::from_millis(days * super::DAY_MS).days_since_epoch(), days);
        }
    }
}
