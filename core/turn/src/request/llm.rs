//! The effect that calls a language model.

use convengine_text::reasoning::ReasoningSplitter;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{EffectClass, LlmDialogue, LlmToolCall, Operation, Reply, Request};

/// The purposes of model calls. (docs/spec/interface.md#3)
pub const LLM_PURPOSES: [&str; 19] = [
    "policy",
    "dialogue_act",
    "intent_agent",
    "intent_collision",
    "schema_extraction",
    "response_text",
    "response_json",
    "disambiguation",
    "mcp_plan",
    "memory_summary",
    "semantic_interpret",
    "semantic_query",
    "sql_repair",
    "intent_verify",
    "intent_match",
    "extract",
    "synthesis",
    "summary",
    "agent",
];

/// Deadline in milliseconds.
const DEADLINE_MS: u32 = 60_000;

/// Purposes whose text is shown to the user unchanged.
const STREAMED_PURPOSES: [&str; 2] = ["response_text", "agent"];

/// How the answer is constrained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LlmMode {
    /// Free text.
    Text,
    /// A JSON value; the schema is a hint, so that the answer may have text around the JSON.
    Json,
    /// A JSON value that the provider constrains to the schema.
    JsonStrict,
}

/// A request to a model. The host chooses the model, by the purpose, and sends `system` and [`LlmRequest::user_prompt`], or the chat of
/// `dialogue`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LlmRequest {
    /// The purpose, one of [`LLM_PURPOSES`]; hosts choose the model by it.
    pub purpose: String,
    /// How the answer is constrained.
    pub mode: LlmMode,
    /// Rendered system prompt.
    pub system: String,
    /// Rendered user prompt.
    pub user: String,
    /// Text appended to the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The conversation's context.
    pub context: Value,
    /// The trimmed user message of this turn; scripted models match on it.
    pub user_text: String,
    /// The chat that replaces the user prompt, if the model may call tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialogue: Option<Box<LlmDialogue>>,
}

/// A model's answer. It is not parsed here: what is expected to be JSON and is not is up to the step that asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LlmReply {
    /// The answer as text, also when it is JSON.
    pub text: String,
    /// What the model thought aloud: for the trace, never for the user.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// The provider, for the call log.
    #[serde(default)]
    pub provider: String,
    /// The model, for the call log.
    #[serde(default)]
    pub model: String,
    /// The usage, if the provider reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The tool calls that the model requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<LlmToolCall>,
}

/// The usage of a model call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// The cost in millionths of the price list's currency; absent when no price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

impl LlmReply {
    /// Moves the thoughts that stand in the text to `reasoning`, as some models write them between `<think>` and `</think>`. The core does
    /// so with each reply, so a host may, but need not.
    ///
    /// ```
    /// use convengine_turn::LlmReply;
    ///
    /// let reply = LlmReply::from_script("<think>a greeting</think>Hello.".to_owned()).separate_reasoning();
    /// assert_eq!((reply.text.as_str(), reply.reasoning.as_str()), ("Hello.", "a greeting"));
    /// ```
    #[must_use]
    pub fn separate_reasoning(mut self) -> LlmReply {
        let mut splitter = ReasoningSplitter::default();
        splitter.push_reasoning(&self.reasoning);
        splitter.push(&self.text);
        splitter.finish();
        (self.text, self.reasoning) = splitter.into_parts();
        self
    }

    /// The answer of a scripted model.
    pub fn from_script(text: String) -> LlmReply {
        LlmReply { text, provider: "scripted".to_owned(), model: "scripted".to_owned(), ..LlmReply::default() }
    }

