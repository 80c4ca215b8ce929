//! The syntax tree of template expressions.

use serde_json::Value;

use super::function::{Method, Utility};

/// An expression and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expression {
    pub root: Expr,
    pub line: usize,
}

/// Part of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expr {
    Literal(Value),
    Path(Box<Path>),
    Utility(Utility, Vec<Expr>),
    Chain(Box<Chain>),
    Not(Box<Expr>),
    Negative(Box<Expr>),
    Choice(Box<Choice>),
    Fallback(Box<Fallback>),
    /// Truth value by the rules of conditions, which accept every value.
    Truth(Box<Expr>),
    /// Concatenated texts; null prints nothing.
    Join(Vec<Expr>),
}

/// A root value and the steps into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path {
    pub root: Root,
    pub parts: Vec<Part>,
}

/// The root of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Root {
    Name(String),
    Value(Expr),
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Member(String),
    Index(Expr),
    Call { method: Method, arguments: Vec<Expr>, safe: bool },
}

/// Operators of one precedence level, from left to right; a list instead of a tree, so that long sums need no deep stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chain {
    pub level: usize,
    pub first: Expr,
    pub rest: Vec<(Operator, Expr)>,
}

/// `condition ? yes : no`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    pub condition: Expr,
    pub yes: Expr,
    pub no: Expr,
}

/// `value ?: fallback`; within `${…}` an empty string counts as missing, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fallback {
    pub value: Expr,
    pub instead: Expr,
    pub blank: bool,
}

/// An operator between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    Unequal,
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
pub(super) const OPERATORS: [(&str, Operator, usize); 23] = [
    ("||", Operator::Or, 0),
    ("or", Operator::Or, 0),
    ("&&", Operator::And, 1),
    ("and", Operator::And, 1),
    ("==", Operator::Equal, 2),
    ("eq", Operator::Equal, 2),
    ("!=", Operator::Unequal, 2),
    ("ne", Operator::Unequal, 2),
    ("<=", Operator::LessOrEqual, 2),
    ("le", Operator::LessOrEqual, 2),
    (">=", Operator::GreaterOrEqual, 2),
    ("ge", Operator::GreaterOrEqual, 2),
    ("<", Operator::Less, 2),
    ("lt", Operator::Less, 2),
    (">", Operator::Greater, 2),
    ("gt", Operator::Greater, 2),
    ("+", Operator::Calculate(Arithmetic::Add), 3),
    ("-", Operator::Calculate(Arithmetic::Subtract), 3),
    ("*", Operator::Calculate(Arithmetic::Multiply), 4),
    ("/", Operator::Calculate(Arithmetic::Divide), 4),
    ("div", Operator::Calculate(Arithmetic::Divide), 4),
    ("%", Operator::Calculate(Arithmetic::Remainder), 4),
    ("mod", Operator::Calculate(Arithmetic::Remainder), 4),
];

impl Expr {
    /// Returns the name if the expression is a bare name.
    pub fn bare_name(&self) -> Option<&str> {
        match self {
            Expr::Path(path) if path.parts.is_empty() => match &path.root {
                Root::Name(name) => Some(name),
                Root::Value(_) => None,
            },
            Expr::Path(_)
            | Expr::Literal(_)
            | Expr::Utility(..)
            | Expr::Chain(_)
            | Expr::Not(_)
            | Expr::Negative(_)
            | Expr::Choice(_)
            | Expr::Fallback(_)
            | Expr::Truth(_)
            | Expr::Join(_) => None,
        }
    }
}
