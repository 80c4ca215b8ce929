//! The times of a schedule: a cron expression in a time zone. (docs/spec/chains.md#6)
//!
//! The expression is evaluated in local time, and each time is then an instant of its zone: a local time that is skipped when clocks go
//! forward becomes the end of the gap, and one that occurs twice counts once, at its first instant.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use super::time_zone;

/// How many candidates are tried: a doubled hour may reject one of each second.
const MAX_CANDIDATES: usize = 10_000;

/// The nicknames of Vixie cron and what they stand for; `@reboot` names no time.
const NICKNAMES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// A schedule.
///
/// ```
/// use convengine_text::cron::{CronSchedule, parse_instant};
///
/// let schedule = CronSchedule::parse("30 9 * * MON-FRI", "Europe/Berlin")?;
/// // From a Friday noon to the Monday, in the time of Berlin.
/// let next = schedule.next_after(parse_instant("2026-01-02T12:00:00Z").ok_or("invalid")?);
/// assert_eq!(next, parse_instant("2026-01-05T08:30:00Z"));
/// assert!(CronSchedule::parse("61 * * * *", "UTC").is_err() && CronSchedule::parse("@daily", "Mars/Base").is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone)]
pub struct CronSchedule {
    cron: Cron,
    zone: TimeZone,
}

impl CronSchedule {
    /// Parses a cron expression (five fields, six with seconds first, or a nickname such as `@daily`) and the IANA name of a time zone.
    ///
    /// # Errors
    /// Returns what is wrong.
    pub fn parse(expression: &str, timezone: &str) -> Result<CronSchedule, String> {
        let fields = fields_of(expression.trim())?;
        let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).dom_and_dow(needs_both_days(fields)).build();
        let cron = parser.parse(fields);
        let cron = cron.map_err(|error| format!("invalid cron expression '{expression}': {}", error.to_string().trim_end_matches('.')))?;
        let zone = time_zone::find(timezone).ok_or_else(|| format!("unknown time zone '{timezone}'"))?;
        Ok(CronSchedule { cron, zone })
    }

    /// Returns the first instant after another one; `None` when there is none.
    pub fn next_after(&self, after: i64) -> Option<i64> {
        let start = Timestamp::from_millisecond(after).ok()?;
        let mut local = self.zone.to_datetime(start);
        for _ in 0..MAX_CANDIDATES {
            local = self.cron.find_next_occurrence(&local, false).ok()?;
            let at = self.instant(local)?;
            if at > after {
                return Some(at);
            }
        }
        None
    }

    /// Returns the last instant that is not after another one, and later than `since`; `None` when there is none.
    pub fn last_until(&self, since: i64, until: i64) -> Option<i64> {
        let end = Timestamp::from_millisecond(until).ok()?;
        let mut local = self.zone.to_datetime(end);
        // In the second pass of a doubled hour, all of its local times have occurred.
        let ahead = match self.zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Fold { before, after } => i64::from(before.seconds() - after.seconds()),
            AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Gap { .. } => 0,
        };
        local = local.checked_add(jiff::Span::new().seconds(ahead + 1)).ok()?;
        for _ in 0..MAX_CANDIDATES {
            local = self.cron.find_previous_occurrence(&local, false).ok()?;
            let at = self.instant(local)?;
            if at <= until {
                return (at > since).then_some(at);
            }
        }
        None
    }

    fn instant(&self, local: DateTime) -> Option<i64> {
        time_zone::to_timestamp(&self.zone, local).map(Timestamp::as_millisecond)
    }
}

/// Returns the fields that a nickname stands for, or the expression itself.
///
/// # Errors
/// The nickname is unknown.
fn fields_of(expression: &str) -> Result<&str, String> {
    if !expression.starts_with('@') {
        return Ok(expression);
    }
    let found = NICKNAMES.iter().find(|it| it.0.eq_ignore_ascii_case(expression));
    found.map(|it| it.1).ok_or_else(|| {
        let names: Vec<&str> = NICKNAMES.iter().map(|it| it.0).collect();
        format!("invalid cron expression '{expression}': use one of {}, or five fields", names.join(", "))
    })
}