    /// The answer of a scripted model to an agent: a text or tool calls. `None` when it is neither.
    ///
    /// ```
    /// use convengine_turn::LlmReply;
    /// use serde_json::json;
    ///
    /// let calls = json!({"text": "One moment.", "tool_calls": [{"id": "1", "name": "find_order", "arguments": {"number": 7}}]});
    /// let reply = LlmReply::from_agent_script(&calls).ok_or("not a reply")?;
    /// assert_eq!((reply.text.as_str(), reply.tool_calls[0].name.as_str()), ("One moment.", "find_order"));
    /// assert!(LlmReply::from_agent_script(&json!({"text": "no calls"})).is_none());
    /// # Ok::<(), &str>(())
    /// ```
    pub fn from_agent_script(reply: &Value) -> Option<LlmReply> {
        if let Some(text) = reply.as_str() {
            return Some(LlmReply::from_script(text.to_owned()));
        }
        let calls = reply.get("tool_calls")?.as_array()?;
        let valid_name =
            |call: &Value| call.get("name")?.as_str().filter(|_| call.get("arguments").is_none_or(Value::is_object)).map(str::to_owned);
        let tool_calls = calls.iter().map(|call| {
            let id = call.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
            let arguments = call.get("arguments").cloned().unwrap_or_else(|| Value::Object(crate::Map::new()));
            Some(LlmToolCall { id, name: valid_name(call)?, arguments })
        });
        let text = match reply.get("text") {
            None | Some(Value::Null) => String::new(),
            Some(text) => text.as_str()?.to_owned(),
        };
        Some(LlmReply { tool_calls: tool_calls.collect::<Option<_>>()?, ..LlmReply::from_script(text) })
    }
}

impl LlmRequest {
    /// The user prompt, or all messages of the chat, with the hint.
    pub fn user_prompt(&self) -> String {
        let hint = self.hint.as_ref().map(|it| format!("\n\n{it}")).unwrap_or_default();
        let texts = [self.user.as_str()].into_iter().filter(|it| !it.is_empty());
        let texts = texts.chain(self.dialogue.iter().flat_map(|it| &it.messages).map(|it| it.content.as_str()));
        let texts: Vec<&str> = texts.collect();
        format!("{}{hint}", texts.join("\n\n"))
    }

    /// The whole prompt as one text: what a rule of a scripted model looks in.
    pub fn prompt(&self) -> String {
        format!("{}\n\n{}", self.system, self.user_prompt())
    }

    /// The call that requests an embedding from a scripted model.
    pub fn for_embedding(text: &str) -> LlmRequest {
        LlmRequest {
            purpose: "embed".to_owned(),
            mode: LlmMode::Json,
            system: String::new(),
            user: text.to_owned(),
            hint: None,
            schema: None,
            context: Value::Null,
            user_text: text.trim().to_owned(),
            dialogue: None,
        }
    }
}

impl From<LlmRequest> for Request {
    fn from(request: LlmRequest) -> Self {
        Request::Llm(request)
    }
}

impl Operation for LlmRequest {
    type Output = LlmReply;

    fn class(&self) -> EffectClass {
        EffectClass::Read
    }

    fn deadline_ms(&self) -> u32 {
        DEADLINE_MS
    }

    fn is_streamed(&self) -> bool {
        if self.dialogue.as_ref().is_some_and(|it| it.is_masked) {
            return false;
        }
        self.mode == LlmMode::Text && STREAMED_PURPOSES.contains(&self.purpose.as_str())
    }

    fn extract_output(reply: Reply) -> Option<LlmReply> {
        if let Reply::Llm(reply) = reply { Some(reply.separate_reasoning()) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_for_users_are_streamed() {
        let request = |purpose: &str, mode| LlmRequest { purpose: purpose.to_owned(), mode, ..LlmRequest::for_embedding("x") };
        let streamed = |mode| LLM_PURPOSES.into_iter().filter(|purpose| request(purpose, mode).is_streamed()).collect::<Vec<_>>();
        assert_eq!(streamed(LlmMode::Text), ["response_text", "agent"]);
        assert!(streamed(LlmMode::Json).is_empty() && streamed(LlmMode::JsonStrict).is_empty());
    }
}
