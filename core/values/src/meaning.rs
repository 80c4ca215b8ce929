//! What rules make of the values in their patterns.

use std::sync::Arc;

use jiff::civil::{Date, DateTime, Time};

use crate::action::Action;
use crate::calendar::{self, DayRange, Duration, Part, Unit, add_days, add_months};
use crate::context::{Context, Direction};
use crate::language::region_of;
use crate::number::Number;
use crate::number_marks::Marks;
use crate::value_range::{RangeEnd, ValueRange, between};

/// A value that a rule has made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Meaning {
    /// An integer: of a day, a year, an hour.
    Integer(i64),
    /// A number.
    Number(Number),
    Month(i8),
    Weekday(i8),
    Unit(Unit),
    Part(Part),
    Duration(Arc<Duration>),
    Date(Date),
    /// A day that stands for the days around it: `the end of March`. It is an end of a range, and no day alone.
    DayAround(Date),
    Time(Time),
    DateTime(DateTime),
    DateRange(DayRange),
    TimeRange(Option<Time>, Option<Time>),
    DateTimeRange(Option<DateTime>, Option<DateTime>),
    RangeEnd(Arc<RangeEnd>),
    ValueRange(Arc<ValueRange>),
    /// Words that are no value.
    Nothing,
    /// Words that are several values, of which none is meant alone.
    Several,
}

impl Meaning {
    /// Creates the meaning of a duration.
    pub fn from_duration(duration: Duration) -> Meaning {
        Meaning::Duration(Arc::new(duration))
    }
}

/// The moment and the region that values are relative to.
#[derive(Debug, Clone)]
pub(crate) struct Meanings {
    pub now: DateTime,
    pub direction: Direction,
    pub language: Arc<str>,
    pub region: Arc<str>,
    /// How the locale writes numbers.
    pub marks: Marks,
}

/// The values of a pattern, each at most once or twice.
#[derive(Default)]
struct Captured {
    integers: Vec<i64>,
    number: Option<Number>,
    months: Vec<i8>,
    weekday: Option<i8>,
    unit: Option<Unit>,
    parts: Vec<Part>,
    durations: Vec<Duration>,
    dates: Vec<Date>,
    times: Vec<Time>,
    moments: Vec<DateTime>,
}

impl Captured {
    fn new(values: &[Meaning]) -> Captured {
        let mut all = Captured::default();
        for value in values {
            match value {
                Meaning::Integer(it) => all.integers.push(*it),
                Meaning::Number(it) => all.number = Some(*it),
                Meaning::Month(it) => all.months.push(*it),
                Meaning::Weekday(it) => all.weekday = Some(*it),
                Meaning::Unit(it) => all.unit = Some(*it),
                Meaning::Part(it) => all.parts.push(*it),
                Meaning::Duration(it) => all.durations.push(**it),
                Meaning::Date(it) | Meaning::DayAround(it) => all.dates.push(*it),
                Meaning::Time(it) => all.times.push(*it),
                Meaning::DateTime(it) => all.moments.push(*it),
                Meaning::DateRange(_)
                | Meaning::TimeRange(..)
                | Meaning::DateTimeRange(..)
                | Meaning::RangeEnd(_)
                | Meaning::ValueRange(_)
                | Meaning::Nothing
                | Meaning::Several => {}
            }
        }
        all
    }

    /// The first integer that is no year.
    fn small(&self) -> Option<i64> {
        self.integers.iter().copied().find(|it| *it < 1000)
    }

    fn year(&self) -> Option<i64> {
        self.integers.iter().copied().find(|it| *it >= 1000)
    }
}

impl Meanings {
    /// Creates what the rules need of a context.
    pub fn new(context: &Context<'_>) -> Meanings {
        let language = context.locale.split(['-', '_']).next().unwrap_or_default();
        let region = region_of(context.locale);
        let marks = Marks::from_language(language, &region);
        Meanings { now: context.now, direction: context.direction, language: language.into(), region: region.into(), marks }
    }

    fn today(&self) -> Date {
        self.now.date()
    }

    fn weekday_today(&self) -> i64 {
        i64::from(self.today().weekday().to_monday_one_offset())
    }

