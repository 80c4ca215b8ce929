//! The text of a value.

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::decimal::format_number;
use super::dialect::Dialect;

/// How numbers are printed. Strings are printed verbatim, null as an empty text, lists and objects as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextForm {
    /// The shortest text that parses back to the number; whole numbers have no fraction: `2`.
    Shortest,
    /// Doubles with a fraction or an exponent: `2.0`, `1.0E7`. As the original prints them.
    Java,
}

impl Dialect {
    /// Returns the text of a value.
    pub fn print<'v>(&self, value: &'v Value) -> Cow<'v, str> {
        match value {
            Value::Null => Cow::Borrowed(""),
            Value::Bool(true) => Cow::Borrowed("true"),
            Value::Bool(false) => Cow::Borrowed("false"),
            Value::String(text) => Cow::Borrowed(text),
            Value::Number(number) => Cow::Owned(self.print_number(number)),
            Value::Array(_) | Value::Object(_) => Cow::Owned(value.to_string()),
        }
    }

    fn print_number(&self, number: &Number) -> String {
        match (self.text, number.as_f64()) {
            (TextForm::Java, Some(double)) if number.is_f64() => print_double(double),
            (TextForm::Java, _) => number.to_string(),
            (TextForm::Shortest, _) => format_number(number),
        }
    }
}

// ConvEngine: doubles print as Java prints them; pinned by the pack `template_numbers`.
fn print_double(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        let text = number.to_string();
        return if text.contains('.') { text } else { format!("{text}.0") };
    }
    let text = format!("{number:E}");
    match text.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        Some(_) | None => text,
    }
}
