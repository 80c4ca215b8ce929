//! The operators of template expressions: spelling and precedence.

use crate::value::{Arithmetic, Comparison};

/// An operator between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BinaryOperator {
    Or,
    And,
    Compare(Comparison),
    Calculate(Arithmetic),
}

/// Spelling, operator and precedence level; longer spellings come before their prefixes.
pub(super) const OPERATORS: [(&str, BinaryOperator, usize); 23] = [
    ("||", BinaryOperator::Or, 0),
    ("or", BinaryOperator::Or, 0),
    ("&&", BinaryOperator::And, 1),
    ("and", BinaryOperator::And, 1),
    ("==", BinaryOperator::Compare(Comparison::Equal), 2),
    ("eq", BinaryOperator::Compare(Comparison::Equal), 2),
    ("!=", BinaryOperator::Compare(Comparison::NotEqual), 2),
    ("ne", BinaryOperator::Compare(Comparison::NotEqual), 2),
    ("<=", BinaryOperator::Compare(Comparison::LessOrEqual), 2),
    ("le", BinaryOperator::Compare(Comparison::LessOrEqual), 2),
    (">=", BinaryOperator::Compare(Comparison::GreaterOrEqual), 2),
    ("ge", BinaryOperator::Compare(Comparison::GreaterOrEqual), 2),
    ("<", BinaryOperator::Compare(Comparison::Less), 2),
    ("lt", BinaryOperator::Compare(Comparison::Less), 2),
    (">", BinaryOperator::Compare(Comparison::Greater), 2),
    ("gt", BinaryOperator::Compare(Comparison::Greater), 2),
    ("+", BinaryOperator::Calculate(Arithmetic::Add), 3),
    ("-", BinaryOperator::Calculate(Arithmetic::Subtract), 3),
    ("*", BinaryOperator::Calculate(Arithmetic::Multiply), 4),
    ("/", BinaryOperator::Calculate(Arithmetic::Divide), 4),
    ("div", BinaryOperator::Calculate(Arithmetic::Divide), 4),
    ("%", BinaryOperator::Calculate(Arithmetic::Remainder), 4),
    ("mod", BinaryOperator::Calculate(Arithmetic::Remainder), 4),
];
