//! `decide` steps: choose a branch by words or conditions.

use convengine_config::flow::document::chain::{DecideCase, DecideStep, StepDef, StepOnError};
use serde_json::{Value, json};

use super::super::Runner;
use super::super::advance::StepResult;
use super::super::failure::StepFailure;

impl<'c> Runner<'c> {
    /// Chooses the branch of the first case that applies. Where none does and a condition has no value, the step fails if it has a branch for
    /// failures.
    pub(super) fn decide(&mut self, step: &'c StepDef, data: &'c DecideStep) -> StepResult {
        let text = match &data.on {
            Some(template) => self.render_text(template, &self.previous_text()),
            None => self.previous_text(),
        };
        self.set_input(json!(text));
        let lower = text.to_lowercase();
        let mut failed = None;
        let found = data.cases.iter().find(|it| self.is_case_true(it, &text, &lower, &mut failed)).map(|it| &it.branch);
        if let Some(reason) = failed.filter(|_| found.is_none() && step.on_error() == StepOnError::Branch) {
            return StepResult::Failed(StepFailure::new("condition_failed", reason));
        }
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

    /// Whether a case applies. Keeps in `failed` why the first condition has no value.
    fn is_case_true(&self, case: &DecideCase, text: &str, lower: &str, failed: &mut Option<String>) -> bool {
        if case.words.iter().any(|word| lower.contains(&word.to_lowercase())) {
            return true;
        }
        let Some(condition) = &case.expr else { return false };
        let result = match &condition.compiled {
            Ok(expr) => expr.is_true(&self.scope(text)).map_err(|it| it.0),
            Err(error) => Err(error.message.clone()),
        };
        result.unwrap_or_else(|reason| {
            self.trace("expr.error", json!({"path": self.state.cursor, "expr": condition.source, "reason": reason}));
            failed.get_or_insert(reason);
            false
        })
    }
}
