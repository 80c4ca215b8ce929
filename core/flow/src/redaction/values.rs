//! Replaces values by the names of their variables in texts, JSON values and model messages.

use convengine_text::value::EXPRESSION;
use convengine_text::variable_path::VariablePath;
use convengine_turn::{LlmMessage, LlmRole};
use serde_json::Value;

/// Values to redact, each with its variable; the longest first.
pub struct Redactions {
    values: Vec<(String, String)>,
    /// Minimum digits of a JSON number to be redacted.
    min_number_digits: usize,
}

/// Collects the texts and numbers in the value of a variable.
pub(super) fn collect_scalars(value: &Value, path: &VariablePath, found: &mut Vec<(String, String)>) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            Value::String(_) | Value::Number(_) => found.push((EXPRESSION.print(value).trim().to_owned(), path.to_string())),
            // Too common to identify a value.
            Value::Null | Value::Bool(_) => {}
        }
    }
    found.retain(|it| !it.0.is_empty());
}

impl Redactions {
    /// Creates the redactions of values; `digits` is the minimum length of JSON numbers.
    pub fn new(mut values: Vec<(String, String)>, min_number_digits: usize) -> Redactions {
        values.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        values.dedup();
        Redactions { values, min_number_digits }
    }

    /// Redacts a text.
    pub fn redact_text(&self, text: &str) -> String {
        self.values.iter().fold(text.to_owned(), |text, (value, name)| replace_whole_words(&text, value, &format!("[{name}]")))
    }

    /// Redacts a message of an agent's memory.
    pub fn redact_message(&self, message: &mut LlmMessage) {
        if self.values.is_empty() {
            return;
        }
        let result =
            Some(&message.content).filter(|_| message.role == LlmRole::Tool).and_then(|content| serde_json::from_str(content).ok());
        message.content = result.map_or_else(|| self.redact_text(&message.content), |value: Value| self.redact_value(value).to_string());
        for call in &mut message.tool_calls {
            call.arguments = self.redact_value(call.arguments.take());
        }
    }

    /// Redacts the texts and numbers of a JSON value.
    pub fn redact_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact_text(&text)),
            Value::Number(number) => {
                let value = Value::Number(number);
                let text = EXPRESSION.print(&value);
                let found = self.values.iter().find(|(hidden, _)| *hidden == text && text.len() >= self.min_number_digits);
                found.map(|(_, name)| Value::String(format!("[{name}]"))).unwrap_or(value)
            }
            Value::Array(items) => Value::Array(items.into_iter().map(|it| self.redact_value(it)).collect()),
            Value::Object(members) => {
                Value::Object(members.into_iter().map(|(name, value)| (self.redact_text(&name), self.redact_value(value))).collect())
            }
            Value::Null | Value::Bool(_) => value,
        }
    }
}

/// Replaces a value where it is a whole word: a PIN inside a longer number stays.
fn replace_whole_words(text: &str, value: &str, mark: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(value) {
        let (before, found) = rest.split_at(at);
        let after = found.get(value.len()..).unwrap_or_default();
        let are_one_word = |a: Option<char>, b: Option<char>| a.zip(b).is_some_and(|(a, b)| a.is_alphanumeric() && b.is_alphanumeric());
        let previous = before.chars().next_back().or_else(|| replaced.chars().next_back());
        let is_part = are_one_word(previous, value.chars().next()) || are_one_word(value.chars().next_back(), after.chars().next());
        replaced.push_str(before);
        if is_part {
            let first = value.chars().next().map_or(0, char::len_utf8);
            replaced.push_str(found.get(..first).unwrap_or_default());
            rest = found.get(first..).unwrap_or_default();
        } else {
            replaced.push_str(mark);
            rest = after;
        }
    }
    replaced.push_str(rest);
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_replaced_where_they_are_whole_words() {
        let all = Redactions::new(vec![("1234".to_owned(), "pin".to_owned()), ("12345".to_owned(), "card".to_owned())], 4);
        assert_eq!(all.redact_text("my pin is 1234, not 12345 nor 123456 or x1234"), "my pin is [pin], not [card] nor 123456 or x1234");
        assert_eq!(all.redact_text("1234"), "[pin]");
        let value = json!({"ok": true, "n": [1234, 1, "1234!"], "1234": null});
        assert_eq!(all.redact_value(value), json!({"ok": true, "n": ["[pin]", 1, "[pin]!"], "[pin]": null}));
    }

    #[test]
    fn a_number_is_redacted_in_the_form_in_which_it_is_printed() {
        let mut found = Vec::new();
        collect_scalars(&json!({"limit": 2500.0}), &VariablePath::parse("card").unwrap(), &mut found);
        let all = Redactions::new(found, 4);
        assert_eq!(all.redact_text("Your limit is 2500."), "Your limit is [card].");
        assert_eq!(all.redact_value(json!([2500.0, 2500])), json!(["[card]", "[card]"]));
    }
}