/// Whether a day has to fit both the day of the month and the day of the week: where one of them begins with a star, also with a step, as
/// in Vixie cron. Where both name days, either suffices.
fn needs_both_days(fields: &str) -> bool {
    let mut from_end = fields.split_whitespace().rev();
    let days = [from_end.next(), from_end.nth(1)];
    days.into_iter().flatten().any(|it| it.starts_with(['*', '?']))
}

/// Parses an instant in RFC 3339, or a date with or without a time of day, which are those of UTC.
pub fn parse_instant(text: &str) -> Option<i64> {
    parse_instant_in_zone(text, time_zone::UTC)
}

/// Parses an instant in RFC 3339, or a date with or without a time of day, which are those of a time zone: the end of the gap where clocks
/// skip them, the first instant where clocks show them twice. A date alone is midnight.
pub fn parse_instant_in_zone(text: &str, timezone: &str) -> Option<i64> {
    let text = text.trim();
    // The zone in brackets of RFC 9557 would be read over.
    if text.contains('[') {
        return None;
    }
    let instant = text.parse::<Timestamp>().ok();
    let local = || time_zone::to_timestamp(&time_zone::find(timezone)?, text.parse::<DateTime>().ok()?);
    instant.or_else(local).map(Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::date::Date;

    fn next(expression: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
        let schedule = CronSchedule::parse(expression, zone).unwrap();
        let mut at = parse_instant(after).unwrap();
        let mut found = Vec::new();
        for _ in 0..count {
            at = schedule.next_after(at).unwrap();
            found.push(Date::from_millis(at).to_rfc3339_millis().replace(":00.000Z", ""));
        }
        found
    }

    #[test]
    fn times_are_local() {
        assert_eq!(next("30 9 * * MON-FRI", "Europe/Berlin", "2026-07-03T08:00:00Z", 2), ["2026-07-06T07:30", "2026-07-07T07:30"]);
        assert_eq!(next("@daily", "UTC", "2026-01-01T00:00:00Z", 1), ["2026-01-02T00:00"]);
        assert_eq!(next("30 0 0 1 1 *", "UTC", "2026-01-01T00:00:00Z", 1), ["2026-01-01T00:00:30.000Z"]);
    }

    #[test]
    fn nicknames_are_those_of_vixie_cron() {
        for (nickname, expected) in [
            ("@yearly", "2027-01-01T00:00"),
            ("@annually", "2027-01-01T00:00"),
            ("@monthly", "2026-04-01T00:00"),
            ("@weekly", "2026-03-15T00:00"),
            ("@daily", "2026-03-11T00:00"),
            (" @Midnight ", "2026-03-11T00:00"),
            ("@hourly", "2026-03-10T13:00"),
        ] {
            assert_eq!(next(nickname, "UTC", "2026-03-10T12:30:00Z", 1), [expected], "{nickname}");
        }
        let error = CronSchedule::parse("@reboot", "UTC").unwrap_err();
        assert!(error.contains("'@reboot': use one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly"), "{error}");
    }

    #[test]
    fn either_day_suffices_unless_one_of_them_begins_with_a_star() {
        for (expression, expected) in [
            ("0 0 13 * FRI", ["2026-02-13T00:00", "2026-02-20T00:00"]),
            ("0 0 */2 * FRI", ["2026-02-13T00:00", "2026-02-27T00:00"]),
            ("0 0 0 */2 * FRI", ["2026-02-13T00:00", "2026-02-27T00:00"]),
            ("0 0 8-14 * */7", ["2026-02-08T00:00", "2026-03-08T00:00"]),
            ("0 0 1-31/2 * FRI", ["2026-02-09T00:00", "2026-02-11T00:00"]),
            ("0 0 * * FRI", ["2026-02-13T00:00", "2026-02-20T00:00"]),
            ("0 0 */10 * *", ["2026-02-11T00:00", "2026-02-21T00:00"]),
        ] {
            let found = next(expression, "UTC", "2026-02-07T00:00:00Z", 2);
            assert_eq!(found, expected, "{expression}");
        }
    }

    #[test]
    fn a_skipped_time_is_the_end_of_the_gap() {
        assert_eq!(next("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2), ["2026-03-29T01:00", "2026-03-30T00:30"]);
        assert_eq!(next("*/20 * * * *", "America/New_York", "2026-03-08T06:40:00Z", 2), ["2026-03-08T07:00", "2026-03-08T07:20"]);
    }

    #[test]
    fn a_doubled_time_counts_once() {
        assert_eq!(next("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2), ["2026-10-25T00:30", "2026-10-26T01:30"]);
        let hourly = next("0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", 3);
        assert_eq!(hourly, ["2026-10-25T00:00", "2026-10-25T02:00", "2026-10-25T03:00"]);
    }

    #[test]
    fn the_last_missed_time_is_found() {
        let schedule = CronSchedule::parse("0 * * * *", "UTC").unwrap();
        let at = |text: &str| parse_instant(text).unwrap();
        let (since, until) = (at("2026-01-01T00:00:00Z"), at("2026-01-01T05:30:00Z"));
        assert_eq!(schedule.last_until(since, until), Some(at("2026-01-01T05:00:00Z")));
        assert_eq!(schedule.last_until(at("2026-01-01T05:00:00Z"), until), None);
        let doubled = CronSchedule::parse("30 2 * * *", "Europe/Berlin").unwrap();
        let (first, second_pass) = (at("2026-10-25T00:30:00Z"), at("2026-10-25T01:10:00Z"));
        assert_eq!(doubled.last_until(0, second_pass), Some(first));
        let each_second = CronSchedule::parse("* * * * * *", "UTC").unwrap();
        assert_eq!((each_second.next_after(until), each_second.last_until(0, until)), (Some(until + 1000), Some(until)));
    }

    #[test]
    fn local_times_are_those_of_the_zone() {
        for (text, zone, expected) in [
            ("2026-03-29", "UTC", "2026-03-29T00:00:00Z"),
            ("2026-03-29", "Europe/Berlin", "2026-03-28T23:00:00Z"),
            ("2026-03-30", "Europe/Berlin", "2026-03-29T22:00:00Z"),
            ("2026-03-30", "Asia/Kolkata", "2026-03-29T18:30:00Z"),
            // Clocks go from midnight to one.
            ("2026-04-24", "Africa/Cairo", "2026-04-23T22:00:00Z"),
            ("2026-03-29T09:00:00+02:00", "Asia/Kolkata", "2026-03-29T07:00:00Z"),
            ("2026-03-29T09:00", "Europe/Berlin", "2026-03-29T07:00:00Z"),
            ("2026-03-29 09:00:30", "Europe/Berlin", "2026-03-29T07:00:30Z"),
            (" 2026-03-28T09:00:00.250 ", "Europe/Berlin", "2026-03-28T08:00:00.250Z"),
            ("2026-03-29T09:00", "UTC", "2026-03-29T09:00:00Z"),
            // Clocks go from two to three, and from three back to two.
            ("2026-03-29T02:30", "Europe/Berlin", "2026-03-29T01:00:00Z"),
            ("2026-10-25T02:30", "Europe/Berlin", "2026-10-25T00:30:00Z"),
        ] {
            assert_eq!(parse_instant_in_zone(text, zone), parse_instant(expected), "{text} {zone}");
        }
        assert_eq!(parse_instant_in_zone("2026-03-29", "Mars/Base"), None);
        for text in ["2026-03-29T25:00", "2026-03-29T09:00x", "09:00", "tomorrow", "2026-03-29T09:00[Asia/Kolkata]", "2026-02-30T09:00"] {
            assert_eq!(parse_instant_in_zone(text, "Europe/Berlin"), None, "{text}");
        }
    }

    #[test]
    fn invalid_schedules_are_refused() {
        for (expression, zone) in [("", "UTC"), ("* * *", "UTC"), ("61 * * * *", "UTC"), ("0 0 0 1 1 * 2030", "UTC"), ("* * * * *", "Mars")]
        {
            assert!(CronSchedule::parse(expression, zone).is_err(), "{expression} {zone}");
        }
        let never = CronSchedule::parse("0 0 30 2 *", "UTC").unwrap();
        assert_eq!(never.next_after(0), None);
    }
}
