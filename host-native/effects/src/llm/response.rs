//! Model calls and responses in the form that all providers share.

use convengine_core::text::reasoning::ReasoningSplitter;
use convengine_core::turn::{LlmDialogue, LlmMode, LlmRequest, LlmToolCall};
use serde_json::Value;

use super::failure::ModelFailure;
use super::tool_calls::ToolCallAssembler;

/// One call of a model.
#[derive(Debug, Clone, Copy)]
pub struct ModelCall<'c> {
    /// The core's request.
    pub request: &'c LlmRequest,
    /// The model's name.
    pub model: &'c str,
    /// Maximum number of tokens of the answer.
    pub max_tokens: u64,
    /// Omitted if absent.
    pub temperature: Option<f64>,
    /// Whether to send the token limit as `max_completion_tokens`.
    pub completion_tokens: bool,
    /// Whether to stream the answer.
    pub stream: bool,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FinishReason {
    /// The model finished.
    #[default]
    Stop,
    /// The token limit was reached.
    Length,
    /// The model or a content filter refused.
    Refused,
}

/// An answer, complete or as far as it was received.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelResponse {
    /// The text so far, and what the model thought aloud.
    pub text: ReasoningSplitter,
    /// The tool calls of the model.
    pub tool_calls: Vec<LlmToolCall>,
    /// Tool calls that are still being received.
    pub partial_tool_calls: ToolCallAssembler,
    /// The model's reason for refusing.
    pub refusal: String,
    /// The model's name, if the provider reports it.
    pub model: Option<String>,
    /// Number of prompt tokens.
    pub input_tokens: Option<u64>,
    /// Number of answer tokens.
    pub output_tokens: Option<u64>,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// Whether the model has ended its answer, of which the provider may still send the usage.
    pub has_finished: bool,
    /// Whether the provider has marked the end.
    pub complete: bool,
    /// The number of the answer among several, if the provider numbers them.
    pub choice: Option<u64>,
}

impl ModelResponse {
    /// Sets the model's name, if there is one.
    pub fn set_model(&mut self, model: Option<&Value>) {
        let name = model.and_then(Value::as_str).filter(|name| !name.trim().is_empty());
        self.model = name.map(str::to_owned).or_else(|| self.model.take());
    }

    /// Takes one of the provider's choices. There can be only one answer.
    ///
    /// # Errors
    /// The failure if the choice is not the one that the answer began with.
    pub fn take_choice(&mut self, choice: &Value) -> Result<(), ModelFailure> {
        let index = choice.get("index").and_then(Value::as_u64).unwrap_or_default();
        if *self.choice.get_or_insert(index) == index { Ok(()) } else { Err(ModelFailure::several_choices()) }
    }

    /// Adds content: a text, or parts, of which thoughts are kept apart.
    pub fn push_content(&mut self, content: Option<&Value>) {
        match content {
            Some(Value::String(text)) => self.text.push(text),
            Some(Value::Array(parts)) => parts.iter().for_each(|it| self.push_part(it)),
            Some(part @ Value::Object(_)) => self.push_part(part),
            Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => {}
        }
    }

    fn push_part(&mut self, part: &Value) {
        match part.get("type").and_then(Value::as_str) {
            Some("thinking" | "reasoning" | "reasoning_content") => self.push_thoughts(part),
            Some(_) | None => self.push_content(part.get("text").or(part.as_str().map(|_| part))),
        }
    }

    /// Adds the thoughts of a message or a part, under any name that providers use.
    pub fn push_thoughts(&mut self, message: &Value) {
        let names = ["reasoning_content", "reasoning", "thinking", "summary"];
        if let Some(thoughts) =
            names.iter().find_map(|name| message.get(name).filter(|value| !value.is_null() && value.as_str() != Some("")))
        {
            self.text.push_reasoning(&read_thoughts(thoughts));
        } else if let Some(details) = message.get("reasoning_details") {
            self.text.push_reasoning(&read_thoughts(details));
        }
    }