    /// Makes a value; `None` when the values in the pattern do not go together.
    pub fn make(&self, action: Action, values: &[Meaning]) -> Option<Meaning> {
        // "abends von 6 bis 8 Uhr"
        if let (Action::FromTo | Action::From | Action::Until, Some(Meaning::Part(part))) = (action, values.first()) {
            return self.range_in(action, *part, values);
        }
        if let Some(range) = make_value_range(action, values) {
            return Some(range);
        }
        // "At the end of March at nine" names no day.
        let is_moment = matches!(action, Action::Join | Action::JoinPart(_) | Action::EndOfDay);
        if is_moment && values.iter().any(|it| matches!(it, Meaning::DayAround(_))) {
            return None;
        }
        let all = Captured::new(values);
        let date = |it: Option<Date>| it.map(Meaning::Date);
        let time = |it: Option<Time>| it.map(Meaning::Time);
        match action {
            Action::Month(it) => Some(Meaning::Month(it)),
            Action::Weekday(it) => Some(Meaning::Weekday(it)),
            Action::Unit(it) => Some(Meaning::Unit(it)),
            Action::Part(it) => Some(Meaning::Part(it)),
            Action::Same => values.iter().rev().find(|it| !matches!(it, Meaning::Weekday(_))).or(values.last()).cloned(),
            Action::Nothing | Action::NothingIf(_) => Some(Meaning::Nothing),
            Action::Several => Some(Meaning::Several),
            Action::Count => Duration::from_count(all.number.unwrap_or(Number::ONE), all.unit?).map(Meaning::from_duration),
            Action::Fraction(over, under) => {
                Duration::from_count(Number::new(over.into(), under.into())?, all.unit?).map(Meaning::from_duration)
            }
            Action::FractionOf(over, under, unit) => {
                Duration::from_count(Number::new(over.into(), under.into())?, unit).map(Meaning::from_duration)
            }
            Action::UnitOf(unit) => Duration::from_count(Number::ONE, unit).map(Meaning::from_duration),
            Action::CountOf(count) => Duration::from_count(Number::from_integer(count), all.unit?).map(Meaning::from_duration),
            Action::CountOfUnit(unit) => Duration::from_count(all.number?, unit).map(Meaning::from_duration),
            Action::CountAndFraction(over, under) => {
                let count = all.number?.add(Number::new(over.into(), under.into())?)?;
                Duration::from_count(count, all.unit?).map(Meaning::from_duration)
            }
            Action::Sum => {
                let (first, rest) = all.durations.split_first()?;
                rest.iter().try_fold(*first, |sum, it| sum.sum(*it)).map(Meaning::from_duration)
            }
            Action::AndFraction(over, under) => {
                all.durations.first()?.add_fraction(Number::new(over.into(), under.into())?).map(Meaning::from_duration)
            }
            Action::AndSmaller => all.durations.first()?.add_smaller(*all.integers.first()?).map(Meaning::from_duration),
            Action::Days(days) => date(add_days(self.today(), days.into())),
            Action::DaysByTense(days, _) => {
                date(add_days(self.today(), if self.direction == Direction::Past { -days } else { days }.into()))
            }
            Action::ComingWeekday => date(self.coming(all.weekday?)),
            Action::PastWeekday => date(calendar::next_weekday(self.today(), all.weekday?, -1)),
            Action::YearOffset(years) => Some(Meaning::Integer(i64::from(self.today().year()) + i64::from(years))),
            Action::WeekdayOfWeek(weeks) => date(self.weekday_of_week(all.weekday?, weeks)),
            Action::WeekdayPlusWeeks(weeks) => date(add_days(self.coming(all.weekday?)?, 7 * i64::from(weeks))),
            Action::WeekdayShift(sign) => {
                let duration = *all.durations.first()?;
                let to = duration.shift_date(self.today(), sign.into())?;
                let off = i64::from(all.weekday?) - i64::from(to.weekday().to_monday_one_offset());
                // Months and years say no week.
                Some(if duration.is_in_weeks() || duration.is_in_days() && off == 0 {
                    Meaning::Date(add_days(to, off)?)
                } else {
                    Meaning::Nothing
                })
            }
            Action::Calendar | Action::CalendarByTense(_) => date(self.calendar(&all)),
            Action::DayOfMonth(months) => {
                let month = add_months(self.today().first_of_month(), months.into())?;
                date(calendar::day(month.year().into(), month.month().into(), all.small()?))
            }
            Action::MonthEdge(edge, months) => date(self.month_edge(&all, edge, months)),
            Action::AroundMonthEdge(edge, months) => self.month_edge(&all, edge, months).map(Meaning::DayAround),
            Action::YearEdge(edge, years) => date(self.year_edge(&all, edge, years)),
            Action::AroundYearStart(years) => self.year_edge(&all, 1, years).map(Meaning::DayAround),
            Action::NthWeekday(number, months) => {
                let month = self.month(&all, months)?;
                let number = if number == 0 { all.small()? } else { i64::from(number) };
                date(calendar::nth_weekday(month.year().into(), month.month().into(), all.weekday?, number))
            }
            Action::Holiday(month, weekday, number) => {
                date(self.yearly(all.year(), |year| calendar::nth_weekday(year, month.into(), weekday, number.into())))
            }
            Action::DaysAfterHoliday(month, weekday, number, days) => date(
                self.yearly(all.year(), |year| add_days(calendar::nth_weekday(year, month.into(), weekday, number.into())?, days.into())),
            ),
            Action::Yearly(month, day) => date(self.yearly(all.year(), |year| calendar::day(year, month.into(), day.into()))),
            Action::Easter(days) => date(self.yearly(all.year(), |year| add_days(calendar::easter(year)?, days.into()))),
            Action::Shift(sign) => {
                let from = all.dates.first().copied().unwrap_or(self.today());
                date(all.durations.first()?.shift_date(from, sign.into()))
            }
            Action::ShiftBy(count, unit) => {
                let from = all.dates.first().copied().unwrap_or(self.today());
                date(Duration::from_count(Number::from_integer(count.unsigned_abs().into()), unit)?.shift_date(from, count.signum().into()))
            }
            Action::Clock => time(self.clock(&all)),
            Action::MinutesAfter(minutes) => time(self.around(&all, minutes.into())),
            Action::Minutes(sign) => {
                let (minutes, hour) = (*all.integers.first()?, *all.integers.get(1)?);
                let rest = Captured { integers: vec![hour], ..all };
                time(self.around(&rest, minutes * i64::from(sign)))
            }
            Action::MinutesBeforeTime => {
                let [before, hour, minute] = all.integers.as_slice() else { return None };
                let total = (hour * 60 + minute - before).rem_euclid(1440);
                time(calendar::time(total / 60, total % 60, 0))
            }
            Action::TimeIn(part) => time(self.with_part(&all, Some(part))),
            Action::EndOfDay => {
                let day = all.dates.first().copied().unwrap_or(self.today());
                Some(Meaning::DateTime(day.to_datetime(calendar::time(23, 59, 59)?)))
            }
            Action::At(hour, minute) => time(calendar::time(hour.into(), minute.into(), 0)),
            Action::Join => {
                let day = all.dates.first().copied().or_else(|| self.calendar(&all)).or_else(|| self.coming(all.weekday?))?;
                Some(Meaning::DateTime(day.to_datetime(self.with_part(&all, None)?)))
            }
            Action::JoinPart(part) => {
                let time = self.with_part(&all, Some(part))?;
                Some(Meaning::DateTime(self.night_day(*all.dates.first()?, Some(part), time)?.to_datetime(time)))
            }
            Action::JoinDays(days, part) => {
                let time = match (all.times.first(), part) {
                    (None, Some(part)) => self.time_of(*all.integers.first()?, 0, 0, &[part])?,
                    _ => self.with_part(&all, part)?,
                };
                Some(Meaning::DateTime(self.night_day(add_days(self.today(), days.into())?, part, time)?.to_datetime(time)))
            }
            Action::Now => Some(Meaning::DateTime(self.now)),
            Action::ShiftNow(sign) => {
                let duration = all.durations.first().filter(|it| it.has_time())?;
                duration.shift_moment(self.now, sign.into()).map(Meaning::DateTime)
            }
            Action::FromTo => self.range_between(&all, values),
            Action::HourTo | Action::ClockTo => {
                let (hour, minute, end) = match *all.integers.as_slice() {
                    [hour, minute, ref end @ ..] if action == Action::ClockTo => (hour, minute, end),
                    [hour, ref end @ ..] => (hour, 0, end),
                    [] => return None,
                };
                let to = self.time_of(*end.first()?, end.get(1).copied().unwrap_or(0), 0, &all.parts)?;
                // "5 to 6 pm", "11 to 2 pm"
                let both = [hour % 12 + if to.hour() >= 12 { 12 } else { 0 }, hour % 12];
                let from = both
                    .into_iter()
                    .filter(|_| hour <= 12)
                    .chain([hour])
                    .filter_map(|it| calendar::time(it, minute, 0))
                    .find(|it| *it < to);
                Some(from.map_or(Meaning::Nothing, |from| Meaning::TimeRange(Some(from), Some(to))))
            }
            Action::FromToIn(part) => self.range_within(&all, part),
            Action::FromToSameDay => {
                let [from, to] = Self::two_times(&all)?;
                Some(if from < to { Meaning::TimeRange(Some(from), Some(to)) } else { Meaning::Nothing })
            }
            Action::WeekdayToWeekday => {
                let mut weekdays =
                    values.iter().filter_map(|value| if let Meaning::Weekday(weekday) = value { Some(*weekday) } else { None });
                let (first, last) = (weekdays.next()?, weekdays.next()?);
                let from = self.coming(first)?;
                let to = add_days(from, i64::from(last - first).rem_euclid(7))?;
                (from < to).then_some(Meaning::DateRange(DayRange { from: Some(from), to: Some(to), has_two_days: true }))
            }
            Action::ClockFromTo => self.clock_from_to(&all),
            Action::From => self.open_range(values, true),
            Action::Until => self.open_range(values, false),
            Action::Period(count, unit) => self.period(count, unit).map(Meaning::DateRange),
            Action::MonthPeriod => {
                let from = self.month(&all, 0)?;
                let Some(last) = all.months.get(1) else {
                    return Some(Meaning::DateRange(DayRange { from: Some(from), to: Some(from.last_of_month()), has_two_days: false }));
                };
                // "November to January 2027"
                let turns = i64::from(*last < from.month());
                let year = i64::from(from.year()) - if all.year().is_some() { turns } else { 0 };
                let to = calendar::day(year + turns, (*last).into(), 1)?.last_of_month();
                Some(Meaning::DateRange(DayRange { from: calendar::day(year, from.month().into(), 1), to: Some(to), has_two_days: false }))
            }
            Action::YearPeriod => {
                let year = all.year()?;
                let range =
                    DayRange { from: Some(calendar::day(year, 1, 1)?), to: Some(calendar::day(year, 12, 31)?), has_two_days: false };
                Some(Meaning::DateRange(range))
            }
            Action::DaysOfMonth => {
                let [from, to] = [0, 1].map(|index| all.integers.iter().filter(|it| **it < 1000).nth(index).copied());
                if let ([first, last], Some(year)) = (all.months.as_slice(), all.year()) {
                    let to = calendar::day(year, (*last).into(), to?)?;
                    let from =
                        [year, year - 1].into_iter().filter_map(|year| calendar::day(year, (*first).into(), from?)).find(|it| *it < to)?;
                    // "March 7 to March 3, 2026" is a mistake.
                    return Some(if from.month() > *last || from.year() == to.year() {
                        Meaning::DateRange(DayRange { from: Some(from), to: Some(to), has_two_days: false })
                    } else {
                        Meaning::Nothing
                    });
                }
                let Some(month) = all.months.first().copied() else {
                    let from = self.day_alone(from?, None)?;
                    let to = (0..=1)
                        .filter_map(|months| add_months(from.first_of_month(), months))
                        .filter_map(|month| calendar::day(month.year().into(), month.month().into(), to?));
                    let to = to.into_iter().find(|it| *it > from)?;
                    return Some(Meaning::DateRange(DayRange { from: Some(from), to: Some(to), has_two_days: false }));
                };
                let end = self.yearly(all.year(), |year| calendar::day(year, month.into(), to?))?;
                let from = calendar::day(end.year().into(), month.into(), from?)?;
                (from < end).then_some(Meaning::DateRange(DayRange { from: Some(from), to: Some(end), has_two_days: false }))
            }
        }
    }

