//! Units, durations and ranges of time, and the calendar.

use jiff::civil::{Date, DateTime, Time, Weekday};

use crate::number::Number;

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unit {
    Year,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    /// Three months.
    Quarter,
    /// Ten years.
    Decade,
    /// A hundred years.
    Century,
    /// Two weeks.
    Fortnight,
    /// Fifteen minutes.
    QuarterHour,
    /// Thirty minutes.
    HalfHour,
    /// Six months.
    HalfYear,
    /// Saturday and Sunday.
    Weekend,
}

impl Unit {
    /// The unit of ISO 8601 that it is counted in, and how many of it.
    pub fn base(self) -> (Unit, u64) {
        match self {
            Unit::Quarter => (Unit::Month, 3),
            Unit::Decade => (Unit::Year, 10),
            Unit::Century => (Unit::Year, 100),
            Unit::Fortnight => (Unit::Week, 2),
            Unit::QuarterHour => (Unit::Minute, 15),
            Unit::HalfHour => (Unit::Minute, 30),
            Unit::HalfYear => (Unit::Month, 6),
            other => (other, 1),
        }
    }

    fn index(self) -> Option<usize> {
        [Unit::Year, Unit::Month, Unit::Week, Unit::Day, Unit::Hour, Unit::Minute, Unit::Second].iter().position(|it| *it == self)
    }

    /// The next smaller unit that people leave out.
    fn smaller(self) -> Option<(Unit, i64)> {
        match self {
            Unit::Hour => Some((Unit::Minute, 60)),
            Unit::Minute => Some((Unit::Second, 60)),
            _ => None,
        }
    }
}

/// A part of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Am,
    Pm,
    Morning,
    Noon,
    Afternoon,
    Evening,
    Night,
}

impl Part {
    /// The hour of a day from 0 to 23 that an hour is in this part; `None` when it is not in it.
    pub fn apply(self, hour: i64) -> Option<i64> {
        let hour = match (self, hour) {
            (_, 24) => 0,
            (_, 13..) => hour,
            (Part::Am | Part::Morning, 12) => 0,
            (Part::Am | Part::Morning, _) => hour,
            (Part::Night, 12) => 0,
            (Part::Night, 6..) => hour + 12,
            (Part::Night, _) => hour,
            (Part::Noon, 11) => 11,
            (_, 12) => 12,
            (_, 0) => return None,
            (Part::Noon | Part::Pm | Part::Afternoon | Part::Evening, _) => hour + 12,
        };
        (0..24).contains(&hour).then_some(hour)
    }
}

/// A duration: how many of each unit, from years to seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Duration {
    counts: [Option<Number>; 7],
    /// The unit that was said last.
    last: Option<Unit>,
}

impl Duration {
    /// Creates a duration of one unit; `None` when it is too long.
    pub fn from_count(count: Number, unit: Unit) -> Option<Duration> {
        let (base, factor) = unit.base();
        let mut duration = Duration { counts: [None; 7], last: Some(unit) };
        *duration.counts.get_mut(base.index()?)? = Some(count.multiply(Number::from_integer(factor))?);
        Some(duration)
    }

    /// The sum of two durations; `None` when both count a unit, or the second has the larger ones.
    pub fn sum(self, other: Duration) -> Option<Duration> {
        let mut sum = self;
        for (own, more) in sum.counts.iter_mut().zip(other.counts) {
            if own.is_some() && more.is_some() {
                return None;
            }
            *own = own.or(more);
        }
        sum.last = other.last;
        Some(sum)
    }

    /// Adds a fraction of the unit that was said last.
    pub fn add_fraction(self, fraction: Number) -> Option<Duration> {
        let (base, factor) = self.last?.base();
        let mut sum = self;
        let count = sum.counts.get_mut(base.index()?)?;
        *count = Some((*count)?.add(fraction.multiply(Number::from_integer(factor))?)?);
        Some(sum)
    }

