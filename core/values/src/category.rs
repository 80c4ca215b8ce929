//! Categories of values: what rules make and what patterns ask for.

/// What rules make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Category {
    /// `{integer}`: a number without sign and fraction, in digits or words.
    Integer,
    /// `{number}`: a number without sign.
    Number,
    /// `{day}`: the number of a day of a month, as cardinal or ordinal.
    Day,
    /// `{ordinal}`: an ordinal.
    Ordinal,
    /// `{year}`: a year of four digits, of two behind an apostrophe, or in words.
    Year,
    /// `{short}`: a year of two digits.
    ShortYear,
    /// `{hour}`: 0 to 24.
    Hour,
    /// `{minute}`: 0 to 59.
    Minute,
    /// `{digits}`: two digits from 00 to 59.
    Digits,
    /// `{mm}`: minutes as they are said behind an hour: two digits, or words from ten.
    SpokenMinute,
    /// `{hhmm}`: a time in three or four digits without a sign between.
    HourMinute,
    /// `{someday}`: a day that is one only beside a time or in a range: Spanish `el 15`.
    SomeDay,
    /// `{month}`.
    Month,
    /// `{weekday}`.
    Weekday,
    /// `{wd}`: a weekday, also by a short name that is a word as well.
    ShortWeekday,
    /// `{nth}`: an ordinal in digits.
    Nth,
    /// `{unit}`: a unit of time.
    Unit,
    /// `{part}`: a part of the day.
    Part,
    /// `{span}`: a number and a unit.
    Span,
    /// `{duration}`.
    Duration,
    /// `{date}`.
    Date,
    /// `{clock}`: a time as it is said, also where it may be a duration: French `3 heures`. Rules of `{time}` say where it is a time.
    Clock,
    /// `{time}`.
    Time,
    /// `{datetime}`.
    DateTime,
    /// `{range}`: days from one to another.
    DateRange,
    /// A time from one to another.
    TimeRange,
    /// A time on a day to another.
    DateTimeRange,
    /// What happens again and again.
    Repetition,
    /// `{amount}`: a number, with a sign or a name of a currency if there is one, whatever it is worth.
    Amount,
    /// A number or an amount to another, or one of two: neither is meant alone.
    AmountRange,
    /// `{value}`: an end of a range: a number, or an amount of money.
    Value,
    /// `{money}`: an end of a range with a currency.
    Money,
    /// `{valuerange}`: a number or an amount of money to another; one end may be open.
    ValueRange,
}

/// The categories with their names in patterns.
pub(crate) const NAMES: [(&str, Category); 33] = [
    ("integer", Category::Integer),
    ("number", Category::Number),
    ("day", Category::Day),
    ("ordinal", Category::Ordinal),
    ("year", Category::Year),
    ("short", Category::ShortYear),
    ("hour", Category::Hour),
    ("minute", Category::Minute),
    ("digits", Category::Digits),
    ("mm", Category::SpokenMinute),
    ("hhmm", Category::HourMinute),
    ("someday", Category::SomeDay),
    ("month", Category::Month),
    ("weekday", Category::Weekday),
    ("wd", Category::ShortWeekday),
    ("nth", Category::Nth),
    ("unit", Category::Unit),
    ("part", Category::Part),
    ("span", Category::Span),
    ("duration", Category::Duration),
    ("date", Category::Date),
    ("clock", Category::Clock),
    ("time", Category::Time),
    ("datetime", Category::DateTime),
    ("range", Category::DateRange),
    ("timerange", Category::TimeRange),
    ("datetimerange", Category::DateTimeRange),
    ("repetition", Category::Repetition),
    ("amount", Category::Amount),
    ("amountrange", Category::AmountRange),
    ("value", Category::Value),
    ("money", Category::Money),
    ("valuerange", Category::ValueRange),
];
