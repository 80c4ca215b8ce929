//! Prints values as text and encodes text for URLs and forms.

use serde_json::Value;

use crate::text::decimal;
use crate::text::plain_text;

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

/// Percent-encodes everything but the unreserved characters of RFC 3986.
pub(crate) fn percent_encode(text: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            let halves = [byte >> 4, byte & 15];
            out.extend(halves.iter().filter_map(|it| DIGITS.get(usize::from(*it))).copied().map(char::from));
        }
    }
    out
}
