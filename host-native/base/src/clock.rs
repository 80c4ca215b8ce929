//! The host's clock in milliseconds since 1970, and the text formats of timestamps.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use convengine_core::turn::Millis;
use jiff::SignedDuration;
use jiff::civil::{self, Date, Time};

const DAY_MS: i64 = 86_400_000;

const EPOCH: Date = civil::date(1970, 1, 1);

/// The calendar repeats after 400 years, so that a time of any year has its equal within those of `jiff`.
const CYCLE_YEARS: i64 = 400;
const CYCLE_DAYS: i64 = 146_097;

/// How far the host's time is ahead of the system clock, in milliseconds.
static OFFSET_MS: AtomicI64 = AtomicI64::new(0);

thread_local! {
    /// The same for the threads of one of several servers in a process.
    static OWN_OFFSET_MS: Cell<Option<&'static AtomicI64>> = const { Cell::new(None) };
}

/// Returns the host's time.
pub fn now() -> Millis {
    system_now().saturating_add(offset_ms().load(Ordering::Relaxed))
}

/// Creates a clock for the threads on which the returned function is called, as those of one of several servers in a process. It is never
/// freed.
pub fn new_for_threads() -> impl Fn() + Send + Sync + 'static {
    let own: &'static AtomicI64 = Box::leak(Box::default());
    move || OWN_OFFSET_MS.set(Some(own))
}

fn offset_ms() -> &'static AtomicI64 {
    OWN_OFFSET_MS.get().unwrap_or(&OFFSET_MS)
}

/// Returns the start of the day of a time, in UTC.
pub fn start_of_day(at: Millis) -> Millis {
    at - at.rem_euclid(DAY_MS)
}

/// Sets the time of the process or of its server, which continues from there.
fn set(at: Millis) {
    offset_ms().store(at.saturating_sub(system_now()), Ordering::Relaxed);
}

/// The time of the turns of one host, which a script of its models may set.
#[derive(Debug, Default)]
pub struct TurnClock {
    offset_ms: AtomicI64,
    /// Whether other hosts of this process have a clock of their own.
    is_shared_process: bool,
}

impl TurnClock {
    /// Creates the clock of a host. In a process with several tenants a script moves the time of its own turns only; else it moves that of
    /// the whole process, with its timers.
    pub fn new(is_shared_process: bool) -> TurnClock {
        TurnClock { offset_ms: AtomicI64::new(0), is_shared_process }
    }

    /// Returns the time of turns.
    pub fn now(&self) -> Millis {
        now().saturating_add(self.offset_ms.load(Ordering::Relaxed))
    }

    /// Sets the time, which continues from there. For scripted turns with a time of their own.
    pub fn set(&self, at: Millis) {
        if self.is_shared_process {
            self.offset_ms.store(at.saturating_sub(now()), Ordering::Relaxed);
        } else {
            set(at);
        }
    }
}

fn system_now() -> Millis {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX))
}

/// Formats a time as in `ce_audit`, in UTC: `2026-01-02 03:04:05.678`.
pub fn format_audit(at: Millis) -> String {
    render(at, "-%m-%d %H:%M:%S%.3f")
}

/// Formats a time as ISO 8601 with `Z`, for clients.
pub fn format_iso(at: Millis) -> String {
    render(at, "-%m-%dT%H:%M:%S%.3fZ")
}

/// Parses every timestamp format found in databases, including those of the Java original: milliseconds, or text with a space or `T`, with
/// or without a fraction and a zone. Text without a zone is UTC.
pub fn parse(text: &str) -> Option<Millis> {
    let text = text.trim();
    if let Ok(millis) = text.parse::<i64>() {
        return Some(millis);
    }
    let (date, clock) = text.split_once([' ', 'T']).unwrap_or((text, "00:00:00"));
    let (clock, offset) = split_zone(clock)?;
    let mut parts = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut parts = clock.splitn(3, ':').map(|part| part.parse::<i64>().ok());
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = parts.next().unwrap_or(Some(0))?;
    if !(1..=31).contains(&day) || hour > 24 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = (hour * 60 + minute) * 60 + second;
    Some(days_since_epoch(year, month, day)? * DAY_MS + seconds * 1000 + parse_millis(fraction)? - offset)
}

