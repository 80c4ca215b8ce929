//! Actions: what a rule makes of the values in its pattern.

use crate::calendar::{Part, Unit};

/// What a rule makes of the values in its pattern.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Action {
    /// The month with this number.
    Month(i8),
    /// The weekday with this number, from 1 for Monday.
    Weekday(i8),
    /// A unit of time.
    Unit(Unit),
    /// A part of the day.
    Part(Part),
    /// The value in the pattern.
    Same,
    /// A number, or one, of a unit.
    Count,
    /// A fraction of a unit: `half an hour`.
    Fraction(i64, i64),
    /// A fraction of this unit, where both are one word: Italian `mezzora`.
    FractionOf(i64, i64, Unit),
    /// One of this unit.
    UnitOf(Unit),
    /// So many of the unit in the pattern.
    CountOf(u64),
    /// The number in the pattern, of this unit.
    CountOfUnit(Unit),
    /// A number and a fraction of a unit.
    CountAndFraction(i64, i64),
    /// All durations together.
    Sum,
    /// A duration and a fraction of its last unit: `an hour and a half`.
    AndFraction(i64, i64),
    /// A duration and a number of its next smaller unit: `one hour thirty`.
    AndSmaller,
    /// So many days from today.
    Days(i32),
    /// So many days from today: back when a word of the past is in the clause, else ahead. Hindi `कल`.
    DaysByTense(i32, &'static str),
    /// The nearest weekday to come; in a week if it is today's.
    ComingWeekday,
    /// The nearest weekday that is gone.
    PastWeekday,
    /// The year so many years from this one.
    YearOffset(i32),
    /// The weekday in the week that is so many weeks from this one.
    WeekdayOfWeek(i32),
    /// A weekday so many weeks after the coming one: `Friday week`.
    WeekdayPlusWeeks(i32),
    /// A weekday in the week that is a duration of weeks after (1) or before (-1) this one; of days, the day itself.
    WeekdayShift(i32),
    /// The day that day, month and year name; what is absent is what comes next.
    Calendar,
    /// As `Calendar`, but the last one that is gone when a word of the past is in the clause.
    CalendarByTense(&'static str),
    /// A day of the month that is so many months from this one.
    DayOfMonth(i32),
    /// The first (1) or last (-1) day of a month: the month in the pattern, else the one so many months from this one.
    MonthEdge(i32, i32),
    /// As `MonthEdge`, for words that mean the days around it: `the end of March`.
    AroundMonthEdge(i32, i32),
    /// The first (1) or last (-1) day of the year in the pattern, else of the one so many years from this one.
    YearEdge(i32, i32),
    /// The first day of a year as `YearEdge` finds it, for words that mean the days around it: `Anfang 2027`.
    AroundYearStart(i32),
    /// The last (-1) or n-th weekday of the month in the pattern, else of the one so many months away; 0 takes the ordinal in the pattern.
    NthWeekday(i32, i32),
    /// The n-th weekday of a month of a year: `Thanksgiving`.
    Holiday(i8, i8, i8),
    /// So many days after the n-th weekday of a month of a year: Black Friday is the day after the fourth Thursday.
    DaysAfterHoliday(i8, i8, i8, i32),
    /// A day of each year, with a year if the pattern has one.
    Yearly(i8, i8),
    /// So many days after Easter Sunday.
    Easter(i32),
    /// A duration after (1) or before (-1) the date in the pattern, else after today.
    Shift(i32),
    /// As `Shift`, with a fixed number of a unit.
    ShiftBy(i32, Unit),
    /// The time that hour, minute, second and part of the day name.
    Clock,
    /// So many minutes, or those in the pattern with this sign, after the hour.
    MinutesAfter(i32),
    /// The minutes in the pattern after (1) or before (-1) the hour.
    Minutes(i32),
    /// The minutes in the pattern before a time in hour and minute.
    MinutesBeforeTime,
    /// A time in a part of the day.
    TimeIn(Part),
    /// The last minute of the date in the pattern, else of today.
    EndOfDay,
    /// A fixed time.
    At(i8, i8),
    /// A date, or day, month and year, and a time.
    Join,
    /// A date and a time in a part of the day.
    JoinPart(Part),
    /// A time or an hour on the day so many days from today, with the part of the day if one is named.
    JoinDays(i32, Option<Part>),
    /// The moment of the turn.
    Now,
    /// A duration after (1) or before (-1) the moment of the turn.
    ShiftNow(i32),
    /// From the first to the second value.
    FromTo,
    /// From an hour to a time, whose part of the day is that of both where it can be.
    HourTo,
    /// As `HourTo`, from an hour and minutes.
    ClockTo,
    /// From the first to the second time, which share a part of the day: `from 5 to 7 pm`.
    FromToIn(Part),
    /// From the first to the second time or hour of one day.
    FromToSameDay,
    /// From the coming weekday to the next one after it.
    WeekdayToWeekday,
    /// From one time to a later one, or from one hour to another, in the part of the day that is before each or before both.
    ClockFromTo,
    /// From the value on.
    From,
    /// Until the value.
    Until,
    /// The unit that is so many of it from now: `next week`.
    Period(i32, Unit),
    /// The month in the pattern, with a year if the pattern has one; of two months, from the first to the second.
    MonthPeriod,
    /// The year in the pattern.
    YearPeriod,
    /// From one day of a month, of the next one without a month, to another; of two months with the year of the second.
    DaysOfMonth,
    /// No value when one of the words is in the clause.
    NothingIf(&'static str),
    /// No value: it says that the words are none of what they look like.
    Nothing,
    /// Several values, or one of several: no value for those who take one.
    Several,
}
