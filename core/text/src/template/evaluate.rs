//! Evaluates template expressions.

use std::borrow::Cow;
use std::cell::Cell;

use serde_json::Value;

use super::expression::{Chain, PathExpr, PathRoot, PathStep, TemplateExpr};
use super::operator::BinaryOperator;
use super::value::{Val, get_item, get_member, null, to_boolean};
use crate::value::{Arithmetic, Comparison, Dialect, type_name};

/// The total size of the strings that the expressions of one rendering may create, in bytes.
pub(super) const MAX_TEXT_BYTES: usize = 8_000_000;

/// A variable of a block, linked to those of the outer blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct LocalVariable<'s> {
    pub name: &'s str,
    pub value: &'s Value,
    pub outer: Option<&'s LocalVariable<'s>>,
}

/// Evaluates the expressions of one rendering.
pub(super) struct TemplateEvaluator<'e, 'v> {
    pub lookup: &'e dyn Fn(&str) -> Option<&'v Value>,
    dialect: &'static Dialect,
    text_bytes: Cell<usize>,
}

impl<'e, 'v> TemplateEvaluator<'e, 'v> {
    /// Creates an evaluator that reads variables with `lookup`.
    pub fn new(lookup: &'e dyn Fn(&str) -> Option<&'v Value>, dialect: &'static Dialect) -> Self {
        TemplateEvaluator { lookup, dialect, text_bytes: Cell::new(0) }
    }

