//! `set` nodes: assign variables, all of them or none (docs/spec/flows.md#4.8).

use convengine_config::flow::document::{AssignOp, Assignment, Node, SetData};
use convengine_text::value::{Arithmetic, EXPRESSION};
use convengine_turn::Map;
use serde_json::{Value, json};

use super::super::failure::Failure;
use super::super::transition::Transition;
use super::super::turn::Turn;
use super::RunNode;

impl RunNode for SetData {
    async fn run<'c>(&'c self, turn: &mut Turn<'c>, _: &'c Node) -> Transition {
        turn.run_set(self)
    }
}

impl<'c> Turn<'c> {
    fn run_set(&mut self, data: &'c SetData) -> Transition {
        // A single assignment of a plain name needs no snapshot: when it fails, nothing has changed.
        let is_single = matches!(data.assignments.as_slice(), [only] if only.variable.parts().len() == 1);
        let before = (!is_single).then(|| self.snapshot_variables());
        for assignment in &data.assignments {
            let Err(failure) = self.apply_assignment(assignment) else { continue };
            if let Some(before) = before {
                self.restore_variables(before);
            }
            return Transition::Fail(failure);
        }
        Transition::out()
    }

    fn apply_assignment(&mut self, assignment: &'c Assignment) -> Result<(), Failure> {
        let path = &assignment.variable;
        let mismatch = |reason: String| Failure::new("type_mismatch", reason);
        if assignment.op == AssignOp::Unset {
            return Ok(self.remove_variable(path)?);
        }
        let operand = self.evaluate_operand(assignment)?;
        let before = self.state.variable(path).cloned().filter(|it| !it.is_null());
        let value = match assignment.op {
            AssignOp::Set | AssignOp::Unset => operand.unwrap_or(Value::Null),
            AssignOp::Increment => {
                let not_a_number = || mismatch(format!("cannot increment '{path}': it is not a number"));
                let (from, by) = (before.unwrap_or_else(|| json!(0)), operand.unwrap_or_else(|| json!(1)));
                EXPRESSION.calculate(Arithmetic::Add, &from, &by).map(Value::Number).map_err(|_| not_a_number())?
            }
            AssignOp::Append => {
                let Value::Array(mut items) = before.unwrap_or_else(|| json!([])) else {
                    return Err(mismatch(format!("cannot append to '{path}': it is not a list")));
                };
                items.push(operand.unwrap_or(Value::Null));
                Value::Array(items)
            }
            AssignOp::Merge => match (before.unwrap_or_else(|| json!({})), operand) {
                (Value::Object(mut members), Some(Value::Object(more))) => {
                    members.extend(more);
                    Value::Object(members)
                }
                _ => return Err(mismatch(format!("only an object can be merged into '{path}'"))),
            },
        };
        Ok(self.write_variable(path, value)?)
    }

    /// Evaluates the value of an assignment.
    fn evaluate_operand(&mut self, assignment: &'c Assignment) -> Result<Option<Value>, Failure> {
        if let Some(formula) = &assignment.expr {
            let result = match &formula.0.compiled {
                Ok(expr) => expr.evaluate(&self.scope()).map_err(|it| it.0),
                Err(error) => Err(error.message.clone()),
            };
            let value = result.map_err(|reason| {
                self.warn("expr.error", json!({"expr": formula.0.source, "reason": reason}));
                Failure::new("expr_error", reason)
            })?;
            return Ok(Some(value.unwrap_or(Value::Null)));
        }
        Ok(assignment.value.as_ref().map(|template| self.render_json(template, Map::new())))
    }
}
