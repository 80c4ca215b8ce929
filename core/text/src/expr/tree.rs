//! The syntax tree of expressions.

use serde_json::Value;

use super::functions::Function;
use crate::regex::Regex;
use crate::value::{Arithmetic, Comparison};
use crate::variable_path::VariablePath;

/// An expression or a part of one. Operands of chained operators are siblings, so the tree is no deeper than the source nests.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ExprNode {
    Literal(Value),
    Path(VariablePath),
    List(Vec<ExprNode>),
    Not(Box<ExprNode>),
    Negate(Box<ExprNode>),
    /// `&&`
    And(Vec<ExprNode>),
    /// `||`
    Or(Vec<ExprNode>),
    /// The first value, and the operators and values that are applied to it from left to right.
    Calculate(Box<ExprNode>, Vec<(Arithmetic, ExprNode)>),
    Compare(Relation, Box<(ExprNode, ExprNode)>),
    Matches(Box<ExprNode>, LiteralPattern),
    /// `is set`
    IsSet(Box<ExprNode>),
    /// `is empty`
    IsEmpty(Box<ExprNode>),
    /// Condition, value if true, value if false.
    Conditional(Box<(ExprNode, ExprNode, ExprNode)>),
    Call(Function, Vec<ExprNode>),
}

/// A relation between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Comparison(Comparison),
    /// Also `in`, with its sides swapped.
    Contains,
    StartsWith,
    EndsWith,
    /// With a pattern that is computed at run time.
    Matches,
}

/// A pattern given as a literal; patterns of the same source are equal.
#[derive(Debug, Clone)]
pub(super) struct LiteralPattern(pub Regex);

impl PartialEq for LiteralPattern {
    fn eq(&self, other: &LiteralPattern) -> bool {
        self.0.pattern() == other.0.pattern()
    }
}

impl ExprNode {
    /// Visits the node and all of its descendants.
    pub fn for_each<'n>(&'n self, visit: &mut dyn FnMut(&'n ExprNode)) {
        visit(self);
        match self {
            ExprNode::Literal(_) | ExprNode::Path(_) => {}
            ExprNode::List(parts) | ExprNode::And(parts) | ExprNode::Or(parts) | ExprNode::Call(_, parts) => {
                parts.iter().for_each(|it| it.for_each(visit));
            }
            ExprNode::Not(part) | ExprNode::Negate(part) | ExprNode::Matches(part, _) | ExprNode::IsSet(part) | ExprNode::IsEmpty(part) => {
                part.for_each(visit)
            }
            ExprNode::Calculate(first, rest) => {
                first.for_each(visit);
                rest.iter().for_each(|it| it.1.for_each(visit));
            }
            ExprNode::Compare(_, sides) => {
                sides.0.for_each(visit);
                sides.1.for_each(visit);
            }
            ExprNode::Conditional(parts) => {
                parts.0.for_each(visit);
                parts.1.for_each(visit);
                parts.2.for_each(visit);
            }
        }
    }
}
