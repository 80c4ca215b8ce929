//! Truth.

use serde_json::Value;

use super::dialect::Dialect;

/// Which values are true, beside what the words of a dialect say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// Every value that is not missing.
    Present,
    /// Neither null nor `false`.
    Value {
        /// Whether a blank text, an empty list and an empty object are true.
        empty: bool,
        /// Whether the number 0 is true.
        zero: bool,
        /// Whether the text `0` is true.
        zero_text: bool,
    },
}

impl Dialect {
    /// Whether a value is true.
    pub fn is_true(&self, value: Option<&Value>) -> bool {
        let (Some(value), Truth::Value { empty, zero, zero_text }) = (value, self.truth) else { return value.is_some() };
        match value {
            Value::Null => false,
            Value::Bool(truth) => *truth,
            Value::Number(number) => zero || number.as_f64() != Some(0.0),
            Value::String(text) => match text.trim() {
                "" => empty,
                "0" => zero_text,
                word => self.parse_word(word) != Some(false),
            },
            Value::Array(items) => empty || !items.is_empty(),
            Value::Object(members) => empty || !members.is_empty(),
        }
    }

    /// Parses a word for true or false.
    pub fn parse_word(&self, text: &str) -> Option<bool> {
        let text = text.trim();
        self.words.iter().find(|it| text.eq_ignore_ascii_case(it.0)).map(|it| it.1)
    }
}
