//! Text: patterns, templates and expressions.

pub mod braces;
pub mod date;
pub mod decimal;
pub mod expr;
pub mod literals;
pub mod names;
pub mod path;
pub mod phrase;
pub mod regex;
mod scan;
pub mod task;
pub mod template;

use serde_json::Value;

/// The text of a value as templates print it: strings as they are, nothing for null, JSON for the rest.
pub fn plain_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// The text on one line, without spare white space.
pub fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The beginning of a text, of at most so many characters; an ellipsis says that there was more.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most).chain(['…']).collect()
}
