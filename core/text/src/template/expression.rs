//! The syntax tree of template expressions.

use serde_json::Value;

use super::function::{Method, Utility};
use super::operator::BinaryOperator;

/// An expression and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LocatedExpr {
    pub root: TemplateExpr,
    pub line: usize,
}

/// Part of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TemplateExpr {
    Literal(Value),
    Path(Box<PathExpr>),
    Utility(Utility, Vec<TemplateExpr>),
    Chain(Box<Chain>),
    Not(Box<TemplateExpr>),
    Negative(Box<TemplateExpr>),
    Choice(Box<Choice>),
    Fallback(Box<Fallback>),
    /// Truth value by the rules of conditions, which accept every value.
    Truth(Box<TemplateExpr>),
    /// Concatenated texts; null prints nothing.
    Join(Vec<TemplateExpr>),
}

/// A root value and the steps into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathExpr {
    pub root: PathRoot,
    pub steps: Vec<PathStep>,
}

/// The root of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathRoot {
    Name(String),
    Value(TemplateExpr),
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathStep {
    Member(String),
    Index(TemplateExpr),
    Call { method: Method, arguments: Vec<TemplateExpr>, safe: bool },
}

/// Operators of one precedence level, from left to right; a list instead of a tree, so that long sums need no deep stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chain {
    pub level: usize,
    pub first: TemplateExpr,
    pub rest: Vec<(BinaryOperator, TemplateExpr)>,
}

/// `condition ? yes : no`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    pub condition: TemplateExpr,
    pub yes: TemplateExpr,
    pub no: TemplateExpr,
}

/// `value ?: fallback`; within `${…}` an empty string counts as missing, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fallback {
    pub value: TemplateExpr,
    pub fallback: TemplateExpr,
    pub replaces_blank: bool,
}

impl TemplateExpr {
    /// Returns the name if the expression is a bare name.
    pub fn bare_name(&self) -> Option<&str> {
        match self {
            TemplateExpr::Path(path) if path.steps.is_empty() => match &path.root {
                PathRoot::Name(name) => Some(name),
                PathRoot::Value(_) => None,
            },
            TemplateExpr::Path(_)
            | TemplateExpr::Literal(_)
            | TemplateExpr::Utility(..)
            | TemplateExpr::Chain(_)
            | TemplateExpr::Not(_)
            | TemplateExpr::Negative(_)
            | TemplateExpr::Choice(_)
            | TemplateExpr::Fallback(_)
            | TemplateExpr::Truth(_)
            | TemplateExpr::Join(_) => None,
        }
    }
}