    /// Adds a number of the unit below the last.
    pub fn add_smaller(self, count: i64) -> Option<Duration> {
        let (unit, limit) = self.last?.smaller()?;
        if !(0..limit).contains(&count) {
            return None;
        }
        self.sum(Duration::from_count(Number::from_integer(count.unsigned_abs()), unit)?)
    }

    /// Whether it has hours, minutes or seconds.
    pub fn has_time(&self) -> bool {
        self.counts.iter().skip(4).any(Option::is_some)
    }

    /// Reads ISO 8601, such as `P1DT2H`, at the beginning of a text; returns its length in bytes.
    pub fn parse_iso(text: &str) -> Option<(Duration, usize)> {
        let mut duration = Duration::default();
        let bytes = text.as_bytes();
        let is = |at: usize, letter: u8| bytes.get(at).is_some_and(|it| it.eq_ignore_ascii_case(&letter));
        let mut at = usize::from(is(0, b'P'));
        let mut next_unit = 0;
        if at == 0 {
            return None;
        }
        loop {
            if next_unit <= 4 && is(at, b'T') {
                (at, next_unit) = (at + 1, 4);
            }
            let digits = text.get(at..)?.bytes().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',')).count();
            if digits == 0 {
                break;
            }
            let count = Number::parse(&text.get(at..at + digits)?.replace(',', "."))?;
            let last = if next_unit < 4 { 4 } else { 7 };
            let unit = (next_unit..last).find(|unit| is(at + digits, *b"YMWDHMS".get(*unit).unwrap_or(&0)))?;
            *duration.counts.get_mut(unit)? = Some(count);
            (at, next_unit) = (at + digits + 1, unit + 1);
        }
        let is_whole = !is(at.checked_sub(1)?, b'T') && !bytes.get(at).is_some_and(|it| it.is_ascii_alphanumeric());
        (is_whole && duration.counts.iter().any(Option::is_some)).then_some((duration, at))
    }

    /// Whether it counts weeks alone.
    pub fn is_in_weeks(&self) -> bool {
        self.counts.iter().enumerate().all(|(unit, count)| count.is_some() == (unit == 2))
    }

    /// Whether it counts days alone.
    pub fn is_in_days(&self) -> bool {
        self.counts.iter().enumerate().all(|(unit, count)| count.is_some() == (unit == 3))
    }

    /// ISO 8601; only the last count may have decimals, so that fractions which have none are said in smaller units.
    pub fn to_iso(self) -> Option<String> {
        let mut counts = self.counts;
        // A third of an hour is 20 minutes.
        for (index, factor) in [(0, 12), (1, 0), (2, 7), (3, 24), (4, 60), (5, 60)] {
            let count = counts.get(index).copied().flatten();
            let is_last = counts.iter().skip(index + 1).all(Option::is_none);
            let Some(count) = count.filter(|count| count.to_integer().is_none() && (!is_last || count.to_decimal().is_none())) else {
                continue;
            };
            if factor == 0 {
                return None;
            }
            let whole = count.floor();
            let rest = count.add(whole.negate())?.multiply(Number::from_integer(factor))?;
            let next = index + 1;
            *counts.get_mut(index)? = Some(whole).filter(|it| *it != Number::ZERO);
            let place = counts.get_mut(next)?;
            *place = Some(place.unwrap_or(Number::ZERO).add(rest)?);
        }
        let mut text = String::from("P");
        for (index, (count, letter)) in counts.iter().zip(["Y", "M", "W", "D", "H", "M", "S"]).enumerate() {
            let Some(count) = count else { continue };
            if text.contains('.') || count.is_negative() {
                return None;
            }
            if index >= 4 && !text.contains('T') {
                text.push('T');
            }
            text.push_str(&count.to_decimal()?);
            text.push_str(letter);
        }
        (text.len() > 1).then_some(text)
    }

    /// The day a duration after another (or before, with a sign of -1); `None` when it has a time or a fraction of a day.
    pub fn shift_date(self, date: Date, sign: i64) -> Option<Date> {
        if self.has_time() {
            return None;
        }
        let [years, months, weeks, days, ..] = self.counts.map(|it| it.unwrap_or(Number::ZERO));
        let months = years.multiply(Number::from_integer(12))?.add(months)?.to_integer()?;
        let days = weeks.multiply(Number::from_integer(7))?.add(days)?.to_integer()?;
        add_days(add_months(date, months.checked_mul(sign)?)?, days.checked_mul(sign)?)
    }

    /// The moment a duration after another (or before, with a sign of -1).
    pub fn shift_moment(self, moment: DateTime, sign: i64) -> Option<DateTime> {
        let time_counts = self.counts.iter().skip(4).map(|it| it.unwrap_or(Number::ZERO));
        let mut seconds = Number::ZERO;
        for (count, factor) in time_counts.zip([3600, 60, 1]) {
            seconds = seconds.add(count.multiply(Number::from_integer(factor))?)?;
        }
        let mut days = self;
        days.counts.iter_mut().skip(4).for_each(|count| *count = None);
        let date = days.shift_date(moment.date(), sign)?;
        let seconds = seconds.to_integer()?.checked_mul(sign)?;
        let moment = date.to_datetime(moment.time());
        moment.checked_add(jiff::SignedDuration::from_secs(seconds)).ok()
    }
}

