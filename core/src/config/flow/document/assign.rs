//! Assignments of set nodes.

use super::read::{self, Of};
use super::text::{Filling, Formula};
use crate::text::path::Path;

/// Data of `set`.
#[derive(Debug, Clone)]
pub struct SetData {
    /// What is changed, in this order.
    pub assign: Vec<Assign>,
}

/// A change of a variable.
#[derive(Debug, Clone)]
pub struct Assign {
    /// The variable.
    pub variable: Path,
    /// How it changes.
    pub op: AssignOp,
    /// The value.
    pub value: Option<Filling>,
    /// Or what makes it.
    pub expr: Option<Formula>,
}

/// How a variable changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AssignOp {
    /// It becomes the value.
    #[default]
    Set,
    /// It goes.
    Unset,
    /// The value is added to it.
    Increment,
    /// The value is added at its end.
    Append,
    /// The members of the value are put into it.
    Merge,
}

impl Assign {
    pub(super) fn read(of: Of<'_>) -> Assign {
        let words =
            [("unset", AssignOp::Unset), ("increment", AssignOp::Increment), ("append", AssignOp::Append), ("merge", AssignOp::Merge)];
        Assign {
            variable: read::path(of.text("variable").unwrap_or_default()),
            op: of.word("op", &words).unwrap_or_default(),
            // Null is a value here.
            value: of.0.get("value").map(|it| Filling::from(it.clone())),
            expr: of.text("expr").map(Formula::from),
        }
    }
}
