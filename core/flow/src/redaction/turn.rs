//! Redacts what a turn stores: history, agent memory, intent match and the model call log.

use convengine_text::value::EXPRESSION;
use convengine_text::variable_path::VariablePath;
use convengine_turn::Write;
use serde_json::{Value, json};

use super::values::{Redactions, collect_scalars};
use crate::turn::Turn;

/// Minimum characters of an input to be redacted in later texts.
const MIN_REDACTED_CHARS: usize = 4;

impl Turn<'_> {
    /// Returns the values to redact now.
    pub(crate) fn redactions(&self) -> Redactions {
        let mut found = self.record.redacted_texts.clone();
        for path in self.flow.redacted_variables() {
            if let Some(value) = self.state.variable(path) {
                collect_scalars(value, path, &mut found);
            }
        }
        Redactions::new(found, 0)
    }

    /// Redacts a text that is stored or sent, if the document redacts anything.
    pub(crate) fn redact_outgoing(&self, text: String) -> String {
        if self.flow.redacted_variables().is_empty() { text } else { self.redactions().redact_text(&text) }
    }

    /// Redacts a value in the last question, and the input that contained it.
    pub(crate) fn redact_question(&mut self, variable: &VariablePath, shown: &str) {
        if let Some(question) = self.state.history.iter_mut().rev().find(|it| it.role == "bot") {
            question.text = Redactions::new(vec![(shown.to_owned(), variable.to_string())], 0).redact_text(&question.text);
        }
        self.redact_input(variable);
    }

    /// Redacts the input of this turn in the history and in the intent match, and the input and the value in the model call log.
    pub(crate) fn redact_input(&mut self, variable: &VariablePath) {
        let value = self.state.variable(variable).cloned();
        self.redact_input_with(variable, value.as_ref());
    }

    /// Redacts the input as a value of a variable, which the variable does not have to hold.
    pub(crate) fn redact_input_with(&mut self, variable: &VariablePath, value: Option<&Value>) {
        let name = format!("[{variable}]");
        if let Some(input) = self.state.history.iter_mut().rev().find(|it| it.role == "user") {
            input.text.clone_from(&name);
        }
        let text = self.event.input_text();
        // A short input is a confirmation rather than a value.
        if text.chars().count() >= MIN_REDACTED_CHARS {
            self.record.redacted_texts.push((text.trim().to_owned(), variable.to_string()));
        }
        let matched = self.state.vars.get_mut("_last_intent").and_then(Value::as_object_mut);
        if let Some(matched) = matched
            && matched.get("text").and_then(Value::as_str) == Some(text.as_str())
        {
            matched.insert("text".to_owned(), json!(name));
        }
        let value = value.map(|value| EXPRESSION.print(value).into_owned());
        let hidden = [Some(text), value].into_iter().flatten().filter(|text| !text.trim().is_empty());
        let hidden = Redactions::new(hidden.map(|it| (it, variable.to_string())).collect(), 0);
        for write in &mut self.record.model_call_writes {
            if let Write::LlmCall(row) = write {
                row.prompt_text = hidden.redact_text(&row.prompt_text);
                row.response_text = row.response_text.take().map(|it| hidden.redact_text(&it));
            }
        }
    }
}
