//! Evaluates template expressions.

use std::borrow::Cow;
use std::cell::Cell;
use std::cmp::Ordering;

use serde_json::Value;

use super::expression::{Arithmetic, Chain, Expr, Operator, Part, Path, Root};
use super::value::{Numbers, Val, by_key, by_name, calculate, compare, equal, holds, kind, null, print, truth};

/// The total size of the strings that the expressions of one rendering may create, in bytes.
const MAX_MADE: usize = 8_000_000;

/// A variable of a block, linked to those of the outer blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Local<'s> {
    pub name: &'s str,
    pub value: &'s Value,
    pub outer: Option<&'s Local<'s>>,
}

/// Evaluates the expressions of one rendering.
pub(super) struct Evaluator<'e, 'v> {
    pub lookup: &'e dyn Fn(&str) -> Option<&'v Value>,
    numbers: Numbers,
    made: Cell<usize>,
}

impl<'e, 'v> Evaluator<'e, 'v> {
    /// Creates an evaluator that reads variables with `lookup`.
    pub fn new(lookup: &'e dyn Fn(&str) -> Option<&'v Value>, numbers: Numbers) -> Self {
        Evaluator { lookup, numbers, made: Cell::new(0) }
    }

    /// Evaluates an expression.
    ///
    /// # Errors
    /// Why the expression has no value.
    pub fn value<'s>(&self, expr: &'s Expr, locals: Option<&'s Local<'s>>) -> Result<Val<'s>, String>
    where
        'v: 's,
    {
        match expr {
            Expr::Literal(value) => Ok(Cow::Borrowed(value)),
            Expr::Path(path) => self.path(path, locals),
            Expr::Utility(utility, arguments) => self.counted(utility.call(self.values(arguments, locals)?)?),
            Expr::Chain(chain) => self.chain(chain, locals),
            Expr::Not(value) => Ok(owned(!truth(&*self.value(value, locals)?)?)),
            Expr::Negative(value) => {
                calculate(Arithmetic::Subtract, self.numbers, &Value::from(0), &*self.value(value, locals)?).map(Cow::Owned)
            }
            Expr::Choice(choice) => {
                let condition = truth(&*self.value(&choice.condition, locals)?)?;
                self.value(if condition { &choice.yes } else { &choice.no }, locals)
            }
            Expr::Fallback(fallback) => {
                let value = self.value(&fallback.value, locals)?;
                let missing = value.is_null() || fallback.blank && value.as_str() == Some("");
                if missing { self.value(&fallback.instead, locals) } else { Ok(value) }
            }
            Expr::Truth(value) => Ok(owned(holds(&*self.value(value, locals)?))),
            Expr::Join(pieces) => self.join(pieces, locals),
        }
    }

    fn values<'s>(&self, exprs: &'s [Expr], locals: Option<&'s Local<'s>>) -> Result<Vec<Val<'s>>, String>
    where
        'v: 's,
    {
        exprs.iter().map(|it| self.value(it, locals)).collect()
    }

    fn path<'s>(&self, path: &'s Path, locals: Option<&'s Local<'s>>) -> Result<Val<'s>, String>
    where
        'v: 's,
    {
        let mut is_context = false;
        let mut value = match &path.root {
            Root::Value(expr) => self.value(expr, locals)?,
            Root::Name(name) => match local(name, locals) {
                Some(value) => Cow::Borrowed(value),
                None => {
                    is_context = name == "context";
                    (self.lookup)(name).map_or_else(null, Cow::Borrowed)
                }
            },
        };
        for part in &path.parts {
            value = match part {
                Part::Member(name) => member(value, name, is_context),
                Part::Index(key) => self.index(value, key, is_context, locals)?,
                Part::Call { safe: true, .. } if value.is_null() => null(),
                Part::Call { method, arguments, .. } => self.counted(method.call(value, self.values(arguments, locals)?)?)?,
            };
            is_context = false;
        }
        Ok(value)
    }

    fn index<'s>(&self, value: Val<'s>, key: &'s Expr, is_context: bool, locals: Option<&'s Local<'s>>) -> Result<Val<'s>, String>
    where
        'v: 's,
    {
        // ConvEngine: a bare name in the brackets of a map is the key itself; pinned by the pack `template_expressions`.
        if let (Some(name), true) = (key.bare_name(), value.is_object()) {
            return Ok(member(value, name, is_context));
        }
        let key = self.value(key, locals)?;
        Ok(match key.as_str() {
            Some(name) => member(value, name, is_context),
            None => by_key(value, &key),
        })
    }

    fn chain<'s>(&self, chain: &'s Chain, locals: Option<&'s Local<'s>>) -> Result<Val<'s>, String>
    where
        'v: 's,
    {
        let mut left = self.value(&chain.first, locals)?;
        for (operator, right) in &chain.rest {
            left = match operator {
                Operator::Or => owned(truth(&left)? || truth(&*self.value(right, locals)?)?),
                Operator::And => owned(truth(&left)? && truth(&*self.value(right, locals)?)?),
                Operator::Equal => owned(equal(&left, &*self.value(right, locals)?)),
                Operator::Unequal => owned(!equal(&left, &*self.value(right, locals)?)),
                Operator::Less => owned(compare(&left, &*self.value(right, locals)?)? == Ordering::Less),
                Operator::LessOrEqual => owned(compare(&left, &*self.value(right, locals)?)? != Ordering::Greater),
                Operator::Greater => owned(compare(&left, &*self.value(right, locals)?)? == Ordering::Greater),
                Operator::GreaterOrEqual => owned(compare(&left, &*self.value(right, locals)?)? != Ordering::Less),
                Operator::Calculate(Arithmetic::Add) => self.add(left, &*self.value(right, locals)?)?,
                Operator::Calculate(other) => Cow::Owned(calculate(*other, self.numbers, &left, &*self.value(right, locals)?)?),
            };
        }
        Ok(left)
    }

    /// Adds two numbers, or concatenates a string and another value.
    fn add<'s>(&self, left: Val<'s>, right: &Value) -> Result<Val<'s>, String> {
        if !left.is_string() && !right.is_string() {
            if left.is_number() && right.is_number() {
                return calculate(Arithmetic::Add, self.numbers, &left, right).map(Cow::Owned);
            }
            return Err(format!("{} and {} cannot be added; begin with a text, as in '' + x", kind(&left), kind(right)));
        }
        let more = spoken(right);
        self.charge(more.len())?;
        let mut text = match left {
            Cow::Owned(Value::String(text)) => text,
            other @ (Cow::Owned(_) | Cow::Borrowed(_)) => {
                let text = spoken(&other);
                self.charge(text.len())?;
                text.into_owned()
            }
        };
        text.push_str(&more);
        Ok(owned(text))
    }

    fn join<'s>(&self, pieces: &'s [Expr], locals: Option<&'s Local<'s>>) -> Result<Val<'s>, String>
    where
        'v: 's,
    {
        let mut text = String::new();
        for piece in pieces {
            let value = self.value(piece, locals)?;
            let more = print(&value);
            self.charge(more.len())?;
            text.push_str(&more);
        }
        Ok(owned(text))
    }

    fn counted<'s>(&self, value: Val<'s>) -> Result<Val<'s>, String> {
        if let Cow::Owned(Value::String(text)) = &value {
            self.charge(text.len())?;
        }
        Ok(value)
    }

    fn charge(&self, bytes: usize) -> Result<(), String> {
        let total = self.made.get().saturating_add(bytes);
        if total > MAX_MADE {
            return Err(format!(
                "the texts that expressions make are longer than {MAX_MADE} bytes together; print values where they are needed"
            ));
        }
        self.made.set(total);
        Ok(())
    }
}

fn local<'s>(name: &str, locals: Option<&'s Local<'s>>) -> Option<&'s Value> {
    std::iter::successors(locals, |it| it.outer).find(|it| it.name == name).map(|it| it.value)
}

/// Returns a member of a map; `context.agent` is an alias of `context.mcp` unless the context has an `agent` member.
fn member<'s>(value: Val<'s>, name: &str, is_context: bool) -> Val<'s> {
    let is_alias = is_context && name == "agent" && value.get(name).is_none();
    by_name(value, if is_alias { "mcp" } else { name })
}

fn owned<'s>(value: impl Into<Value>) -> Val<'s> {
    Cow::Owned(value.into())
}

/// Returns the text of a value within a concatenation, where null prints `null`.
fn spoken(value: &Value) -> Cow<'_, str> {
    if value.is_null() { Cow::Borrowed("null") } else { print(value) }
}