fn split_zone(clock: &str) -> Option<(&str, i64)> {
    if let Some(clock) = clock.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(at) = clock.rfind(['+', '-']) else {
        return Some((clock, 0));
    };
    let (clock, zone) = clock.split_at(at);
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
    let hours: i64 = digits.get(..2)?.parse().ok()?;
    let minutes: i64 = digits.get(2..4).unwrap_or("0").parse().ok()?;
    Some((clock, sign * (hours * 60 + minutes) * 60_000))
}

fn parse_millis(fraction: &str) -> Option<i64> {
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    digits.parse().ok()
}

/// `after_year` is the format of what follows the year.
fn render(at: Millis, after_year: &str) -> String {
    let time = EPOCH.to_datetime(Time::midnight()).saturating_add(SignedDuration::from_millis(at.rem_euclid(CYCLE_DAYS * DAY_MS)));
    let year = i64::from(time.year()) + at.div_euclid(CYCLE_DAYS * DAY_MS) * CYCLE_YEARS;
    format!("{year:04}{}", time.strftime(after_year))
}

/// Returns the days from 1970-01-01 to a date; a day that the month does not have is one of the next month.
fn days_since_epoch(year: i64, month: i64, day: i64) -> Option<i64> {
    let first = Date::new(i16::try_from(year.rem_euclid(CYCLE_YEARS)).ok()?, i8::try_from(month).ok()?, 1).ok()?;
    Some(first.duration_since(EPOCH).as_hours() / 24 + year.div_euclid(CYCLE_YEARS) * CYCLE_DAYS + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stored_format_is_parsed() {
        let at = 1_767_323_045_678;
        for form in [
            "1767323045678",
            "2026-01-02 03:04:05.678",
            "2026-01-02T03:04:05.678Z",
            "2026-01-02T03:04:05.678123+00:00",
            "2026-01-02 05:04:05.678+02",
        ] {
            assert_eq!(parse(form), Some(at), "{form}");
        }
        assert_eq!(parse("2026-01-02 03:04:05"), Some(at - 678));
        assert_eq!(parse("2026-01-02"), Some(1_767_312_000_000));
        assert_eq!(parse("soon"), None);
        assert_eq!(parse("2026-13-02"), None);
    }

    #[test]
    fn a_script_of_a_tenant_does_not_move_the_clock_of_others() {
        let (scripted, other) = (TurnClock::new(true), TurnClock::new(true));
        scripted.set(1000);
        assert!((1000..60_000).contains(&scripted.now()));
        assert!(other.now() > 1_700_000_000_000 && now() > 1_700_000_000_000);
    }

    #[test]
    fn text_and_millis_agree() {
        for at in [0, -1, 951_782_399_999, 951_782_400_000, 1_709_164_800_000, 4_102_444_799_999] {
            assert_eq!(parse(&format_audit(at)), Some(at));
            assert_eq!(parse(&format_iso(at)), Some(at));
        }
        assert_eq!(format_audit(1_767_323_045_678), "2026-01-02 03:04:05.678");
        for (at, expected) in [
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (-62_167_219_200_001, "-001-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "10000-01-01T00:00:00.000Z"),
            (i64::MAX, "292278994-08-17T07:12:55.807Z"),
        ] {
            assert_eq!(format_iso(at), expected);
        }
        for (text, expected) in [
            ("2026-02-31", Some("2026-03-03T00:00:00.000Z")),
            ("2100-02-29", Some("2100-03-01T00:00:00.000Z")),
            ("12000-02-29", Some("12000-02-29T00:00:00.000Z")),
            ("2026-00-01", None),
            ("2026-01-32", None),
        ] {
            assert_eq!(parse(text).map(format_iso).as_deref(), expected, "{text}");
        }
    }
}
