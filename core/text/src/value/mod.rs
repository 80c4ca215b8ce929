//! What a JSON value means: truth, equality, order, arithmetic and text, once for every language of the configuration.
//!
//! Parsers and syntax trees differ; what they do with values does not, except for what a [`Dialect`] says.

mod arithmetic;
pub mod decimal;
mod dialect;
mod equality;
mod exact;
mod order;
#[cfg(test)]
mod tests;
mod text;
mod truth;

use serde_json::Value;

pub use arithmetic::{Arithmetic, NumberForm, round_to_digits};
pub use dialect::{Dialect, EXPRESSION, FORMULA, PROGRESS, QUERY, ROW_PATH, SCHEMA, TEMPLATE, WORDS};
pub use equality::NumericTexts;
pub use exact::is_multiple;
pub use order::{COMPARISON_SIGNS, Comparison, Orderable};
pub use text::TextForm;
pub use truth::Truth;

/// Returns the name of a value's type, for messages.
// Messages of evaluation errors are part of the hashed trace of a turn: a change of these names changes hashes.
pub fn type_name(value: Option<&Value>) -> &'static str {
    match value {
        None | Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "a boolean",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(_)) => "a string",
        Some(Value::Array(_)) => "a list",
        Some(Value::Object(_)) => "an object",
    }
}

/// Returns the number of characters, elements or members; `None` for other values.
pub fn length(value: &Value) -> Option<usize> {
    match value {
        Value::Array(items) => Some(items.len()),
        Value::Object(members) => Some(members.len()),
        Value::String(text) => Some(text.chars().count()),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}
