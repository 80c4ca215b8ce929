//! What stays out of logs: values that a document redacts, in what is kept of the turn that brought them.

use serde_json::{Value, json};

use super::Walk;
use crate::text::path::Path;
use crate::turn::Write;

/// Characters that an answer has at least which may not be said again.
const LONG: usize = 4;

impl Walk<'_> {
    /// Whether values of a type stay out of logs where they go to this variable.
    pub(super) fn redacts(&self, variable: &Path, entity: &str) -> bool {
        self.is_redacted(variable) || self.flow.document.entities.iter().any(|it| it.id == entity && it.redact)
    }

    /// A question that shows a value stands in the history with the name of its variable, and so does the answer that has brought it.
    pub(super) fn strike_out_asked(&mut self, variable: &Path, shown: &str) {
        if let Some(asked) = self.state.history.iter_mut().rev().find(|it| it.role == "bot") {
            asked.text = asked.text.replace(shown, &format!("[{variable}]"));
        }
        self.strike_out(variable);
    }

    /// What the user has said in this turn stands in the history and in the match as the name of the variable; in the log of model calls
    /// so does the value.
    pub(super) fn strike_out(&mut self, variable: &Path) {
        let name = format!("[{variable}]");
        if let Some(said) = self.state.history.iter_mut().rev().find(|it| it.role == "user") {
            said.text.clone_from(&name);
        }
        let uttered = self.uttered();
        // A short answer agrees to a value and is none.
        if uttered.chars().count() >= LONG {
            self.struck.push((uttered.trim().to_owned(), variable.to_string()));
        }
        let matched = self.state.vars.get_mut("_last_intent").and_then(Value::as_object_mut);
        if let Some(matched) = matched
            && matched.get("text").and_then(Value::as_str) == Some(uttered.as_str())
        {
            matched.insert("text".to_owned(), json!(name));
        }
        let value = self.variable(variable).map(crate::text::plain_text);
        let hidden: Vec<String> = [Some(uttered), value].into_iter().flatten().filter(|it| !it.trim().is_empty()).collect();
        let struck = |text: &str| hidden.iter().fold(text.to_owned(), |text, it| text.replace(it.as_str(), &name));
        for write in &mut self.kept {
            if let Write::LlmCall(row) = write {
                row.prompt_text = struck(&row.prompt_text);
                row.response_text = row.response_text.take().map(|it| struck(&it));
            }
        }
    }
}