    /// The nearest weekday in the direction that is asked for; never today.
    fn coming(&self, weekday: i8) -> Option<Date> {
        let direction = match self.direction {
            Direction::Future => 1,
            Direction::Past => -1,
            Direction::Nearest if (4..7).contains(&(i64::from(weekday) - self.weekday_today()).rem_euclid(7)) => -1,
            Direction::Nearest => 1,
        };
        calendar::next_weekday(self.today(), weekday, direction)
    }

    fn weekday_of_week(&self, weekday: i8, weeks: i32) -> Option<Date> {
        add_days(self.today(), 7 * i64::from(weeks) + i64::from(weekday) - self.weekday_today())
    }

    /// The first day of the month of a pattern, or of the one so many months away.
    fn month(&self, all: &Captured, months: i32) -> Option<Date> {
        let Some(month) = all.months.first() else {
            let shifted = add_months(self.today().first_of_month(), months.into())?;
            return all.year().map_or(Some(shifted), |year| calendar::day(year, shifted.month().into(), 1));
        };
        match all.year() {
            Some(year) => calendar::day(year, (*month).into(), 1),
            None => self.yearly(None, |year| Some(calendar::day(year, (*month).into(), 1)?.last_of_month())).map(Date::first_of_month),
        }
    }

    /// The first or last day of the month of a pattern.
    fn month_edge(&self, all: &Captured, edge: i32, months: i32) -> Option<Date> {
        let first = self.month(all, months)?;
        Some(if edge > 0 { first } else { first.last_of_month() })
    }

