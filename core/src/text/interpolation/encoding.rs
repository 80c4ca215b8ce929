//! Prints values as text and encodes text for forms.

use serde_json::Value;

use crate::text::decimal;
use crate::text::plain_text;
use crate::text::url::percent_encode;

/// Returns the text of a value, with numbers in their shortest form.
pub(crate) fn print_value(value: &Value) -> String {
    match value {
        Value::Number(number) => decimal::format_number(number),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => plain_text(value),
    }
}

/// Percent-encodes a text for a form body, with a plus for a space.
pub(super) fn encode_form(text: &str) -> String {
    percent_encode(text).replace("%20", "+")
}