    /// Returns the complete answer.
    ///
    /// # Errors
    /// The failure if the response was cut off, was refused, or cannot be used.
    pub fn finish(mut self, mode: LlmMode) -> Result<ModelResponse, ModelFailure> {
        if !self.complete {
            return Err(ModelFailure::truncated());
        }
        self.text.finish();
        if self.finish_reason == FinishReason::Refused || !self.refusal.is_empty() {
            return Err(ModelFailure::refusal(&self.refusal));
        }
        if self.finish_reason == FinishReason::Length && mode != LlmMode::Text {
            return Err(ModelFailure::unreadable("it was cut off before its JSON was complete: raise convengine.llm.max-tokens"));
        }
        if self.finish_reason == FinishReason::Length && !self.tool_calls.is_empty() {
            return Err(ModelFailure::unreadable("it was cut off within its calls of tools: raise convengine.llm.max-tokens"));
        }
        if self.text.answer().is_empty() && self.tool_calls.is_empty() {
            return Err(ModelFailure::unreadable(match (self.text.reasoning().is_empty(), self.finish_reason) {
                (true, _) => "it is empty",
                (false, FinishReason::Length) => "it was cut off within its reasoning: raise convengine.llm.max-tokens",
                (false, FinishReason::Stop | FinishReason::Refused) => "it has reasoning but no answer",
            }));
        }
        Ok(self)
    }
}

/// The text of thoughts: a text, or parts with texts.
fn read_thoughts(thoughts: &Value) -> String {
    match thoughts {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(read_thoughts).collect(),
        Value::Object(part) => ["text", "thinking", "summary"].iter().find_map(|it| part.get(*it)).map(read_thoughts).unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

impl ModelCall<'_> {
    /// The conversation, if the model may call tools.
    pub fn dialogue(&self) -> Option<&LlmDialogue> {
        self.request.dialogue.as_deref()
    }

    /// Whether the model may call a tool of this name.
    pub fn has_tool(&self, name: &str) -> bool {
        self.dialogue().is_some_and(|dialogue| dialogue.tools.iter().any(|tool| tool.name == name))
    }

    /// The schema that the provider has to enforce.
    pub fn strict_schema(&self) -> Option<&Value> {
        self.request.schema.as_ref().filter(|schema| self.request.mode == LlmMode::JsonStrict && schema.is_object())
    }

    /// The prompt text that asks for JSON, for what the provider does not enforce.
    pub fn instruction(&self) -> Option<String> {
        let only = "Answer with one JSON value and nothing else.";
        match (self.request.mode, &self.request.schema) {
            (LlmMode::Text, _) => None,
            (LlmMode::Json | LlmMode::JsonStrict, Some(schema)) => Some(format!("{only} It follows this JSON Schema: {schema}")),
            (LlmMode::Json | LlmMode::JsonStrict, None) => Some(only.to_owned()),
        }
    }

    /// System and user prompt. A lone system prompt becomes the user prompt: providers refuse a call without a message.
    pub fn prompts(&self, instruction: Option<String>) -> (String, String) {
        let with = |prompt: &str| match &instruction {
            Some(instruction) if prompt.trim().is_empty() => instruction.clone(),
            Some(instruction) => format!("{prompt}\n\n{instruction}"),
            None => prompt.to_owned(),
        };
        let user = self.request.user_prompt();
        if user.trim().is_empty() { (String::new(), with(&self.request.system)) } else { (with(&self.request.system), user) }
    }

    /// The messages for providers that take the system prompt as a message.
    pub fn messages(&self, instruction: Option<String>) -> Value {
        let (system, user) = self.prompts(instruction);
        let message = |role: &str, text: String| serde_json::json!({"role": role, "content": text});
        let system = Some(system).filter(|text| !text.trim().is_empty()).map(|it| message("system", it));
        Value::Array(system.into_iter().chain([message("user", user)]).collect())
    }

    /// The name of the answer's schema, derived from the purpose.
    pub fn schema_name(&self) -> String {
        let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '_' || letter == '-' { letter } else { '_' };
        let name: String = self.request.purpose.chars().take(64).map(plain).collect();
        if name.is_empty() { "answer".to_owned() } else { name }
    }
}