    /// The first or last day of the year of a pattern, or of the one so many years away.
    fn year_edge(&self, all: &Captured, edge: i32, years: i32) -> Option<Date> {
        let year = all.year().unwrap_or(i64::from(self.today().year()) + i64::from(years));
        if edge > 0 { calendar::day(year, 1, 1) } else { calendar::day(year, 12, 31) }
    }

    /// The day of the nearest year in the direction that is asked for.
    pub fn yearly_day(&self, month: i64, day: i64) -> Option<Date> {
        self.yearly(None, |year| calendar::day(year, month, day))
    }

    fn calendar(&self, all: &Captured) -> Option<Date> {
        let number = all.small()?;
        let Some(month) =
            all.months.first().map(|it| i64::from(*it)).or_else(|| all.integers.iter().copied().filter(|it| *it < 1000).nth(1))
        else {
            return self.day_alone(number, all.weekday);
        };
        if let Some(year) = all.year() {
            return calendar::day(year, month, number);
        }
        self.yearly(None, |year| calendar::day(year, month, number))
    }

    /// The next day with this number, and with this weekday if one is named.
    fn day_alone(&self, number: i64, weekday: Option<i8>) -> Option<Date> {
        let first = self.today().first_of_month();
        let fits = |day: &Date| weekday.is_none_or(|weekday| day.weekday().to_monday_one_offset() == weekday);
        let month = |offset: i64| {
            let month = add_months(first, offset)?;
            calendar::day(month.year().into(), month.month().into(), number).filter(fits)
        };
        let future = || (0..=60).filter_map(month).find(|day| *day >= self.today());
        let past = || (0..=60).filter_map(|it| month(-it)).find(|day| *day <= self.today());
        // "Friday the 15th" that was lately, and comes again only in months, may be either.
        let days = |day: Date| day.duration_since(self.today()).as_hours() / 24;
        let is_doubtful = self.direction != Direction::Past
            && weekday.is_some()
            && future().is_some_and(|day| days(day) > 62)
            && past().is_some_and(|day| days(day) >= -31);
        if is_doubtful { None } else { self.choose(future, past) }
    }