/// Days from one to another; an end may be open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DayRange {
    pub from: Option<Date>,
    pub to: Option<Date>,
    /// Whether both ends were said as days of their own: `from Friday to Monday`.
    pub has_two_days: bool,
}

/// The day of a month of a year, if it exists.
pub(crate) fn day(year: i64, month: i64, day: i64) -> Option<Date> {
    let year = i16::try_from(year).ok().filter(|year| (1..=9999).contains(year))?;
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

pub(crate) fn add_days(date: Date, days: i64) -> Option<Date> {
    let span = jiff::Span::new().try_days(days).ok()?;
    date.checked_add(span).ok().filter(|date| date.year() >= 1)
}

/// The same day of a later month, or the last day of that month.
pub(crate) fn add_months(date: Date, months: i64) -> Option<Date> {
    let span = jiff::Span::new().try_months(months).ok()?;
    date.checked_add(span).ok().filter(|date| date.year() >= 1)
}

/// Easter Sunday of a year, by the Gregorian calendar.
pub(crate) fn easter(year: i64) -> Option<Date> {
    let (a, b, c) = (year % 19, year / 100, year % 100);
    let (d, e) = (b / 4, b % 4);
    let f = (b + 8) / 25;
    let g = (b - f + 1) / 3;
    let h = (19 * a + b - d - g + 15) % 30;
    let (i, k) = (c / 4, c % 4);
    let l = (32 + 2 * e + 2 * i - h - k) % 7;
    let m = (a + 11 * h + 22 * l) / 451;
    let n = h + l - 7 * m + 114;
    day(year, n / 31, n % 31 + 1)
}

/// The n-th weekday of a month, or the last one for -1. Weekdays begin with 1 for Monday.
pub(crate) fn nth_weekday(year: i64, month: i64, weekday: i8, number: i64) -> Option<Date> {
    let weekday = Weekday::from_monday_one_offset(weekday).ok()?;
    day(year, month, 1)?.nth_weekday_of_month(i8::try_from(number).ok()?, weekday).ok()
}

/// The first such weekday after a day, or the last one before it for a direction of -1.
pub(crate) fn next_weekday(day: Date, weekday: i8, direction: i32) -> Option<Date> {
    day.nth_weekday(direction, Weekday::from_monday_one_offset(weekday).ok()?).ok().filter(|found| found.year() >= 1)
}

/// A time of the day, if it exists.
pub(crate) fn time(hour: i64, minute: i64, second: i64) -> Option<Time> {
    Time::new(i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, i8::try_from(second).ok()?, 0).ok()
}

/// The year that two digits stand for.
pub(crate) fn full_year(digits: i64) -> i64 {
    if digits < 70 { 2000 + digits } else { 1900 + digits }
}
