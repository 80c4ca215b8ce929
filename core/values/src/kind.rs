//! Kinds of values.

/// A kind of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A number; a percentage is its hundredth.
    Number,
    /// A percentage, as its hundredth.
    Percent,
    /// An ordinal, as an integer.
    Ordinal,
    /// An amount of money: `{"amount", "currency"}`.
    Currency,
    /// A day: `YYYY-MM-DD`.
    Date,
    /// A month: `YYYY-MM`.
    Month,
    /// A year: `YYYY`.
    Year,
    /// A time of the day: `HH:MM`, with seconds when they are said.
    Time,
    /// A time on a day: `YYYY-MM-DDTHH:MM`.
    DateTime,
    /// A duration in ISO 8601.
    Duration,
    /// Days from one to another: `{"from", "to"}`.
    DateRange,
    /// A time from one to another.
    TimeRange,
    /// A time on a day to another.
    DateTimeRange,
    /// A number to another.
    NumberRange,
    /// An amount of money to another of the same currency.
    CurrencyRange,
}
