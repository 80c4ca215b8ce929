//! A time zone: instants to local times, and back.

use jiff::civil::DateTime;
use jiff::tz::{self, AmbiguousOffset, Offset};
use jiff::{Timestamp, ToSpan};

use super::Changes;

/// A time zone.
#[derive(Debug, Clone)]
pub struct TimeZone {
    changes: Changes,
    /// What applies after the last change.
    rule: tz::TimeZone,
}

impl TimeZone {
    pub(super) fn new(rule: &str, changes: Changes) -> Option<TimeZone> {
        Some(TimeZone { changes, rule: tz::TimeZone::posix(rule).ok()? })
    }

    /// Returns how far the local time is ahead of UTC at an instant.
    pub fn offset(&self, at: Timestamp) -> Offset {
        let change = self.changes.iter().find(|it| at.as_second() < it.0);
        change.and_then(|it| Offset::from_seconds(it.1).ok()).unwrap_or_else(|| self.rule.to_offset(at))
    }

    /// Returns the local time of an instant.
    pub fn to_datetime(&self, at: Timestamp) -> DateTime {
        self.offset(at).to_datetime(at)
    }

    /// Returns the offset of a local time: the two around it if the clocks skip the time or show it twice; `None` at the ends of the
    /// calendar.
    pub fn find_offset(&self, local: DateTime) -> Option<AmbiguousOffset> {
        let day = 1.day();
        let around = [local.checked_sub(day), local.checked_add(day)];
        let [before, after] = around.map(|it| Offset::UTC.to_timestamp(it.ok()?).ok().map(|it| self.offset(it)));
        let (before, after) = (before?, after?);
        let is_shown = |offset: Offset| offset.to_timestamp(local).is_ok_and(|it| self.offset(it) == offset);
        Some(match (is_shown(before), is_shown(after)) {
            (true, false) => AmbiguousOffset::Unambiguous { offset: before },
            (false, true) => AmbiguousOffset::Unambiguous { offset: after },
            (true, true) if before == after => AmbiguousOffset::Unambiguous { offset: before },
            (true, true) => AmbiguousOffset::Fold { before, after },
            (false, false) => AmbiguousOffset::Gap { before, after },
        })
    }

    /// Returns the instant of a local time: the end of the gap if the clocks skip it, the first if they show it twice; `None` at the ends
    /// of the calendar.
    pub fn to_timestamp(&self, local: DateTime) -> Option<Timestamp> {
        match self.find_offset(local)? {
            AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => offset.to_timestamp(local).ok(),
            // With the later offset, the local time is an instant before the gap.
            AmbiguousOffset::Gap { after, .. } => self.next_change(after.to_timestamp(local).ok()?),
        }
    }

    /// Returns the first change after an instant.
    fn next_change(&self, after: Timestamp) -> Option<Timestamp> {
        match self.changes.iter().find(|it| after.as_second() < it.0) {
            Some((end, _)) => Timestamp::from_second(*end).ok(),
            None => Some(self.rule.following(after).next()?.timestamp()),
        }
    }
}
