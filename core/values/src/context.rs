//! What values are relative to.

use jiff::civil::DateTime;

/// What a value is relative to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Context<'c> {
    /// The locale, such as `en-GB`.
    pub locale: &'c str,
    /// The moment of the message in the time zone of its writer.
    pub now: DateTime,
    /// Which day is meant where several fit.
    pub direction: Direction,
}

/// Which of several days is meant: `Friday`, `the 5th of March`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// The nearest to come.
    #[default]
    Future,
    /// The nearest that is gone: a birthday.
    Past,
    /// The nearest.
    Nearest,
}
