//! Assignments of set nodes.

use convengine_text::variable_path::VariablePath;

use super::fields::{self, Fields};
use super::text::{FlowFormula, ValueTemplate};

/// Data of `set`.
#[derive(Debug, Clone)]
pub struct SetData {
    /// The assignments, in order.
    pub assignments: Vec<Assignment>,
}

/// An assignment to a variable.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// The variable.
    pub variable: VariablePath,
    /// The operation.
    pub op: AssignOp,
    /// The value.
    pub value: Option<ValueTemplate>,
    /// Or an expression that computes the value.
    pub expr: Option<FlowFormula>,
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

impl Assignment {
    pub(super) fn read(fields: Fields<'_>) -> Assignment {
        let words =
            [("unset", AssignOp::Unset), ("increment", AssignOp::Increment), ("append", AssignOp::Append), ("merge", AssignOp::Merge)];
        Assignment {
            variable: fields::parse_path(fields.text("variable").unwrap_or_default()),
            op: fields.keyword("op", &words).unwrap_or_default(),
            // Null is a value here.
            value: fields.0.get("value").map(|it| ValueTemplate::from(it.clone())),
            expr: fields.text("expr").map(FlowFormula::from),
        }
    }
}
