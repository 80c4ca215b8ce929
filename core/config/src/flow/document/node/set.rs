//! `set`: changes variables. (docs/spec/flows.md#4.8)

use convengine_derive::Described;
use convengine_text::variable_path::VariablePath;

use super::super::text::{FlowFormula, ValueTemplate};
use super::super::{Document, ValueType};
use super::traits::{Failing, NodeData, NodeGroup, NodeTraits, VariableWrite};

/// Data of `set`.
#[derive(Debug, Clone, Described)]
pub struct SetData {
    /// The assignments, in order.
    #[member(name = "assign", required, items(1, NO_MAX_LENGTH))]
    pub assignments: Vec<Assignment>,
}

/// An assignment to a variable.
#[derive(Debug, Clone, Described)]
pub struct Assignment {
    /// Variable to change.
    #[member(required, meaning = Writes)]
    pub variable: VariablePath,
    /// `set` (default), `unset` removes it, `increment` adds (1 without a value), `append` adds an item, `merge` replaces members.
    pub op: AssignOp,
    /// JSON whose strings are templates.
    #[member(keep_null)]
    pub value: Option<ValueTemplate>,
    /// [Expression](expressions.md) that computes the value, in place of `value`.
    #[member(example = r#""order.total * 1.19""#)]
    pub expr: Option<FlowFormula>,
}

/// The operation of an assignment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
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

impl NodeData for SetData {
    fn traits(&self) -> NodeTraits<'_> {
        NodeTraits { failing: Failing::ByAssignments(&self.assignments), group: NodeGroup::Logic, ..NodeTraits::CALLING }
    }

    fn writes(&self, _: &Document) -> Option<Vec<VariableWrite>> {
        let assignments = self.assignments.iter().filter(|it| it.op != AssignOp::Unset);
        let writes = assignments.map(|assignment| {
            let kind = match (assignment.op, &assignment.value) {
                (AssignOp::Increment, _) => Some(ValueType::Number),
                (AssignOp::Append, _) => Some(ValueType::Array),
                (AssignOp::Merge, _) => Some(ValueType::Object),
                (AssignOp::Set, Some(value)) if !value.source.is_string() => Some(ValueType::of(&value.source)),
                (AssignOp::Set | AssignOp::Unset, _) => None,
            };
            VariableWrite::new(&assignment.variable, kind)
        });
        Some(writes.collect())
    }
}