    /// Evaluates an expression.
    ///
    /// # Errors
    /// Why the expression has no value.
    pub fn evaluate<'s>(&self, expr: &'s TemplateExpr, locals: Option<&'s LocalVariable<'s>>) -> Result<Val<'s>, String>
    where
        'v: 's,
    {
        match expr {
            TemplateExpr::Literal(value) => Ok(Cow::Borrowed(value)),
            TemplateExpr::Path(path) => self.evaluate_path(path, locals),
            TemplateExpr::Utility(utility, arguments) => self.charge_value(utility.call(self.evaluate_all(arguments, locals)?)?),
            TemplateExpr::Chain(chain) => self.evaluate_chain(chain, locals),
            TemplateExpr::Not(value) => Ok(owned(!to_boolean(&*self.evaluate(value, locals)?)?)),
            TemplateExpr::Negative(value) => self.calculate(Arithmetic::Subtract, &Value::from(0), &*self.evaluate(value, locals)?),
            TemplateExpr::Choice(choice) => {
                let condition = to_boolean(&*self.evaluate(&choice.condition, locals)?)?;
                self.evaluate(if condition { &choice.yes } else { &choice.no }, locals)
            }
            TemplateExpr::Fallback(fallback) => {
                let value = self.evaluate(&fallback.value, locals)?;
                let missing = value.is_null() || fallback.replaces_blank && value.as_str() == Some("");
                if missing { self.evaluate(&fallback.fallback, locals) } else { Ok(value) }
            }
            TemplateExpr::Truth(value) => Ok(owned(self.dialect.is_true(Some(&*self.evaluate(value, locals)?)))),
            TemplateExpr::Join(pieces) => self.join(pieces, locals),
        }
    }

    fn evaluate_all<'s>(&self, exprs: &'s [TemplateExpr], locals: Option<&'s LocalVariable<'s>>) -> Result<Vec<Val<'s>>, String>
    where
        'v: 's,
    {
        exprs.iter().map(|it| self.evaluate(it, locals)).collect()
    }

    fn evaluate_path<'s>(&self, path: &'s PathExpr, locals: Option<&'s LocalVariable<'s>>) -> Result<Val<'s>, String>
    where
        'v: 's,
    {
        let mut is_context = false;
        let mut value = match &path.root {
            PathRoot::Value(expr) => self.evaluate(expr, locals)?,
            PathRoot::Name(name) => match find_local(name, locals) {
                Some(value) => Cow::Borrowed(value),
                None => {
                    is_context = name == "context";
                    (self.lookup)(name).map_or_else(null, Cow::Borrowed)
                }
            },
        };
        for part in &path.steps {
            value = match part {
                PathStep::Member(name) => context_member(value, name, is_context),
                PathStep::Index(key) => self.evaluate_index(value, key, is_context, locals)?,
                PathStep::Call { safe: true, .. } if value.is_null() => null(),
                PathStep::Call { method, arguments, .. } => {
                    self.charge_value(method.call(value, self.evaluate_all(arguments, locals)?)?)?
                }
            };
            is_context = false;
        }
        Ok(value)
    }

    fn evaluate_index<'s>(
        &self,
        value: Val<'s>,
        key: &'s TemplateExpr,
        is_context: bool,
        locals: Option<&'s LocalVariable<'s>>,
    ) -> Result<Val<'s>, String>
    where
        'v: 's,
    {
        // ConvEngine: a bare name in the brackets of a map is the key itself; pinned by the pack `template_expressions`.
        if let (Some(name), true) = (key.bare_name(), value.is_object()) {
            return Ok(context_member(value, name, is_context));
        }
        let key = self.evaluate(key, locals)?;
        Ok(match key.as_str() {
            Some(name) => context_member(value, name, is_context),
            None => get_item(value, &key),
        })
    }

    fn evaluate_chain<'s>(&self, chain: &'s Chain, locals: Option<&'s LocalVariable<'s>>) -> Result<Val<'s>, String>
    where
        'v: 's,
    {
        let mut left = self.evaluate(&chain.first, locals)?;
        for (operator, right) in &chain.rest {
            left = match operator {
                BinaryOperator::Or => owned(to_boolean(&left)? || to_boolean(&*self.evaluate(right, locals)?)?),
                BinaryOperator::And => owned(to_boolean(&left)? && to_boolean(&*self.evaluate(right, locals)?)?),
                BinaryOperator::Compare(comparison) => owned(self.compare(*comparison, &left, &*self.evaluate(right, locals)?)?),
                BinaryOperator::Calculate(Arithmetic::Add) => self.add(left, &*self.evaluate(right, locals)?)?,
                BinaryOperator::Calculate(other) => self.calculate(*other, &left, &*self.evaluate(right, locals)?)?,
            };
        }
        Ok(left)
    }

    /// Adds two numbers, or concatenates a string and another value.
    fn add<'s>(&self, left: Val<'s>, right: &Value) -> Result<Val<'s>, String> {
        if !left.is_string() && !right.is_string() {
            if left.is_number() && right.is_number() {
                return self.calculate(Arithmetic::Add, &left, right);
            }
            return Err(format!(
                "{} and {} cannot be added; begin with a string, as in '' + x",
                type_name(Some(&*left)),
                type_name(Some(right))
            ));
        }
        let more = self.text_in_concatenation(right);
        self.charge(more.len())?;
        let mut text = match left {
            Cow::Owned(Value::String(text)) => text,
            other @ (Cow::Owned(_) | Cow::Borrowed(_)) => {
                let text = self.text_in_concatenation(&other);
                self.charge(text.len())?;
                text.into_owned()
            }
        };
        text.push_str(&more);
        Ok(owned(text))
    }

    fn calculate<'s>(&self, operator: Arithmetic, left: &Value, right: &Value) -> Result<Val<'s>, String> {
        self.dialect.calculate(operator, left, right).map(|number| Cow::Owned(Value::Number(number)))
    }

    fn compare(&self, comparison: Comparison, left: &Value, right: &Value) -> Result<bool, String> {
        let found = self.dialect.satisfies(comparison, Some(left), Some(right));
        found.ok_or_else(|| format!("cannot compare {} with {}", type_name(Some(left)), type_name(Some(right))))
    }

    /// Returns the text of a value within a concatenation, where null prints `null`.
    fn text_in_concatenation<'t>(&self, value: &'t Value) -> Cow<'t, str> {
        if value.is_null() { Cow::Borrowed("null") } else { self.dialect.print(value) }
    }

    fn join<'s>(&self, pieces: &'s [TemplateExpr], locals: Option<&'s LocalVariable<'s>>) -> Result<Val<'s>, String>
    where
        'v: 's,
    {
        let mut text = String::new();
        for piece in pieces {
            let value = self.evaluate(piece, locals)?;
            let more = self.dialect.print(&value);
            self.charge(more.len())?;
            text.push_str(&more);
        }
        Ok(owned(text))
    }

    fn charge_value<'s>(&self, value: Val<'s>) -> Result<Val<'s>, String> {
        if let Cow::Owned(Value::String(text)) = &value {
            self.charge(text.len())?;
        }
        Ok(value)
    }

    fn charge(&self, bytes: usize) -> Result<(), String> {
        let total = self.text_bytes.get().saturating_add(bytes);
        if total > MAX_TEXT_BYTES {
            return Err(format!("expressions make more than {MAX_TEXT_BYTES} bytes of text; print values where they are needed"));
        }
        self.text_bytes.set(total);
        Ok(())
    }
}

fn find_local<'s>(name: &str, locals: Option<&'s LocalVariable<'s>>) -> Option<&'s Value> {
    std::iter::successors(locals, |it| it.outer).find(|it| it.name == name).map(|it| it.value)
}

/// Returns a member of a map; `context.agent` is an alias of `context.mcp` unless the context has an `agent` member.
fn context_member<'s>(value: Val<'s>, name: &str, is_context: bool) -> Val<'s> {
    let is_alias = is_context && name == "agent" && value.get(name).is_none();
    get_member(value, if is_alias { "mcp" } else { name })
}

fn owned<'s>(value: impl Into<Value>) -> Val<'s> {
    Cow::Owned(value.into())
}
