//! `assistant` and `agent` steps: a conversation with a document, in one turn or until it is complete.

use convengine_config::flow::Flow;
use convengine_config::flow::document::ProgramKind;
use convengine_config::flow::document::chain::{ProgramStep, StepDef, StepKind};
use serde_json::{Value, json};

use super::super::Runner;
use super::super::advance::StepResult;
use super::super::failure::StepFailure;
use super::super::state::{Wait, WaitKind};
use crate::{ChildTurn, continue_child_session, start_child_session};

impl<'c> Runner<'c> {
    /// Starts the conversation of a step.
    pub(super) async fn start_conversation(&mut self, step: &'c StepDef, path: &str, data: &'c ProgramStep) -> StepResult {
        let Some(flow) = self.chain.find_bound(data) else {
            let message = format!("no published {} '{}'", data.kind.name(), data.target);
            return StepResult::Failed(StepFailure::new("program_missing", message));
        };
        let text = match &data.input {
            Some(template) => self.render_text(template, &self.previous_text()),
            None => self.previous_text(),
        };
        self.set_input(json!(text));
        self.trace("agent.hop", json!({"node": step.id, "agent": flow.document.id}));
        let attempt = self.attempt_number();
        let session = format!("{}/{path}.{attempt}", self.state.id);
        let snapshot = self.state.snapshot.trim_start_matches("sha256:").to_owned();
        let time_zone = self.chain.document.own_time_zone().map(str::to_owned);
        let turn = start_child_session(flow, &snapshot, &session, time_zone, &text, &self.effects).await;
        self.apply_turn(flow, step, path, data, turn)
    }

    /// Gives an event to the conversation of the current step, and continues when it is complete.
    pub(in crate::chain) async fn continue_conversation(&mut self, event: Value) {
        let Some((step, path)) = self.find_current_step() else { return };
        let StepKind::Program(data) = &step.kind else { return };
        let Some((flow, child)) = self.chain.find_bound(data).zip(self.state.child.take()) else { return };
        self.is_child_uncertain = child.get("uncertain_calls").is_some();
        let Some(turn) = continue_child_session(flow, &child, event, &self.effects).await else {
            self.state.child = Some(child);
            return;
        };
        self.has_performed = true;
        let wait = self.state.wait.clone();
        let result = self.apply_turn(flow, step, &path, data, turn);
        if matches!(result, StepResult::Waiting(_)) {
            self.state.wait = wait;
            return;
        }
        self.close_wait(false);
        self.apply_result(step, &path, result);
        if self.state.wait.is_none() && !self.state.status.is_final() {
            self.advance().await;
        }
    }

    /// Takes over what a turn of the conversation has done.
    fn apply_turn(&mut self, flow: &Flow, step: &StepDef, path: &str, data: &ProgramStep, turn: ChildTurn) -> StepResult {
        self.state.usage.add_difference(crate::FlowUsage::default(), turn.usage);
        self.effect_count += turn.effect_count;
        let text = turn.text();
        let output = match data.kind {
            ProgramKind::Agent => json!(text),
            ProgramKind::Assistant | ProgramKind::Workflow => {
                json!({"text": text, "vars": turn.variables(flow), "session_id": turn.state.get("session_id")})
            }
        };
        self.messages.extend(turn.messages);
        self.writes.extend(turn.writes);
        // In a conversation that goes on, the user can repeat what was not understood.
        if !turn.stop_reason.is_empty() && (turn.is_failed || !data.is_until_done) {
            let message = format!("the conversation stopped early ({})", turn.stop_reason);
            // Another attempt is another conversation, which knows nothing of a call that may have been carried out.
            return StepResult::Failed(StepFailure { is_retryable: !turn.is_uncertain, ..StepFailure::new(turn.stop_reason, message) });
        }
        if turn.is_done || !data.is_until_done {
            return StepResult::Done(output);
        }
        self.state.child = Some(turn.state);
        StepResult::Waiting(Wait::new(WaitKind::Message, path, &step.id, self.attempt_number()))
    }
}
