//! A row of `ce_llm_call_log` from a call of a language model: first what was asked, then what it brought.

use super::Millis;
use super::error::EffectError;
use super::request::{LlmReply, LlmRequest};
use super::rows::LlmCallRow;

/// The provider and the model of a call that none has answered.
const UNKNOWN: &str = "UNKNOWN";

impl LlmCallRow {
    /// The row of a call that is not answered yet.
    pub fn new(intent_code: String, state_code: String, request: &LlmRequest) -> LlmCallRow {
        LlmCallRow {
            intent_code,
            state_code,
            provider: UNKNOWN.to_owned(),
            model: UNKNOWN.to_owned(),
            prompt_text: format!("[system] {}\n\n[user] {}", request.system, request.user_prompt()),
            user_context: request.context.to_string(),
            response_text: None,
            success: false,
            error_message: None,
            created_at: 0,
            input_tokens: None,
            output_tokens: None,
            cost_micros: None,
        }
    }

    /// Adds the outcome of the call, which is known since `at`.
    pub fn complete(&mut self, outcome: &Result<LlmReply, EffectError>, at: Millis) {
        self.created_at = at;
        match outcome {
            Ok(reply) => {
                self.success = true;
                self.response_text = Some(reply.text.clone());
                self.provider.clone_from(&reply.provider);
                self.model.clone_from(&reply.model);
                self.input_tokens = reply.usage.map(|it| it.input_tokens);
                self.output_tokens = reply.usage.map(|it| it.output_tokens);
                self.cost_micros = reply.usage.and_then(|it| it.cost_micros);
            }
            Err(error) => self.error_message = Some(error.message.clone()),
        }
    }
}
