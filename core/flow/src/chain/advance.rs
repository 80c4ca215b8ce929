//! Moves through the steps of a run. (docs/spec/chains.md#4)

use convengine_config::flow::document::chain::{AfterBranch, StepDef, StepKind};
use convengine_text::variable_path::VariablePath;
use serde_json::{Value, json};

use super::Runner;
use super::failure::StepFailure;
use super::state::{RunFrame, RunStatus, StepEvent, StepRun, StepStatus, Wait, WaitKind};
use super::step::is_notified;

/// The maximum number of sequences that are nested: the primary one and four branches.
const MAX_FRAMES: usize = 5;

/// The result of an attempt.
pub(super) enum StepResult {
    /// It is done, with its output.
    Done(Value),
    /// It is done, and a branch follows.
    Branch(Value, String),
    /// It waits.
    Waiting(Wait),
    /// It is disabled.
    Disabled,
    /// It was given up without a failure.
    Skipped,
    /// It has failed.
    Failed(StepFailure),
}

impl<'c> Runner<'c> {
    /// Executes steps until the run waits or ends, or until the next attempt belongs to another turn.
    pub(super) async fn advance(&mut self) {
        if self.state.started_at.is_none() {
            self.state.started_at = Some(self.now_text());
            self.trace_trigger();
        }
        self.state.status = RunStatus::Running;
        while self.state.status == RunStatus::Running && self.state.wait.is_none() {
            let Some((step, path)) = self.current_step() else {
                self.end_run(RunStatus::Succeeded, None);
                return;
            };
            self.begin_attempt(step, &path);
            if step.disabled {
                self.apply_result(step, &path, StepResult::Disabled);
                continue;
            }
            if performs_effects(step) {
                if self.has_performed && self.is_stepwise() {
                    return;
                }
                self.has_performed = true;
            }
            let result = self.execute_step(step, &path).await;
            self.apply_result(step, &path, result);
        }
    }

    /// Traces what has started the run.
    fn trace_trigger(&self) {
        let kind = self.state.trigger.get("kind");
        self.trace("workflow_chain.run", json!({"run": self.state.id, "chain": self.state.chain, "trigger": kind}));
        match kind.and_then(Value::as_str) {
            Some("webhook") => self.trace("workflow_chain.ingress", json!({"run": self.state.id})),
            Some("schedule") => self.trace("workflow_chain.schedule", json!({"run": self.state.id, "at": self.state.trigger.get("at")})),
            Some(_) | None => {}
        }
    }

    /// Whether the host gives each attempt with effects a turn of its own, so that the run is stored in between.
    pub(super) fn is_stepwise(&self) -> bool {
        self.event.get("stepwise").and_then(Value::as_bool).unwrap_or(false)
    }

    /// The current step with its path; `None` at the end. Leaves branches that are done.
    fn current_step(&mut self) -> Option<(&'c StepDef, String)> {
        loop {
            let frame = self.state.frames.last()?;
            let branch = frame.branch.as_deref().and_then(|it| self.chain.document.branch(it));
            let steps = branch.map_or(&self.chain.document.steps, |it| &it.steps);
            if let Some(step) = steps.get(frame.index) {
                return Some((step, format!("{}{}", frame.prefix, step.id)));
            }
            if self.state.frames.len() <= 1 || branch.is_some_and(|it| it.then == AfterBranch::Stop) {
                return None;
            }
            self.state.frames.pop();
        }
    }

    /// Returns the current step.
    pub(super) fn find_current_step(&self) -> Option<(&'c StepDef, String)> {
        let frame = self.state.frames.last()?;
        let branch = frame.branch.as_deref().and_then(|it| self.chain.document.branch(it));
        let step = branch.map_or(&self.chain.document.steps, |it| &it.steps).get(frame.index)?;
        Some((step, format!("{}{}", frame.prefix, step.id)))
    }

    /// Records the begin of an attempt, unless the turn before has recorded it.
    fn begin_attempt(&mut self, step: &StepDef, path: &str) {
        self.state.cursor = Some(path.to_owned());
        let last = self.state.attempts().rev().find(|it| it.path == path);
        if last.is_some_and(|it| it.status == StepStatus::Running) {
            return;
        }
        let attempt = last.map_or(1, |it| it.attempt + 1);
        self.state.tries += 1;
        let run = StepRun {
            path: path.to_owned(),
            step_id: step.id.clone(),
            kind: step.kind_name.clone(),
            status: StepStatus::Running,
            attempt,
            input: None,
            output: None,
            error: None,
            started_at: self.now_text(),
            ended_at: None,
        };
        let is_primary = self.state.frames.len() <= 1;
        if is_primary {
            self.state.primary_trace.push(run)
        } else {
            self.state.branch_trace.push(run)
        }
        self.trace_step(path, StepStatus::Running);
    }

    /// The open attempt of the current step.
    pub(super) fn open_attempt(&mut self) -> Option<&mut StepRun> {
        let path = self.state.cursor.clone()?;
        let is_open = |attempt: &&mut StepRun| attempt.path == path && matches!(attempt.status, StepStatus::Running | StepStatus::Waiting);
        let branches = self.state.branch_trace.iter_mut().rev();
        branches.chain(self.state.primary_trace.iter_mut().rev()).find(is_open)
    }

    /// Records what the current attempt works on.
    pub(super) fn set_input(&mut self, input: Value) {
        if let Some(attempt) = self.open_attempt() {
            attempt.input = Some(input);
        }
    }

