//! Evaluates expressions.

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::NoValue;
use super::compare::{contains, equal, kind, order, text, truth};
use super::tree::{Arithmetic, Node, Relation};
use crate::text::braces::printed;
use crate::text::decimal::{number_of, tidy};
use crate::text::names::Names;
use crate::text::regex::Regex;

/// Steps that one evaluation may take: one per node, and one per element of a list that is searched.
const STEPS: usize = 10_000;

/// The cost of a pattern that is computed at run time, in steps.
const PATTERN_STEPS: usize = 1_000;

/// The most bytes of a concatenated string.
const MOST_BYTES: usize = 1 << 20;

/// A borrowed or computed value; `None` when a name is not defined.
pub(super) type Val<'e> = Option<Cow<'e, Value>>;

pub(super) struct Evaluator<'e> {
    pub names: &'e dyn Names,
    steps: usize,
}

pub(super) fn none<T>(reason: &str) -> Result<T, NoValue> {
    Err(NoValue(reason.to_owned()))
}

impl<'e> Evaluator<'e> {
    /// Creates an evaluator with the full step budget.
    pub fn new(names: &'e dyn Names) -> Evaluator<'e> {
        Evaluator { names, steps: STEPS }
    }

    /// Spends steps of the budget.
    pub fn spend(&mut self, steps: usize) -> Result<(), NoValue> {
        match self.steps.checked_sub(steps) {
            Some(left) => self.steps = left,
            None => return none("the expression takes more than 10000 steps"),
        }
        Ok(())
    }

    /// Evaluates an expression as a condition.
    pub fn holds(&mut self, node: &'e Node) -> Result<bool, NoValue> {
        self.value(node).map(|it| truth(it.as_deref()))
    }

    /// Evaluates an expression.
    pub fn value(&mut self, node: &'e Node) -> Result<Val<'e>, NoValue> {
        self.spend(1)?;
        let truth = match node {
            Node::Literal(value) => return Ok(Some(Cow::Borrowed(value))),
            Node::Path(path) => return Ok(self.names.value(path)),
            Node::List(parts) => {
                let mut items = Vec::with_capacity(parts.len());
                for part in parts {
                    items.push(self.value(part)?.map(Cow::into_owned).unwrap_or_default());
                }
                return made(Value::Array(items));
            }
            Node::Minus(part) => {
                let value = self.value(part)?;
                return calculate(Arithmetic::Subtract, &Value::from(0), value.as_deref().unwrap_or(&Value::Null));
            }
            Node::Calculate(first, rest) => {
                let mut value = self.value(first)?;
                for (operator, part) in rest {
                    let right = self.value(part)?;
                    value = calculate(*operator, value.as_deref().unwrap_or(&Value::Null), right.as_deref().unwrap_or(&Value::Null))?;
                }
                return Ok(value);
            }
            Node::Choose(parts) => {
                let chosen = if self.holds(&parts.0)? { &parts.1 } else { &parts.2 };
                return self.value(chosen);
            }
            Node::Call(function, parts) => return self.call(*function, parts),
            Node::Not(part) => !self.holds(part)?,
            Node::Every(parts) => self.first(parts, false)?.is_none(),
            Node::Some(parts) => self.first(parts, true)?.is_some(),
            Node::Compare(relation, sides) => {
                let left = self.value(&sides.0)?;
                let right = self.value(&sides.1)?;
                self.compare(*relation, left.as_deref(), right.as_deref())?
            }
            Node::Matches(part, pattern) => {
                let value = self.value(part)?;
                found(&pattern.0, value.as_deref())?
            }
            Node::IsSet(part) => self.value(part)?.is_some_and(|it| !it.is_null()),
            Node::IsEmpty(part) => match self.value(part)?.as_deref() {
                None | Some(Value::Null) => true,
                Some(Value::String(text)) => text.is_empty(),
                Some(Value::Array(items)) => items.is_empty(),
                Some(Value::Object(members)) => members.is_empty(),
                Some(Value::Bool(_) | Value::Number(_)) => false,
            },
        };
        made(Value::Bool(truth))
    }

    /// Returns the first part whose truth value is `expected`.
    fn first(&mut self, parts: &'e [Node], expected: bool) -> Result<Option<&'e Node>, NoValue> {
        for part in parts {
            if self.holds(part)? == expected {
                return Ok(Some(part));
            }
        }
        Ok(None)
    }

    fn compare(&mut self, relation: Relation, left: Option<&Value>, right: Option<&Value>) -> Result<bool, NoValue> {
        Ok(match relation {
            Relation::Equal => equal(left, right, false),
            Relation::NotEqual => !equal(left, right, false),
            Relation::Less => order(left, right)?.is_lt(),
            Relation::LessOrEqual => order(left, right)?.is_le(),
            Relation::Greater => order(left, right)?.is_gt(),
            Relation::GreaterOrEqual => order(left, right)?.is_ge(),
            Relation::Contains => self.contains(left, right)?,
            Relation::StartsWith => text(left)?.zip(text(right)?).is_some_and(|(whole, part)| whole.starts_with(&part)),
            Relation::EndsWith => text(left)?.zip(text(right)?).is_some_and(|(whole, part)| whole.ends_with(&part)),
            Relation::Matches => {
                self.spend(PATTERN_STEPS)?;
                let Some(Value::String(pattern)) = right else {
                    return none("the pattern of 'matches' must be a string");
                };
                found(&Regex::linear(pattern).map_err(NoValue)?, left)?
            }
        })
    }

    /// Returns whether a value contains another one.
    pub fn contains(&mut self, whole: Option<&Value>, part: Option<&Value>) -> Result<bool, NoValue> {
        self.spend(whole.and_then(Value::as_array).map_or(0, Vec::len))?;
        contains(whole, part)
    }
}

pub(super) fn made<'e>(value: Value) -> Result<Val<'e>, NoValue> {
    Ok(Some(Cow::Owned(value)))
}

/// Returns the result of a calculation.
pub(super) fn made_number<'e>(number: Option<Number>) -> Result<Val<'e>, NoValue> {
    match number {
        Some(number) => made(Value::Number(number)),
        None => none("the result is too large or not a number"),
    }
}

fn found(pattern: &Regex, value: Option<&Value>) -> Result<bool, NoValue> {
    let Some(text) = text(value)? else { return Ok(false) };
    pattern.find(&text).map_err(|it| NoValue(it.to_string()))
}

/// Applies an operator. Numeric strings count as numbers, except that `+` concatenates two strings, a string and any scalar, and two
/// lists.
fn calculate<'e>(operator: Arithmetic, left: &Value, right: &Value) -> Result<Val<'e>, NoValue> {
    let texts = left.is_string() && right.is_string() && operator == Arithmetic::Add;
    if let (Some(a), Some(b), false) = (number_of(left), number_of(right), texts) {
        return arithmetic(operator, &a, &b);
    }
    match (operator, left, right) {
        (Arithmetic::Add, Value::Array(a), Value::Array(b)) if a.len() + b.len() <= STEPS => made(a.iter().chain(b).cloned().collect()),
        (Arithmetic::Add, Value::String(_), _) | (Arithmetic::Add, _, Value::String(_)) => {
            let mut joined = text(Some(left))?.unwrap_or_default();
            joined.push_str(&text(Some(right))?.unwrap_or_default());
            if joined.len() > MOST_BYTES { none("the string is longer than 1 MiB") } else { made(Value::String(joined)) }
        }
        _ => Err(NoValue(["cannot apply ", operator.symbol(), " to ", kind(Some(left)), " and ", kind(Some(right))].concat())),
    }
}

/// Calculates with two numbers; integers stay integers where that is exact.
fn arithmetic<'e>(operator: Arithmetic, a: &Number, b: &Number) -> Result<Val<'e>, NoValue> {
    if matches!(operator, Arithmetic::Divide | Arithmetic::Remainder) && b.as_f64() == Some(0.0) {
        return none("division by zero");
    }
    let whole = a.as_i64().zip(b.as_i64()).and_then(|(a, b)| match operator {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
        Arithmetic::Divide if a.checked_rem(b) != Some(0) => None,
        Arithmetic::Divide => a.checked_div(b),
        Arithmetic::Remainder => a.checked_rem(b),
    });
    made_number(whole.map(Number::from).or_else(|| {
        let (a, b) = a.as_f64().zip(b.as_f64())?;
        tidy(match operator {
            Arithmetic::Add => a + b,
            Arithmetic::Subtract => a - b,
            Arithmetic::Multiply => a * b,
            Arithmetic::Divide => a / b,
            Arithmetic::Remainder => a % b,
        })
    }))
}

/// Returns the text of a value; JSON for lists and objects.
pub(super) fn shown(value: Option<&Value>) -> String {
    value.map(printed).unwrap_or_default()
}