    /// The day of a year, or of the nearest year in the direction that is asked for.
    fn yearly(&self, year: Option<i64>, day: impl Fn(i64) -> Option<Date>) -> Option<Date> {
        if let Some(year) = year {
            return day(year);
        }
        let now = i64::from(self.today().year());
        // February 29 may be eight years away.
        let future = || (now..=now + 8).filter_map(&day).find(|day| *day >= self.today());
        let past = || (now - 8..=now).rev().filter_map(&day).find(|day| *day <= self.today());
        self.choose(future, past)
    }

    fn choose(&self, future: impl Fn() -> Option<Date>, past: impl Fn() -> Option<Date>) -> Option<Date> {
        match self.direction {
            Direction::Future => future(),
            Direction::Past => past(),
            Direction::Nearest => {
                let seconds = |day: &Date| day.duration_since(self.today()).as_secs().unsigned_abs();
                [past(), future()].into_iter().flatten().min_by_key(seconds)
            }
        }
    }

    fn clock(&self, all: &Captured) -> Option<Time> {
        let mut integers = all.integers.iter().copied();
        let (hour, minute, second) = (integers.next()?, integers.next().unwrap_or(0), integers.next().unwrap_or(0));
        self.time_of(hour, minute, second, &all.parts)
    }

    fn time_of(&self, hour: i64, minute: i64, second: i64, parts: &[Part]) -> Option<Time> {
        if hour == 24 && minute + second > 0 {
            return None;
        }
        let hour = match parts {
            [] => hour % 24,
            parts => parts.iter().try_fold(hour, |hour, part| if hour > 12 { Some(hour) } else { part.apply(hour) })?,
        };
        if parts.iter().any(|part| matches!(part, Part::Am | Part::Pm)) && all_too_large(hour, parts) {
            return None;
        }
        calendar::time(hour, minute, second)
    }

