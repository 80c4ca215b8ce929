//! Assignments of set nodes.

use super::read::{self, Of};
use super::text::{Filling, Formula};
use crate::text::path::Path;

/// Data of `set`.
#[derive(Debug, Clone)]
pub struct SetData {
    /// The assignments, in order.
    pub assign: Vec<Assign>,
}

/// An assignment to a variable.
#[derive(Debug, Clone)]
pub struct Assign {
    /// The variable.
    pub variable: Path,
    /// The operation.
    pub op: AssignOp,
    /// The value.
    pub value: Option<Filling>,
    /// Or an expression that computes the value.
    pub expr: Option<Formula>,
}

/// The operation of an assignment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AssignOp {
    /// Sets the variable.
    #[default]
    Set,
    /// Removes the variable.
    Unset,
    /// Adds the value to a number.
    Increment,
    /// Appends the value to a list.
    Append,
    /// Merges the members of the value into an object.
    Merge,
}

impl Assign {
    pub(super) fn read(fields: Of<'_>) -> Assign {
        let words =
            [("unset", AssignOp::Unset), ("increment", AssignOp::Increment), ("append", AssignOp::Append), ("merge", AssignOp::Merge)];
        Assign {
            variable: read::path(fields.text("variable").unwrap_or_default()),
            op: fields.word("op", &words).unwrap_or_default(),
            // Null is a value here.
            value: fields.0.get("value").map(|it| Filling::from(it.clone())),
            expr: fields.text("expr").map(Formula::from),
        }
    }
}
