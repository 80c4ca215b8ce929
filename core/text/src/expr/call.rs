//! Calls the built-in functions of expressions.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::error::EvalError;
use super::eval::{Evaluator, Val, compare_values, eval_error, ok_number, ok_value};
use super::functions::Function;
use super::tree::ExprNode;
use crate::date::Date;
use crate::value::decimal::{Decimal, whole_up_to};
use crate::value::{EXPRESSION, length, type_name};

/// The most digits after the point to which numbers are rounded.
const MAX_PLACES: usize = 12;

impl<'e> Evaluator<'e> {
    /// Calls a function.
    pub fn call(&mut self, function: Function, parts: &'e [ExprNode]) -> Result<Val<'e>, EvalError> {
        if function == Function::Coalesce {
            for part in parts {
                let value = self.evaluate(part)?;
                if value.as_ref().is_some_and(|it| !it.is_null()) {
                    return Ok(value);
                }
            }
            return Ok(None);
        }
        let mut arguments = Vec::with_capacity(parts.len());
        for part in parts {
            arguments.push(self.evaluate(part)?);
        }
        let first = arguments.first().and_then(Option::as_deref);
        let second = arguments.get(1).and_then(Option::as_deref);
        if function.reads_all() {
            arguments.iter().try_for_each(|argument| self.spend_bytes(argument.as_deref()))?;
        }
        let mut changed = |change: fn(&str) -> String| Ok(self.expect_text(first)?.map(|text| Cow::Owned(Value::String(change(&text)))));
        match function {
            Function::Len => match first {
                None | Some(Value::Null) => ok_value(Value::from(0)),
                Some(value) => match length(value) {
                    Some(length) => ok_value(Value::from(length)),
                    None => eval_error("'len' needs a string, a list or an object"),
                },
            },
            Function::Lower => changed(str::to_lowercase),
            Function::Upper => changed(str::to_uppercase),
            Function::Trim => changed(|text| text.trim().to_owned()),
            Function::Number => match first {
                Some(Value::Bool(truth)) => ok_value(Value::from(u8::from(*truth))),
                value => expect_number(value).map(|number| Some(Cow::Owned(Value::Number(number)))),
            },
            Function::String => ok_value(Value::String(first.map(|value| EXPRESSION.print(value).into_owned()).unwrap_or_default())),
            Function::Bool => to_boolean(first).map(|truth| Some(Cow::Owned(Value::Bool(truth)))),
            Function::Date => {
                let date =
                    if arguments.is_empty() { Date::in_zone(self.names.now(), self.names.time_zone()) } else { self.expect_date(first)? };
                ok_value(Value::String(date.to_day_string()))
            }
            Function::DaysBetween => {
                ok_value(Value::from(self.expect_date(second)?.days_since_epoch() - self.expect_date(first)?.days_since_epoch()))
            }
            Function::Has => self.contains(first, second).and_then(|found| ok_value(Value::Bool(found))),
            Function::Min => self.find_extreme(&arguments, Ordering::Less),
            Function::Max => self.find_extreme(&arguments, Ordering::Greater),
            Function::Round => {
                let places = if arguments.len() > 1 { second.and_then(places_of) } else { Some(0) };
                let Some(places) = places else { return eval_error("'round' needs a whole number of digits from 0 to 12") };
                ok_number(Decimal::new(&expect_number(first)?, 0).round(places).to_number())
            }
            Function::Abs => {
                let mut decimal = Decimal::new(&expect_number(first)?, 0);
                decimal.negative = false;
                ok_number(decimal.to_number())
            }
            Function::Any | Function::All | Function::Count => {
                let items = self.list_items(first)?;
                let has_item = arguments.len() > 1;
                let count = items
                    .iter()
                    .filter(|item| if has_item { EXPRESSION.is_equal(Some(item), second) } else { EXPRESSION.is_true(Some(item)) })
                    .count();
                if function == Function::Count {
                    return ok_value(Value::from(count));
                }
                ok_value(Value::Bool(if function == Function::Any { count > 0 } else { count == items.len() }))
            }
            Function::Coalesce => Ok(None),
        }
    }

    /// Returns a date in the session's time zone.
    fn expect_date(&self, value: Option<&Value>) -> Result<Date, EvalError> {
        let zone = self.names.time_zone();
        let found = match value {
            Some(Value::String(text)) => Date::parse_in_zone(text, zone),
            Some(Value::Number(millis)) => millis.as_i64().map(|it| Date::in_zone(it, zone)),
            None | Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) => None,
        };
        found.ok_or_else(|| EvalError(["expected a date such as '2026-01-31', found ", type_name(value)].concat()))
    }

    /// Returns the elements of a list; an empty list for null.
    fn list_items<'v>(&mut self, value: Option<&'v Value>) -> Result<&'v [Value], EvalError> {
        match value {
            None | Some(Value::Null) => Ok(&[]),
            Some(Value::Array(items)) => self.spend(items.len()).map(|()| items.as_slice()),
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
                Err(EvalError(["expected a list, found ", type_name(value)].concat()))
            }
        }
    }

    fn find_extreme(&mut self, arguments: &[Val<'e>], preferred: Ordering) -> Result<Val<'e>, EvalError> {
        let values: Vec<Option<&Value>> = match arguments {
            [one] => self.list_items(one.as_deref())?.iter().map(Some).collect(),
            several => several.iter().map(Option::as_deref).collect(),
        };
        let Some((first, rest)) = values.split_first() else { return Ok(None) };
        let mut found = *first;
        // A single value is compared with itself, so that it must be orderable as well.
        compare_values(found, found)?;
        for value in rest {
            if compare_values(*value, found)? == preferred {
                found = *value;
            }
        }
        Ok(found.map(|found| Cow::Owned(found.clone())))
    }
}

/// Returns a number of digits after the point.
fn places_of(value: &Value) -> Option<usize> {
    whole_up_to(EXPRESSION.number_of(value)?.as_f64()?, MAX_PLACES)
}

fn expect_number(value: Option<&Value>) -> Result<Number, EvalError> {
    value.and_then(|it| EXPRESSION.number_of(it)).ok_or_else(|| EvalError(["expected a number, found ", type_name(value)].concat()))
}

fn to_boolean(value: Option<&Value>) -> Result<bool, EvalError> {
    let found = match value {
        None | Some(Value::Null) => Some(false),
        Some(Value::Bool(_) | Value::Number(_)) => Some(EXPRESSION.is_true(value)),
        Some(Value::String(text)) => match text.trim() {
            "" | "0" => Some(false),
            "1" => Some(true),
            _ => EXPRESSION.parse_word(text),
        },
        Some(Value::Array(_) | Value::Object(_)) => None,
    };
    found.ok_or_else(|| EvalError([type_name(value), " is neither true nor false"].concat()))
}