    /// The time so many minutes after or before the hour.
    fn around(&self, all: &Captured, minutes: i64) -> Option<Time> {
        let hour = *all.integers.first()?;
        let total = (hour % 12 * 60 + minutes + if hour >= 12 { 720 } else { 0 }).rem_euclid(1440);
        let (hour, minute) = (total / 60, total % 60);
        // "quarter to one" is in the half of the day of one.
        let hour = if all.parts.is_empty() {
            hour
        } else {
            all.parts.iter().try_fold(hour, |hour, part| if hour > 12 { Some(hour) } else { part.apply(hour) })?
        };
        calendar::time(hour, minute, 0)
    }

    /// The time of a pattern, or its hour and minute, in the part of the day that is named.
    fn with_part(&self, all: &Captured, part: Option<Part>) -> Option<Time> {
        let time = match all.times.first() {
            Some(it) => *it,
            None => self.time_of(*all.integers.first()?, all.integers.get(1).copied().unwrap_or(0), 0, &[])?,
        };
        let Some(part) = part.or(all.parts.first().copied()) else { return Some(time) };
        let hour = i64::from(time.hour());
        let hour = if hour > 12 { hour } else { part.apply(hour)? };
        calendar::time(hour, time.minute().into(), time.second().into())
    }

    /// The day of a time in the night of a day: midnight is on the next one, and so is what would be gone: "tonight at 1".
    fn night_day(&self, day: Date, part: Option<Part>, time: Time) -> Option<Date> {
        let is_late = part == Some(Part::Night) && time.hour() < 6;
        let is_next = time.hour() == 0 && day > self.today() || day.to_datetime(time) < self.now;
        add_days(day, i64::from(is_late && is_next))
    }

    /// A range of times in a part of the day.
    fn range_in(&self, action: Action, part: Part, values: &[Meaning]) -> Option<Meaning> {
        let moved = values.iter().skip(1).map(|value| {
            let time = match *value {
                Meaning::Time(time) => time,
                Meaning::Integer(hour) => calendar::time(hour, 0, 0)?,
                _ => return None,
            };
            let hour = i64::from(time.hour());
            let hour = if hour > 12 { hour } else { part.apply(hour)? };
            calendar::time(hour, time.minute().into(), time.second().into()).map(Meaning::Time)
        });
        self.make(action, &moved.collect::<Option<Vec<_>>>()?)
    }

