//! What a model has said so far, in the form that all providers share.

use convengine_core::turn::{LlmDialogue, LlmMode, LlmRequest, LlmToolCall};
use serde_json::Value;

use super::calls::Calls;
use super::failed::Failed;

/// What a call asks a model for.
#[derive(Debug, Clone, Copy)]
pub struct Call<'c> {
    /// What the core asks.
    pub request: &'c LlmRequest,
    /// The model's name.
    pub model: &'c str,
    /// Tokens that the answer may have.
    pub max_tokens: u64,
    /// Sent when there is one.
    pub temperature: Option<f64>,
    /// Whether the limit of tokens goes by its newer name.
    pub completion_tokens: bool,
    /// Whether the answer comes in pieces.
    pub stream: bool,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ending {
    /// The model was done.
    #[default]
    Done,
    /// There was no room for more.
    Cut,
    /// The model did not want to.
    Refused,
}

/// An answer, or what is known of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// The text so far.
    pub text: String,
    /// The tools that the model calls.
    pub tool_calls: Vec<LlmToolCall>,
    /// Those of which not everything has come.
    pub calls: Calls,
    /// What the model says instead of an answer.
    pub refusal: String,
    /// Who says it, where the provider tells.
    pub model: Option<String>,
    /// Tokens of the prompt.
    pub input_tokens: Option<u64>,
    /// Tokens of the answer.
    pub output_tokens: Option<u64>,
    /// How it ended.
    pub ending: Ending,
    /// Whether the provider has said that there is no more.
    pub complete: bool,
}

impl Said {
    /// Takes up the model's name.
    pub fn by(&mut self, model: Option<&Value>) {
        let name = model.and_then(Value::as_str).filter(|it| !it.trim().is_empty());
        self.model = name.map(str::to_owned).or_else(|| self.model.take());
    }

    /// The answer, when it is one.
    ///
    /// # Errors
    /// It broke off, was refused, or cannot be used.
    pub fn end(self, mode: LlmMode) -> Result<Said, Failed> {
        if !self.complete {
            return Err(Failed::truncated());
        }
        if self.ending == Ending::Refused || !self.refusal.is_empty() {
            return Err(Failed::refusal(&self.refusal));
        }
        if self.ending == Ending::Cut && mode != LlmMode::Text {
            return Err(Failed::unreadable("it was cut off before its JSON was complete: raise convengine.llm.max-tokens"));
        }
        if self.ending == Ending::Cut && !self.tool_calls.is_empty() {
            return Err(Failed::unreadable("it was cut off within its calls of tools: raise convengine.llm.max-tokens"));
        }
        if self.text.is_empty() && self.tool_calls.is_empty() {
            return Err(Failed::unreadable("it is empty"));
        }
        Ok(self)
    }
}

impl Call<'_> {
    /// The conversation, where the model may call tools.
    pub fn dialogue(&self) -> Option<&LlmDialogue> {
        self.request.dialogue.as_deref()
    }

    /// The schema that the provider is to enforce.
    pub fn strict_schema(&self) -> Option<&Value> {
        self.request.schema.as_ref().filter(|it| self.request.mode == LlmMode::JsonStrict && it.is_object())
    }

    /// What the provider does not enforce and the model is told in words.
    pub fn instruction(&self) -> Option<String> {
        let only = "Answer with one JSON value and nothing else.";
        match (self.request.mode, &self.request.schema) {
            (LlmMode::Text, _) => None,
            (LlmMode::Json | LlmMode::JsonStrict, Some(schema)) => Some(format!("{only} It follows this JSON Schema: {schema}")),
            (LlmMode::Json | LlmMode::JsonStrict, None) => Some(only.to_owned()),
        }
    }

    /// System and user prompt. A system prompt without a user prompt is sent as one: providers refuse a call without a message.
    pub fn prompts(&self, instruction: Option<String>) -> (String, String) {
        let with = |prompt: &str| match &instruction {
            Some(instruction) if prompt.trim().is_empty() => instruction.clone(),
            Some(instruction) => format!("{prompt}\n\n{instruction}"),
            None => prompt.to_owned(),
        };
        let user = self.request.user_prompt();
        if user.trim().is_empty() { (String::new(), with(&self.request.system)) } else { (with(&self.request.system), user) }
    }

    /// The messages of providers that take the system prompt as one of them.
    pub fn messages(&self, instruction: Option<String>) -> Value {
        let (system, user) = self.prompts(instruction);
        let message = |role: &str, text: String| serde_json::json!({"role": role, "content": text});
        let system = Some(system).filter(|it| !it.trim().is_empty()).map(|it| message("system", it));
        Value::Array(system.into_iter().chain([message("user", user)]).collect())
    }

    /// What the answer is called where it needs a name.
    pub fn name(&self) -> String {
        let plain = |it: char| if it.is_ascii_alphanumeric() || it == '_' || it == '-' { it } else { '_' };
        let name: String = self.request.purpose.chars().take(64).map(plain).collect();
        if name.is_empty() { "answer".to_owned() } else { name }
    }
}
