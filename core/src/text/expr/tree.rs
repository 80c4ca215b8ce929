//! The syntax tree of expressions.

use serde_json::Value;

use super::functions::Function;
use crate::text::path::Path;
use crate::text::regex::Regex;

/// An expression or a part of one. Operands of chained operators are siblings, so the tree is no deeper than the source nests.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Literal(Value),
    Path(Path),
    List(Vec<Node>),
    Not(Box<Node>),
    Minus(Box<Node>),
    /// `&&`
    Every(Vec<Node>),
    /// `||`
    Some(Vec<Node>),
    /// The first value, and the operators and values that are applied to it from left to right.
    Calculate(Box<Node>, Vec<(Arithmetic, Node)>),
    Compare(Relation, Box<(Node, Node)>),
    Matches(Box<Node>, Pattern),
    /// `is set`
    IsSet(Box<Node>),
    /// `is empty`
    IsEmpty(Box<Node>),
    /// Condition, value if true, value if false.
    Choose(Box<(Node, Node, Node)>),
    Call(Function, Vec<Node>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Arithmetic {
    /// Returns the operator sign, for messages.
    pub fn symbol(self) -> &'static str {
        match self {
            Arithmetic::Add => "+",
            Arithmetic::Subtract => "-",
            Arithmetic::Multiply => "*",
            Arithmetic::Divide => "/",
            Arithmetic::Remainder => "%",
        }
    }
}

/// A relation between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// Also `in`, with its sides swapped.
    Contains,
    StartsWith,
    EndsWith,
    /// With a pattern that is computed at run time.
    Matches,
}

/// A pattern given as a literal; patterns of the same source are equal.
#[derive(Debug, Clone)]
pub(super) struct Pattern(pub Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.0.pattern() == other.0.pattern()
    }
}

impl Node {
    /// Visits the node and all of its descendants.
    pub fn each<'n>(&'n self, visit: &mut dyn FnMut(&'n Node)) {
        visit(self);
        match self {
            Node::Literal(_) | Node::Path(_) => {}
            Node::List(parts) | Node::Every(parts) | Node::Some(parts) | Node::Call(_, parts) => {
                parts.iter().for_each(|it| it.each(visit));
            }
            Node::Not(part) | Node::Minus(part) | Node::Matches(part, _) | Node::IsSet(part) | Node::IsEmpty(part) => part.each(visit),
            Node::Calculate(first, rest) => {
                first.each(visit);
                rest.iter().for_each(|it| it.1.each(visit));
            }
            Node::Compare(_, sides) => {
                sides.0.each(visit);
                sides.1.each(visit);
            }
            Node::Choose(parts) => {
                parts.0.each(visit);
                parts.1.each(visit);
                parts.2.each(visit);
            }
        }
    }
}
