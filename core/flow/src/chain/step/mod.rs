//! The behavior of step kinds, one file each. (docs/spec/chains.md#7)

mod conversation;
mod decide;
mod human;
mod notify;
mod sleep;
mod webhook;

pub(super) use human::is_notified;

use convengine_config::flow::document::chain::{OnExpire, StepDef, StepKind};
use convengine_config::flow::document::{FlowTemplate, OutputMapping, ValueTemplate};
use convengine_turn::{EffectError, HttpReply, HttpRequest};
use serde_json::{Value, json};

use super::Runner;
use super::advance::StepResult;
use super::failure::StepFailure;
use super::scope::output_text;
use super::state::{StepStatus, WaitKind};
use crate::{Failure, effect_failure_code, is_retryable, parse_body, read_output, status_failure_code};

impl<'c> Runner<'c> {
    /// Executes an attempt of a step.
    pub(super) async fn execute_step(&mut self, step: &'c StepDef, path: &str) -> StepResult {
        match &step.kind {
            StepKind::Program(data) => self.start_conversation(step, path, data).await,
            StepKind::Outbound(data) => self.call_webhook(step, path, data).await,
            StepKind::Inbound(data) => self.await_webhook(step, path, data),
            StepKind::Human(data) => self.ask_human(step, path, data).await,
            StepKind::Decide(data) => self.decide(step, data),
            StepKind::Notify(data) => self.notify(step, path, data).await,
            StepKind::Sleep(data) => self.sleep(step, path, data),
        }
    }

    /// The number of the current attempt.
    fn attempt_number(&mut self) -> u32 {
        self.open_attempt().map_or(1, |it| it.attempt)
    }

    /// The output of the step before; null when there is none.
    fn previous_output(&self) -> Value {
        let last = self.state.previous.as_deref().and_then(|it| self.state.last_attempt(it));
        last.filter(|it| it.status == StepStatus::Succeeded).and_then(|it| it.output.clone()).unwrap_or_default()
    }

    /// The text of the output of the step before; of the trigger before the first step.
    fn previous_text(&self) -> String {
        if self.state.previous.is_some() {
            return output_text(&self.previous_output());
        }
        self.state.trigger.get("body").map(output_text).unwrap_or_default()
    }

    /// Renders a text template; one that does not compile is returned as written.
    fn render_text(&self, template: &FlowTemplate, text: &str) -> String {
        let Ok(interpolation) = &template.compiled else { return template.source.clone() };
        let rendered = interpolation.render_text(&self.scope(text));
        self.warn_undefined(&rendered.undefined);
        rendered.output
    }

    /// Renders a JSON template.
    fn render_json(&self, template: &ValueTemplate) -> Value {
        let Ok(tree) = &template.compiled else { return template.source.clone() };
        let rendered = tree.render(&self.scope(""));
        self.warn_undefined(&rendered.undefined);
        rendered.output
    }

    /// Sends a request once.
    async fn send(&mut self, request: HttpRequest) -> Result<HttpReply, EffectError> {
        self.effect_count += 1;
        self.state.usage.tool_calls += 1;
        self.effects.perform(request).await
    }

    /// Writes the outputs of a response below `context`, all of them or none.
    fn write_outputs(&mut self, outputs: &[OutputMapping], body: &Value) -> Result<(), Failure> {
        let mut values = Vec::new();
        for output in outputs {
            let default = |value: &Value| self.render_json(&ValueTemplate::from(value.clone()));
            values.extend(read_output(output, body, default)?.map(|it| (&output.variable, it)));
        }
        for (variable, value) in values {
            self.write_context(variable, value);
        }
        Ok(())
    }

    /// Handles a wait for a person or a webhook that has expired.
    pub(super) async fn on_expire(&mut self) {
        let Some((wait, (step, path))) = self.state.wait.clone().zip(self.find_current_step()) else { return };
        self.close_wait(true);
        match &step.kind {
            StepKind::Human(data) => match data.on_expire {
                OnExpire::Continue => self.apply_result(step, &path, StepResult::Skipped),
                OnExpire::Cancel => return self.cancel_run(Some("expired")),
                OnExpire::Fail => {
                    let failure = StepFailure::new("expired", "no decision was made in time");
                    self.apply_result(step, &path, StepResult::Failed(failure));
                }
            },
            StepKind::Inbound(_) if wait.kind == WaitKind::Webhook => {
                let failure = StepFailure::new("timeout", "the webhook was not called in time");
                self.apply_result(step, &path, StepResult::Failed(failure));
            }
            StepKind::Inbound(_)
            | StepKind::Program(_)
            | StepKind::Outbound(_)
            | StepKind::Decide(_)
            | StepKind::Notify(_)
            | StepKind::Sleep(_) => return,
        }
        if self.state.wait.is_none() && !self.state.status.is_final() {
            self.advance().await;
        }
    }
}

/// The failure of a request, with whether the retry policy of its step covers it.
fn request_failure(step: &StepDef, outcome: &Result<HttpReply, EffectError>) -> Option<StepFailure> {
    let policy = step.retry.clone().unwrap_or_default();
    let (code, message, retry_after_ms) = match outcome {
        Ok(reply) if (200..300).contains(&reply.status) => return None,
        Ok(reply) => (status_failure_code(reply.status), format!("the service answered {}", reply.status), reply.retry_after_ms),
        Err(error) => {
            let code = effect_failure_code(error);
            (code, format!("the request could not be sent ({code})"), error.retry_after_ms)
        }
    };
    Some(StepFailure { is_retryable: is_retryable(&policy, outcome), retry_after_ms, ..StepFailure::new(code, message) })
}

/// The body of a response.
fn response_body(reply: &HttpReply) -> Result<Value, Failure> {
    if reply.body.trim().is_empty() { Ok(json!(null)) } else { parse_body(reply) }
}