    fn range_between(&self, all: &Captured, values: &[Meaning]) -> Option<Meaning> {
        if let Some(&[from, to]) = self.days(values).as_deref() {
            let range = DayRange { from: Some(from), to: Some(to), has_two_days: true };
            return Some(if from < to { Meaning::DateRange(range) } else { Meaning::Nothing });
        }
        if let [from, to] = all.moments.as_slice() {
            return Some(if from < to { Meaning::DateTimeRange(Some(*from), Some(*to)) } else { Meaning::Nothing });
        }
        if let ([from], [to]) = (all.moments.as_slice(), all.times.as_slice()) {
            let to = from.date().to_datetime(*to);
            return (*from <= to).then_some(Meaning::DateTimeRange(Some(*from), Some(to)));
        }
        if !all.parts.is_empty() && all.times.len() + all.integers.len() == 2 {
            return Self::times_from_to(values);
        }
        // "9 bis 17 Uhr"
        if let (&[hour, ref minute @ ..], [to]) = (all.integers.as_slice(), all.times.as_slice()) {
            let from = calendar::time(hour, minute.first().copied().unwrap_or(0), 0)?;
            return Some(if from < *to { Meaning::TimeRange(Some(from), Some(*to)) } else { Meaning::Nothing });
        }
        if let [from, to] = all.times.as_slice() {
            return Some(Meaning::TimeRange(Some(*from), Some(*to)));
        }
        // "from 9 to 17:00", "from 9.30 to 17.00"; "9 to 5" has no part of the day.
        let pair = |hour: &Meaning, minute: &Meaning| match (hour, minute) {
            (Meaning::Integer(hour), Meaning::Integer(minute)) => calendar::time(hour % 24, *minute, 0),
            _ => None,
        };
        let (from, to) = match values {
            [from, to] => (Self::hour_or_time(from)?, Self::hour_or_time(to)?),
            [Meaning::Time(from), hour, minute] => (*from, pair(hour, minute)?),
            [hour, minute, Meaning::Time(to)] => (pair(hour, minute)?, *to),
            [hour, minute, to_hour, to_minute] => (pair(hour, minute)?, pair(to_hour, to_minute)?),
            _ => return None,
        };
        Some(if from < to { Meaning::TimeRange(Some(from), Some(to)) } else { Meaning::Nothing })
    }

    /// From one time or hour to another, of which each or only the last has a part of the day behind it: `from 2 to 4 in the afternoon`.
    fn times_from_to(values: &[Meaning]) -> Option<Meaning> {
        let mut times: Vec<(Time, Option<Part>)> = Vec::new();
        for value in values {
            match (value, times.last_mut()) {
                (Meaning::Time(it), _) => times.push((*it, None)),
                (Meaning::Integer(hour), _) => times.push((calendar::time(hour % 24, 0, 0)?, None)),
                (Meaning::Part(it), Some(last)) => last.1 = Some(*it),
                _ => {}
            }
        }
        let in_part = |time: Time, part: Option<Part>| {
            let hour = i64::from(time.hour());
            let hour = part.filter(|_| hour <= 12).map_or(Some(hour), |it| it.apply(hour))?;
            calendar::time(hour, time.minute().into(), time.second().into())
        };
        let [(from, from_part), (to, to_part)] = times.as_slice() else { return None };
        let to = in_part(*to, *to_part)?;
        let from = match (from_part, to_part) {
            (None, Some(_)) => in_part(*from, *to_part).filter(|it| *it < to).or(Some(*from).filter(|it| *it < to)),
            _ => in_part(*from, *from_part).filter(|from| from_part.is_none() || to_part.is_some() || *from < to),
        };
        Some(from.map_or(Meaning::Nothing, |from| Meaning::TimeRange(Some(from), Some(to))))
    }

    /// A time, or the full hour.
    fn hour_or_time(value: &Meaning) -> Option<Time> {
        match *value {
            Meaning::Time(it) => Some(it),
            Meaning::Integer(it) => calendar::time(it % 24, 0, 0),
            _ => None,
        }
    }

    /// The first two times, hours behind them.
    fn two_times(all: &Captured) -> Option<[Time; 2]> {
        let hours = all.integers.iter().filter_map(|it| calendar::time(it % 24, 0, 0));
        let mut said = all.times.iter().copied().chain(hours);
        Some([said.next()?, said.next()?])
    }

    /// The range between two times or hours in a part of the day, in which at least the second is.
    fn range_within(&self, all: &Captured, part: Part) -> Option<Meaning> {
        let [first, second] = Self::two_times(all)?;
        let within = |time: &Time| self.with_part(&Captured { times: vec![*time], ..Captured::default() }, Some(part));
        let to = within(&second);
        let from = [within(&first), Some(first)].into_iter().flatten().find(|from| to.is_some_and(|to| *from < to));
        Some(if from.is_some() { Meaning::TimeRange(from, to) } else { Meaning::Nothing })
    }

