//! Evaluates expressions.

use std::borrow::Cow;

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::compare::{contains, expect_text};
use super::error::EvalError;
use super::tree::{ExprNode, Relation};
use crate::names::NameResolver;
use crate::regex::Regex;
use crate::value::{Arithmetic, EXPRESSION, type_name};

/// Steps that one evaluation may take: one per node, and one per element of a list that is searched.
const MAX_STEPS: usize = 10_000;

/// The cost of a pattern that is computed at run time, in steps.
const PATTERN_STEPS: usize = 1_000;

/// The most bytes of a concatenated string.
const MAX_BYTES: usize = 1 << 20;

/// What a value without text counts as, in bytes.
const NUMBER_BYTES: usize = 8;

/// The bytes of texts, lists and objects that one evaluation may copy or search.
const MAX_COPIED_BYTES: usize = 16 << 20;

/// A borrowed or computed value; `None` when a name is not defined.
pub(super) type Val<'e> = Option<Cow<'e, Value>>;

pub(super) struct Evaluator<'e> {
    pub names: &'e dyn NameResolver,
    steps: usize,
    bytes: usize,
}

pub(super) fn eval_error<T>(reason: &str) -> Result<T, EvalError> {
    Err(EvalError(reason.to_owned()))
}

impl<'e> Evaluator<'e> {
    /// Creates an evaluator with the full step budget.
    pub fn new(names: &'e dyn NameResolver) -> Evaluator<'e> {
        Evaluator { names, steps: MAX_STEPS, bytes: MAX_COPIED_BYTES }
    }

    /// Spends steps of the budget.
    pub fn spend(&mut self, steps: usize) -> Result<(), EvalError> {
        match self.steps.checked_sub(steps) {
            Some(left) => self.steps = left,
            None => return eval_error("the expression takes more than 10000 steps"),
        }
        Ok(())
    }

    /// Spends the bytes of a value that is copied or searched.
    pub fn spend_bytes(&mut self, value: Option<&Value>) -> Result<(), EvalError> {
        match value.map_or(Some(self.bytes), |it| bytes_left(it, self.bytes)) {
            Some(left) => self.bytes = left,
            None => return eval_error("the expression copies more than 16 MiB"),
        }
        Ok(())
    }

    /// Evaluates an expression as a condition.
    pub fn is_true(&mut self, node: &'e ExprNode) -> Result<bool, EvalError> {
        self.evaluate(node).map(|value| EXPRESSION.is_true(value.as_deref()))
    }

    /// Returns the text of a string, number or boolean; `None` for null.
    pub fn expect_text(&mut self, value: Option<&Value>) -> Result<Option<String>, EvalError> {
        self.spend_bytes(value)?;
        expect_text(value)
    }

    /// Evaluates an expression.
    pub fn evaluate(&mut self, node: &'e ExprNode) -> Result<Val<'e>, EvalError> {
        self.spend(1)?;
        let truth = match node {
            ExprNode::Literal(value) => return Ok(Some(Cow::Borrowed(value))),
            ExprNode::Path(path) => {
                let value = self.names.value(path);
                if let Some(Cow::Owned(copy)) = &value {
                    self.spend_bytes(Some(copy))?;
                }
                return Ok(value);
            }
            ExprNode::List(parts) => {
                let mut items = Vec::with_capacity(parts.len());
                for part in parts {
                    let item = self.evaluate(part)?;
                    self.spend_bytes(item.as_deref())?;
                    items.push(item.map(Cow::into_owned).unwrap_or_default());
                }
                return ok_value(Value::Array(items));
            }
            ExprNode::Negate(part) => {
                let value = self.evaluate(part)?;
                return self.calculate(Arithmetic::Subtract, &Value::from(0), value.as_deref());
            }
            ExprNode::Calculate(first, rest) => {
                let mut value = self.evaluate(first)?;
                for (operator, part) in rest {
                    let right = self.evaluate(part)?;
                    value = self.calculate(*operator, value.as_deref().unwrap_or(&Value::Null), right.as_deref())?;
                }
                return Ok(value);
            }
            ExprNode::Conditional(parts) => {
                let chosen = if self.is_true(&parts.0)? { &parts.1 } else { &parts.2 };
                return self.evaluate(chosen);
            }
            ExprNode::Call(function, parts) => return self.call(*function, parts),
            ExprNode::Not(part) => !self.is_true(part)?,
            ExprNode::And(parts) => self.find_first(parts, false)?.is_none(),
            ExprNode::Or(parts) => self.find_first(parts, true)?.is_some(),
            ExprNode::Compare(relation, sides) => {
                let left = self.evaluate(&sides.0)?;
                let right = self.evaluate(&sides.1)?;
                self.compare(*relation, left.as_deref(), right.as_deref())?
            }
            ExprNode::Matches(part, pattern) => {
                let value = self.evaluate(part)?;
                self.matches_pattern(&pattern.0, value.as_deref())?
            }
            ExprNode::IsSet(part) => self.evaluate(part)?.is_some_and(|it| !it.is_null()),
            ExprNode::IsEmpty(part) => match self.evaluate(part)?.as_deref() {
                None | Some(Value::Null) => true,
                Some(Value::String(text)) => text.is_empty(),
                Some(Value::Array(items)) => items.is_empty(),
                Some(Value::Object(members)) => members.is_empty(),
                Some(Value::Bool(_) | Value::Number(_)) => false,
            },
        };
        ok_value(Value::Bool(truth))
    }

    /// Returns the first part whose truth value is `expected`.
    fn find_first(&mut self, parts: &'e [ExprNode], expected: bool) -> Result<Option<&'e ExprNode>, EvalError> {
        for part in parts {
            if self.is_true(part)? == expected {
                return Ok(Some(part));
            }
        }
        Ok(None)
    }

    fn compare(&mut self, relation: Relation, left: Option<&Value>, right: Option<&Value>) -> Result<bool, EvalError> {
        Ok(match relation {
            Relation::Comparison(comparison) => {
                self.spend_bytes(left)?;
                self.spend_bytes(right)?;
                EXPRESSION.satisfies(comparison, left, right).ok_or_else(|| no_order_error(left, right))?
            }
            Relation::Contains => self.contains(left, right)?,
            Relation::StartsWith => self.texts(left, right)?.is_some_and(|(whole, part)| whole.starts_with(&part)),
            Relation::EndsWith => self.texts(left, right)?.is_some_and(|(whole, part)| whole.ends_with(&part)),
            Relation::Matches => {
                self.spend(PATTERN_STEPS)?;
                let Some(Value::String(pattern)) = right else {
                    return eval_error("the pattern of 'matches' is not a string");
                };
                self.matches_pattern(&Regex::new_linear(pattern).map_err(EvalError)?, left)?
            }
        })
    }

    /// Returns whether a value contains another one.
    pub fn contains(&mut self, whole: Option<&Value>, part: Option<&Value>) -> Result<bool, EvalError> {
        self.spend(whole.and_then(Value::as_array).map_or(0, Vec::len))?;
        self.spend_bytes(whole)?;
        self.spend_bytes(part)?;
        contains(whole, part)
    }

    fn texts(&mut self, left: Option<&Value>, right: Option<&Value>) -> Result<Option<(String, String)>, EvalError> {
        Ok(self.expect_text(left)?.zip(self.expect_text(right)?))
    }

    fn matches_pattern(&mut self, pattern: &Regex, value: Option<&Value>) -> Result<bool, EvalError> {
        let Some(text) = self.expect_text(value)? else { return Ok(false) };
        pattern.is_match(&text).map_err(|error| EvalError(error.to_string()))
    }

    /// Applies an operator. Numeric strings count as numbers, except that `+` concatenates two strings, a string and any scalar, and two
    /// lists.
    fn calculate(&mut self, operator: Arithmetic, left: &Value, right: Option<&Value>) -> Result<Val<'e>, EvalError> {
        let right = right.unwrap_or(&Value::Null);
        self.spend_bytes(Some(left))?;
        self.spend_bytes(Some(right))?;
        let numbers = EXPRESSION.number_of(left).is_some() && EXPRESSION.number_of(right).is_some();
        let texts = left.is_string() && right.is_string();
        match (operator, left, right) {
            (Arithmetic::Add, Value::Array(a), Value::Array(b)) if a.len() + b.len() <= MAX_STEPS => {
                ok_value(a.iter().chain(b).cloned().collect())
            }
            (Arithmetic::Add, Value::String(_), _) | (Arithmetic::Add, _, Value::String(_)) if texts || !numbers => {
                let mut joined = expect_text(Some(left))?.unwrap_or_default();
                joined.push_str(&expect_text(Some(right))?.unwrap_or_default());
                if joined.len() > MAX_BYTES { eval_error("the text is longer than 1 MiB") } else { ok_value(Value::String(joined)) }
            }
            _ => ok_value(Value::Number(EXPRESSION.calculate(operator, left, right).map_err(EvalError)?)),
        }
    }
}

pub(super) fn ok_value<'e>(value: Value) -> Result<Val<'e>, EvalError> {
    Ok(Some(Cow::Owned(value)))
}

/// Returns the result of a calculation.
pub(super) fn ok_number<'e>(number: Option<Number>) -> Result<Val<'e>, EvalError> {
    match number {
        Some(number) => ok_value(Value::Number(number)),
        None => eval_error("the result is too large, or not a number"),
    }
}

/// Returns how many of some bytes are left after those of a value; `None` when they do not suffice.
fn bytes_left(value: &Value, bytes: usize) -> Option<usize> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => bytes.checked_sub(NUMBER_BYTES),
        Value::String(text) => bytes.checked_sub(text.len()),
        Value::Array(items) => items.iter().try_fold(bytes, |left, it| bytes_left(it, left)),
        Value::Object(members) => members.iter().try_fold(bytes, |left, (name, it)| bytes_left(it, left.checked_sub(name.len())?)),
    }
}

/// Orders two values.
pub(super) fn compare_values(left: Option<&Value>, right: Option<&Value>) -> Result<Ordering, EvalError> {
    EXPRESSION.compare(left, right).ok_or_else(|| no_order_error(left, right))
}

fn no_order_error(left: Option<&Value>, right: Option<&Value>) -> EvalError {
    EvalError(["cannot compare ", type_name(left), " with ", type_name(right)].concat())
}
