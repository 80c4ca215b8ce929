//! What stays out of logs: values that a document redacts, in what is kept of the turn that brought them.

use serde_json::{Value, json};

use super::Walk;
use crate::turn::Write;

impl Walk<'_> {
    /// A question that shows a value stands in the history with the name of its variable, and so does the answer that has brought it.
    pub(super) fn strike_out_asked(&mut self, variable: &str, shown: &str) {
        if let Some(asked) = self.state.history.iter_mut().rev().find(|it| it.role == "bot") {
            asked.text = asked.text.replace(shown, &format!("[{variable}]"));
        }
        self.strike_out(variable);
    }

    /// What the user has said in this turn stands in the history, in the match and in the log of model calls as the name of the variable.
    pub(super) fn strike_out(&mut self, variable: &str) {
        let name = format!("[{variable}]");
        if let Some(said) = self.state.history.iter_mut().rev().find(|it| it.role == "user") {
            said.text.clone_from(&name);
        }
        let uttered = self.uttered();
        let matched = self.state.vars.get_mut("_last_intent").and_then(Value::as_object_mut);
        if let Some(matched) = matched
            && matched.get("text").and_then(Value::as_str) == Some(uttered.as_str())
        {
            matched.insert("text".to_owned(), json!(name));
        }
        if uttered.trim().is_empty() {
            return;
        }
        for write in &mut self.kept {
            if let Write::LlmCall(row) = write {
                row.prompt_text = row.prompt_text.replace(&uttered, &name);
                row.response_text = row.response_text.take().map(|it| it.replace(&uttered, &name));
            }
        }
    }
}
