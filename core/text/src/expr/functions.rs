//! The built-in functions of expressions: names and numbers of arguments. `call` evaluates them.

/// A built-in function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    /// The number of characters, elements or members; 0 for null.
    Len,
    Lower,
    Upper,
    Trim,
    /// Parses a string as a number; 1 and 0 for true and false.
    Number,
    /// The text that a template prints.
    String,
    /// Converts `true`, `yes` and `1` or `false`, `no` and `0` to a boolean; null and the empty string are false.
    Bool,
    /// The day of a date, a date with a time or milliseconds since 1970, such as `2026-01-31`; today without an argument. Instants in
    /// UTC and milliseconds have the day of the session's time zone.
    Date,
    /// The whole days from the first date to the second.
    DaysBetween,
    /// Same as the operator `contains`.
    Has,
    /// The first value that is not null.
    Coalesce,
    /// The smallest of the arguments or of one list; undefined for an empty list.
    Min,
    Max,
    /// Rounds to a whole number, or to the given digits after the point; halves round away from zero.
    Round,
    Abs,
    /// Whether an element of a list is truthy, or equal to the second argument.
    Any,
    All,
    /// The number of elements that are truthy, or equal to the second argument.
    Count,
}

/// Name, function, fewest and most arguments.
const FUNCTIONS: [(&str, Function, usize, usize); 18] = [
    ("len", Function::Len, 1, 1),
    ("lower", Function::Lower, 1, 1),
    ("upper", Function::Upper, 1, 1),
    ("trim", Function::Trim, 1, 1),
    ("number", Function::Number, 1, 1),
    ("string", Function::String, 1, 1),
    ("bool", Function::Bool, 1, 1),
    ("date", Function::Date, 0, 1),
    ("days_between", Function::DaysBetween, 2, 2),
    ("has", Function::Has, 2, 2),
    ("coalesce", Function::Coalesce, 1, usize::MAX),
    ("min", Function::Min, 1, usize::MAX),
    ("max", Function::Max, 1, usize::MAX),
    ("round", Function::Round, 1, 2),
    ("abs", Function::Abs, 1, 1),
    ("any", Function::Any, 1, 2),
    ("all", Function::All, 1, 2),
    ("count", Function::Count, 1, 2),
];

impl Function {
    /// Returns the function of a name, with the fewest and most arguments that it takes.
    pub fn from_name(name: &str) -> Option<(Function, usize, usize)> {
        FUNCTIONS.iter().find(|it| it.0 == name).map(|(_, function, least, most)| (*function, *least, *most))
    }

    /// Whether it reads its arguments to their ends, where only lists count steps.
    pub fn reads_all(self) -> bool {
        match self {
            Function::Len
            | Function::Number
            | Function::String
            | Function::Bool
            | Function::Date
            | Function::DaysBetween
            | Function::Min
            | Function::Max
            | Function::Round
            | Function::Abs
            | Function::Any
            | Function::All
            | Function::Count => true,
            // Each spends them itself.
            Function::Lower | Function::Upper | Function::Trim | Function::Has | Function::Coalesce => false,
        }
    }

    /// Returns the names of all functions.
    pub fn names() -> [&'static str; 18] {
        FUNCTIONS.map(|it| it.0)
    }
}