    fn clock_from_to(&self, all: &Captured) -> Option<Meaning> {
        let (first, second) = (all.parts.first().copied(), all.parts.last().copied());
        let (from, to) = match (all.times.as_slice(), all.integers.as_slice()) {
            ([from, to], _) => (*from, *to),
            (_, [from, to]) => {
                let time = |hour: i64, part: Option<Part>| self.time_of(hour, 0, 0, part.as_slice());
                // "11 to 12 in the morning" ends at noon.
                let second = second.filter(|part| *to != 12 || *part != Part::Morning);
                (time(*from, first)?, time(*to, second)?)
            }
            _ => return None,
        };
        // "10 in the night to 6 in the morning" is clear, "9 to 6" is not.
        let is_clear = from < to || first != second || first == Some(Part::Night);
        Some(if is_clear { Meaning::TimeRange(Some(from), Some(to)) } else { Meaning::Nothing })
    }

    /// The days of a pattern; a weekday alone is the coming one.
    fn days(&self, values: &[Meaning]) -> Option<Vec<Date>> {
        let days = values.iter().filter_map(|value| match *value {
            Meaning::Date(date) | Meaning::DayAround(date) => Some(Some(date)),
            Meaning::Weekday(weekday) => Some(self.coming(weekday)),
            _ => None,
        });
        days.collect()
    }

    fn open_range(&self, values: &[Meaning], is_from: bool) -> Option<Meaning> {
        fn ends<T>(value: T, is_from: bool) -> (Option<T>, Option<T>) {
            if is_from { (Some(value), None) } else { (None, Some(value)) }
        }
        let last = values.last()?;
        match *last {
            Meaning::Integer(_) => {
                let (from, to) = ends(Self::hour_or_time(last)?, is_from);
                Some(Meaning::TimeRange(from, to))
            }
            Meaning::Date(_) | Meaning::DayAround(_) | Meaning::Weekday(_) => {
                let (from, to) = ends(*self.days(values)?.last()?, is_from);
                Some(Meaning::DateRange(DayRange { from, to, has_two_days: false }))
            }
            Meaning::Time(it) => {
                let (from, to) = ends(it, is_from);
                Some(Meaning::TimeRange(from, to))
            }
            Meaning::DateTime(it) => {
                let (from, to) = ends(it, is_from);
                Some(Meaning::DateTimeRange(from, to))
            }
            _ => None,
        }
    }

    fn period(&self, count: i32, unit: Unit) -> Option<DayRange> {
        let count = i64::from(count);
        let (from, to) = match unit {
            Unit::Week => {
                let monday = add_days(self.today(), 1 - self.weekday_today() + 7 * count)?;
                (monday, add_days(monday, 6)?)
            }
            Unit::Weekend => {
                let saturday = add_days(self.today(), 6 - self.weekday_today() + 7 * count)?;
                (saturday, add_days(saturday, 1)?)
            }
            Unit::Month => {
                let first = add_months(self.today().first_of_month(), count)?;
                (first, first.last_of_month())
            }
            Unit::Year => {
                let year = i64::from(self.today().year()) + count;
                (calendar::day(year, 1, 1)?, calendar::day(year, 12, 31)?)
            }
            _ => return None,
        };
        Some(DayRange { from: Some(from), to: Some(to), has_two_days: false })
    }
}

/// What a rule makes of the ends of a range, or of two open ranges; `None` when it has none of them.
fn make_value_range(action: Action, values: &[Meaning]) -> Option<Meaning> {
    let range = match (action, values) {
        (Action::FromTo, [Meaning::RangeEnd(from), Meaning::RangeEnd(to)]) => between(from, to),
        (Action::FromTo, [Meaning::ValueRange(one), Meaning::ValueRange(other)]) => match (&one.from, &one.to, &other.from, &other.to) {
            (Some(from), None, None, Some(to)) | (None, Some(to), Some(from), None) => between(from, to),
            _ => None,
        },
        (Action::FromTo, [Meaning::ValueRange(_), _] | [_, Meaning::ValueRange(_)]) => None,
        (Action::From, [Meaning::RangeEnd(from)]) => Some(ValueRange { from: Some((**from).clone()), to: None }),
        (Action::Until, [Meaning::RangeEnd(to)]) => Some(ValueRange { from: None, to: Some((**to).clone()) }),
        _ => return None,
    };
    Some(range.map_or(Meaning::Nothing, |range| Meaning::ValueRange(Arc::new(range))))
}

/// "13 am" is not a time.
fn all_too_large(hour: i64, parts: &[Part]) -> bool {
    hour > 12 && parts.contains(&Part::Am)
}