    /// Moves the open attempt, if there is one, and traces it.
    pub(super) fn move_attempt(&mut self, event: StepEvent, output: Option<Value>, error: Option<Value>) {
        let (at, effects) = (self.now_text(), self.effects.clone());
        let Some(attempt) = self.open_attempt() else { return };
        let Some(next) = effects.take_transition(attempt.status, event) else { return };
        attempt.status = next;
        if next != StepStatus::Waiting {
            attempt.output = output;
            attempt.error = error;
            attempt.ended_at = Some(at);
        }
        let path = attempt.path.clone();
        self.trace_step(&path, next);
    }

    /// Applies the result of an attempt.
    pub(super) fn apply_result(&mut self, step: &'c StepDef, path: &str, result: StepResult) {
        match result {
            StepResult::Done(output) => self.finish_step(output),
            StepResult::Branch(output, branch) => match self.check_branch(&branch) {
                Ok(()) => {
                    self.finish_step(output);
                    self.enter_branch(path, branch);
                }
                Err(failure) => self.fail_step(step, path, failure),
            },
            StepResult::Disabled => {
                self.move_attempt(StepEvent::Skip, None, None);
                self.leave_step();
            }
            StepResult::Skipped => {
                self.move_attempt(StepEvent::Skip, None, None);
                self.continue_without_output(step);
            }
            StepResult::Waiting(wait) => {
                self.state.status = match wait.kind {
                    WaitKind::Human => RunStatus::AwaitingHuman,
                    WaitKind::Webhook | WaitKind::Message => RunStatus::AwaitingEvent,
                    WaitKind::Time | WaitKind::Retry => RunStatus::Sleeping,
                };
                self.state.wait = Some(wait);
                self.move_attempt(StepEvent::Wait, None, None);
            }
            StepResult::Failed(failure) => self.fail_step(step, path, failure),
        }
    }

    /// Ends the current step with its output, and moves to the next one.
    pub(super) fn finish_step(&mut self, output: Value) {
        let Some((step, _)) = self.find_current_step() else { return };
        if let Some(variable) = output_variable(step) {
            self.write_context(variable, output.clone());
        }
        self.move_attempt(StepEvent::Succeed, Some(output), None);
        self.state.previous = Some(step.id.clone());
        self.leave_step();
    }

    /// Moves to the next step of the sequence.
    pub(super) fn leave_step(&mut self) {
        self.state.tries = 0;
        self.state.child = None;
        if let Some(frame) = self.state.frames.last_mut() {
            frame.index += 1;
        }
    }

    /// Moves on from a step that has no output: later steps read null.
    pub(super) fn continue_without_output(&mut self, step: &'c StepDef) {
        if let Some(variable) = output_variable(step) {
            self.write_context(variable, Value::Null);
        }
        self.state.previous = Some(step.id.clone());
        self.leave_step();
    }

    /// Checks that a branch can be entered.
    ///
    /// # Errors
    /// `branch_missing` or `branch_depth`.
    pub(super) fn check_branch(&self, branch: &str) -> Result<(), StepFailure> {
        if self.chain.document.branch(branch).is_none() {
            return Err(StepFailure::new("branch_missing", "the chain has no such branch"));
        }
        if self.state.frames.len() >= MAX_FRAMES {
            return Err(StepFailure::new("branch_depth", "branches are nested too deeply"));
        }
        Ok(())
    }

    /// Enters a branch from a step, which has been left.
    pub(super) fn enter_branch(&mut self, path: &str, branch: String) {
        if self.state.frames.len() == 1 {
            self.state.branch_taken = Some(branch.clone());
        }
        self.state.frames.push(RunFrame { prefix: format!("{path}/{branch}/"), branch: Some(branch), index: 0 });
    }

    /// Writes a variable.
    pub(super) fn write_context(&mut self, variable: &VariablePath, value: Value) {
        if let Err(reason) = variable.set(&mut self.state.context, value) {
            self.trace("output.type_mismatch", json!({"variable": variable.to_string(), "reason": reason}));
        }
    }

    /// Ends the run.
    pub(super) fn end_run(&mut self, status: RunStatus, reason: Option<&str>) {
        self.state.status = status;
        self.state.wait = None;
        self.state.child = None;
        self.state.ended_at = Some(self.now_text());
        if status != RunStatus::Failed {
            self.state.cursor = None;
        }
        self.trace("chain.end", crate::with_member(json!({"status": status}), "reason", reason));
    }

    /// Traces the status of a step.
    fn trace_step(&self, path: &str, status: StepStatus) {
        let attempt = self.state.attempts().rev().find(|it| it.path == path).map_or(1, |it| it.attempt);
        self.trace("chain.step", json!({"path": path, "status": status, "attempt": attempt}));
    }
}

/// Whether an attempt of a step may request effects.
fn performs_effects(step: &StepDef) -> bool {
    match &step.kind {
        StepKind::Program(_) | StepKind::Outbound(_) => true,
        StepKind::Notify(notify) => notify.channel != "log",
        StepKind::Human(human) => human.assignees.iter().any(|it| is_notified(it)),
        StepKind::Inbound(_) | StepKind::Decide(_) | StepKind::Sleep(_) => false,
    }
}

/// The variable that receives the output of a step.
fn output_variable(step: &StepDef) -> Option<&VariablePath> {
    match &step.kind {
        StepKind::Program(it) => it.output.as_ref(),
        StepKind::Outbound(it) => it.output.as_ref(),
        StepKind::Inbound(it) => it.output.as_ref(),
        StepKind::Human(it) => it.output.as_ref(),
        StepKind::Decide(_) | StepKind::Notify(_) | StepKind::Sleep(_) => None,
    }
}
