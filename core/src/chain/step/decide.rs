//! `decide` steps: choose a branch by words or conditions.

use serde_json::{Value, json};

use super::super::Runner;
use super::super::advance::StepResult;
use crate::config::flow::document::chain::{DecideCase, DecideStep};

impl<'c> Runner<'c> {
    /// Chooses the branch of the first case that applies.
    pub(super) fn decide(&mut self, data: &'c DecideStep) -> StepResult {
        let text = match &data.on {
            Some(template) => self.render_text(template, &self.previous_text()),
            None => self.previous_text(),
        };
        self.set_input(json!(text));
        let lower = text.to_lowercase();
        let found = data.cases.iter().find(|it| self.is_case_true(it, &text, &lower)).map(|it| &it.branch);
        match found.or(data.default.as_ref()) {
            Some(branch) => {
                self.trace("decide.match", json!({"path": self.state.cursor, "branch": branch}));
                StepResult::Branch(json!(branch), branch.clone())
            }
            None => {
                self.trace("decide.no_match", json!({"path": self.state.cursor}));
                StepResult::Done(Value::Null)
            }
        }
    }

    fn is_case_true(&self, case: &DecideCase, text: &str, lower: &str) -> bool {
        if case.words.iter().any(|it| lower.contains(&it.to_lowercase())) {
            return true;
        }
        let Some(condition) = &case.expr else { return false };
        let result = match &condition.compiled {
            Ok(expr) => expr.is_true(&self.scope(text)).map_err(|it| it.0),
            Err(error) => Err(error.message.clone()),
        };
        result.unwrap_or_else(|reason| {
            self.trace("expr.error", json!({"path": self.state.cursor, "expr": condition.source, "reason": reason}));
            false
        })
    }
}
