//! The operators of template expressions: spelling and precedence.

/// An operator between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BinaryOperator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Calculate(Arithmetic),
}

/// An operator between two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Spelling, operator and precedence level; longer spellings come before their prefixes.
pub(super) const OPERATORS: [(&str, BinaryOperator, usize); 23] = [
    ("||", BinaryOperator::Or, 0),
    ("or", BinaryOperator::Or, 0),
    ("&&", BinaryOperator::And, 1),
    ("and", BinaryOperator::And, 1),
    ("==", BinaryOperator::Equal, 2),
    ("eq", BinaryOperator::Equal, 2),
    ("!=", BinaryOperator::NotEqual, 2),
    ("ne", BinaryOperator::NotEqual, 2),
    ("<=", BinaryOperator::LessOrEqual, 2),
    ("le", BinaryOperator::LessOrEqual, 2),
    (">=", BinaryOperator::GreaterOrEqual, 2),
    ("ge", BinaryOperator::GreaterOrEqual, 2),
    ("<", BinaryOperator::Less, 2),
    ("lt", BinaryOperator::Less, 2),
    (">", BinaryOperator::Greater, 2),
    ("gt", BinaryOperator::Greater, 2),
    ("+", BinaryOperator::Calculate(Arithmetic::Add), 3),
    ("-", BinaryOperator::Calculate(Arithmetic::Subtract), 3),
    ("*", BinaryOperator::Calculate(Arithmetic::Multiply), 4),
    ("/", BinaryOperator::Calculate(Arithmetic::Divide), 4),
    ("div", BinaryOperator::Calculate(Arithmetic::Divide), 4),
    ("%", BinaryOperator::Calculate(Arithmetic::Remainder), 4),
    ("mod", BinaryOperator::Calculate(Arithmetic::Remainder), 4),
];
