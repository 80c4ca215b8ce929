//! Model calls of flows: requests, usage, budget and the call log.

use convengine_config::flow::document::EntityData;
use convengine_text::json::read_object;
use convengine_text::json::schema::JsonSchema;
use convengine_text::value::EXPRESSION;
use convengine_turn::{EffectError, EffectErrorDetail, EffectErrorKind, LlmCallRow, LlmMode, LlmReply, LlmRequest, Usage, Write};
use convengine_understanding::entity::Entity;
use serde_json::{Value, json};

use super::spend_budget::BudgetCheck;
use super::state::SessionState;
use super::turn::Turn;

impl Turn<'_> {
    /// Creates a request for a text.
    pub(super) fn new_model_request(&self, purpose: &str, system: &str, user: String) -> LlmRequest {
        LlmRequest {
            purpose: purpose.to_owned(),
            mode: LlmMode::Text,
            system: system.to_owned(),
            user,
            hint: None,
            schema: None,
            context: json!({}),
            user_text: self.state.last_user_text(&self.event).trim().to_owned(),
            dialogue: None,
        }
    }

    /// Asks a model for a JSON object; `None` when the call fails or the reply is not an object.
    pub(super) async fn ask_json(&mut self, purpose: &str, system: &str, user: &Value, schema: Value) -> Option<Value> {
        let request =
            LlmRequest { mode: LlmMode::Json, schema: Some(schema), ..self.new_model_request(purpose, system, format_members(user)) };
        let reply = self.ask_model(request, 1).await.ok()?;
        let value = read_object(&reply.text).ok().map(Value::Object);
        if value.is_none() {
            self.warn("llm.invalid", json!({"purpose": purpose}));
        }
        value
    }

    /// Asks a model for an object of a schema; `None` when the reply does not conform (docs/spec/flows-http.md#7).
    pub(super) async fn ask_for_schema(&mut self, purpose: &str, system: &str, user: &Value, schema: Value) -> Option<Value> {
        let compiled = JsonSchema::compile(&schema);
        let mut reply = self.ask_json(purpose, system, user, schema).await?;
        let is_valid = compiled.is_ok_and(|schema| {
            schema.coerce(&mut reply);
            schema.find_violation(&reply).is_none()
        });
        if !is_valid {
            self.warn("llm.invalid", json!({"purpose": purpose}));
        }
        is_valid.then_some(reply)
    }

    /// Calls a model, and counts and logs the call.
    ///
    /// # Errors
    /// Returns the error of the effect, or `Limited` when the spend budget is used up.
    pub(super) async fn ask_model(&mut self, request: LlmRequest, attempt: u32) -> Result<LlmReply, EffectError> {
        self.check_budget(&request.purpose)?;
        let mut row = new_log_row(&self.state, &request);
        let purpose = request.purpose.clone();
        let outcome = self.effects.perform(request).await;
        row.complete(&outcome, self.effects.now());
        self.state.usage.llm_calls += 1;
        match &outcome {
            Ok(reply) => {
                row.response_text = Some(format_reply(reply));
                if let Some(usage) = reply.usage {
                    self.state.usage.input_tokens += usage.input_tokens;
                    self.state.usage.output_tokens += usage.output_tokens;
                    self.record_cost(usage);
                }
                self.record.record_effect("llm.generate", Some(&purpose), "ok", attempt);
            }
            Err(error) => {
                self.record.record_effect("llm.generate", Some(&purpose), "error", attempt);
                self.warn("llm.failed", json!({"purpose": purpose, "kind": error.kind}));
            }
        }
        self.record.model_call_writes.push(Write::LlmCall(row));
        if let Some(reply) = outcome.as_ref().ok().filter(|it| !it.reasoning.is_empty()) {
            self.trace("llm.reasoning", json!({"purpose": purpose, "text": reply.reasoning}));
        }
        outcome
    }

    /// Checks that the budget allows a call.
    ///
    /// # Errors
    /// Returns `Limited` with the detail `BUDGET` when it is used up.
    fn check_budget(&mut self, purpose: &str) -> Result<(), EffectError> {
        match self.record.budget.check() {
            BudgetCheck::Enough => Ok(()),
            BudgetCheck::Low { left, cap } => {
                self.trace("budget.low", json!({"left_microcents": left, "cap_microcents": cap}));
                Ok(())
            }
            BudgetCheck::Exhausted => {
                self.warn("budget.reached", json!({"purpose": purpose}));
                let error = EffectError::new(EffectErrorKind::Limited, "spend budget exhausted; model call refused");
                Err(error.with_detail(EffectErrorDetail::BUDGET))
            }
        }
    }

    /// Subtracts the cost of a call.
    pub(super) fn record_cost(&mut self, usage: Usage) {
        // 1 micro-unit is 100 microcents.
        let microcents = usage.cost_micros.unwrap_or(0).saturating_mul(100);
        self.state.usage.cost_microcents += microcents;
        self.record.budget.spend(microcents);
    }

    /// Lets a model extract a value; `None` when it is not valid for the entity.
    pub(super) async fn extract_by_model(&mut self, data: &EntityData, entity: &Entity) -> Option<Value> {
        let system = "Find the value that a user's message gives for a question. Answer with JSON: {\"value\": the value or null}.";
        let question = data.prompt.templates().next().map(|it| it.source.clone()).unwrap_or_default();
        let user = json!({"message": self.state.last_user_text(&self.event), "question": question, "type": data.entity, "variable": data.variable.to_string()});
        let schema = json!({"type": "object", "required": ["value"], "properties": {"value": {}}});
        let reply = self.ask_json("extract", system, &user, schema).await?;
        entity.accept(reply.get("value")?, self.extraction_context())
    }
}

/// Formats the members of an object as `name: value` lines, without escaping.
fn format_members(user: &Value) -> String {
    let line = |(name, value): (&String, &Value)| format!("{name}: {}", EXPRESSION.print(value));
    user.as_object().into_iter().flatten().map(line).collect::<Vec<_>>().join("\n")
}

/// A reply as it is logged: its text, or JSON when it has tool calls.
fn format_reply(reply: &LlmReply) -> String {
    match reply.tool_calls.is_empty() {
        true => reply.text.clone(),
        false => json!({"text": reply.text, "tool_calls": reply.tool_calls}).to_string(),
    }
}

fn new_log_row(state: &SessionState, request: &LlmRequest) -> LlmCallRow {
    let intent = state.vars.get("_active_intent_id").and_then(Value::as_str).unwrap_or("UNKNOWN").to_owned();
    let place = state.frame().map_or_else(|| "UNKNOWN".to_owned(), |it| format!("{}/{}", it.graph, it.node));
    LlmCallRow::new(intent, place, request)
}
