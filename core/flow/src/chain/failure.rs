//! Failures of steps: retries, the error policy, and the end of the run. (docs/spec/chains.md#4)

use convengine_config::flow::document::Retry;
use convengine_config::flow::document::chain::{StepDef, StepKind, StepOnError};
use convengine_text::date::Date;
use convengine_turn::CancelReason;
use convengine_turn::backoff::Backoff;
use serde_json::{Value, json};

use super::Runner;
use super::advance::StepResult;
use super::state::{RunStatus, StepEvent, Wait, WaitKind};
use crate::Failure;

/// Why an attempt failed.
pub(super) struct StepFailure {
    /// A stable code.
    pub code: String,
    /// What happened, without text from users, models or services.
    pub message: String,
    /// Whether the retry policy covers it.
    pub is_retryable: bool,
    /// What the service asks to wait, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// The output that stays in the trace.
    pub output: Option<Box<Value>>,
}

impl StepFailure {
    /// Creates a failure that is not retried.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> StepFailure {
        StepFailure { code: code.into(), message: message.into(), is_retryable: false, retry_after_ms: None, output: None }
    }
}

impl From<Failure> for StepFailure {
    fn from(failure: Failure) -> StepFailure {
        StepFailure::new(failure.code, failure.message)
    }
}

impl From<Failure> for StepResult {
    fn from(failure: Failure) -> StepResult {
        StepResult::Failed(failure.into())
    }
}

impl<'c> Runner<'c> {
    /// Handles the failure of an attempt: tries again, continues, runs the error branch, or fails the run.
    pub(super) fn fail_step(&mut self, step: &'c StepDef, path: &str, failure: StepFailure) {
        let error = json!({"code": failure.code, "message": failure.message});
        self.move_attempt(StepEvent::Fail, failure.output.as_deref().cloned(), Some(error));
        if let Some(delay) = self.retry_delay(step, &failure) {
            self.trace("chain.retry", json!({"path": path, "delay_ms": delay}));
            let due = self.effects.now().saturating_add(i64::try_from(delay).unwrap_or(i64::MAX));
            let attempt = self.state.attempts().rev().find(|it| it.path == path).map_or(1, |it| it.attempt);
            self.state.status = RunStatus::Sleeping;
            self.state.wait =
                Some(Wait { due: Some(Date::from_millis(due).to_rfc3339_millis()), ..Wait::new(WaitKind::Retry, path, &step.id, attempt) });
            return;
        }
        match (step.on_error(), &step.error_branch) {
            (StepOnError::Continue, _) => self.continue_without_output(step),
            (StepOnError::Branch, Some(branch)) => match self.check_branch(branch) {
                Ok(()) => {
                    self.continue_without_output(step);
                    self.enter_branch(path, branch.clone());
                }
                Err(failure) => self.fail_run(&failure.code, &failure.message),
            },
            (StepOnError::Fail | StepOnError::Branch, _) => self.fail_run(&failure.code, &failure.message),
        }
    }

    /// The wait before the next attempt, in milliseconds; `None` when there is none.
    fn retry_delay(&self, step: &StepDef, failure: &StepFailure) -> Option<u64> {
        let policy = match (&step.retry, &step.kind) {
            (_, StepKind::Notify(_)) => return None,
            (Some(policy), _) => policy.clone(),
            (None, StepKind::Outbound(_)) => Retry { max_attempts: 3, initial_ms: 500, ..Retry::default() },
            (None, _) => return None,
        };
        if !failure.is_retryable || self.state.tries >= policy.max_attempts {
            return None;
        }
        let mut backoff = Backoff::new(policy.initial_ms, policy.multiplier, policy.max_ms);
        for _ in 1..self.state.tries {
            backoff.next_wait(None);
        }
        backoff.next_wait(failure.retry_after_ms)
    }

    /// Fails the run at the current step.
    pub(super) fn fail_run(&mut self, code: &str, message: &str) {
        self.move_attempt(StepEvent::Fail, None, Some(json!({"code": code, "message": message})));
        self.state.error = Some(json!({"code": code, "message": message, "path": self.state.cursor}));
        self.end_run(RunStatus::Failed, Some(code));
    }

    /// Fails the current attempt, because the turn was canceled.
    pub(super) fn abort_attempt(&mut self, reason: CancelReason) {
        let (code, message) = match reason {
            CancelReason::Timeout => ("turn_timeout", "the step has taken too long"),
            CancelReason::Lost => ("turn_lost", "the attempt was interrupted, and its result is unknown"),
            CancelReason::Requested => return self.cancel_run(None),
        };
        let Some((step, path)) = self.find_current_step() else { return };
        // Whether a lost attempt has had an effect is unknown, so it is not repeated. The same holds for what a conversation has called: no
        // key tells a service that another one repeats it.
        let has_written = self.effects.has_written() || self.is_child_uncertain;
        let may_have_acted = reason == CancelReason::Lost || matches!(step.kind, StepKind::Program(_)) && has_written;
        let failure = StepFailure { is_retryable: !may_have_acted, ..StepFailure::new(code, message) };
        if self.open_attempt().is_some() {
            self.close_wait(false);
            self.state.status = RunStatus::Running;
            self.fail_step(step, &path, failure);
        }
    }
}

impl Wait {
    /// Creates a wait without a time.
    pub(super) fn new(kind: WaitKind, path: &str, step_id: &str, attempt: u32) -> Wait {
        Wait {
            kind,
            path: path.to_owned(),
            step_id: step_id.to_owned(),
            attempt,
            token_serial: 0,
            due: None,
            prompt: None,
            assignees: Vec::new(),
            options: Vec::new(),
            form: Vec::new(),
        }
    }
}
