//! A call of a language model.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{LlmDialogue, LlmToolCall, Reply, Request};
use crate::turn::{Class, Operation};

/// What models are called for. (`interface.md` 3)
pub const PURPOSES: [&str; 19] = [
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

/// Milliseconds that a model has for an answer.
const DEADLINE_MS: u32 = 60_000;

/// The calls whose text the user reads as it stands.
const READ_BY_USERS: [&str; 2] = ["response_text", "agent"];

/// How the answer is constrained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LlmMode {
    /// Free text.
    Text,
    /// A JSON value; the schema is a hint.
    Json,
    /// A JSON value that the provider constrains to the schema.
    JsonStrict,
}

/// What is sent to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LlmRequest {
    /// What the call is for, one of the purposes of the scripted model; hosts choose the model by it.
    pub purpose: String,
    /// How the answer is constrained.
    pub mode: LlmMode,
    /// Rendered system prompt.
    pub system: String,
    /// Rendered user prompt.
    pub user: String,
    /// Appended to the prompt as it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The conversation's context, as the original handed it to its clients beside the prompt.
    pub context: Value,
    /// The user's message of this turn, trimmed; scripted models match on it.
    pub user_text: String,
    /// The conversation that takes the place of the user prompt, where the model may call tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialogue: Option<Box<LlmDialogue>>,
}

/// What the model answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LlmReply {
    /// The answer as text, also when it is JSON.
    pub text: String,
    /// Who answered, for the call log.
    #[serde(default)]
    pub provider: String,
    /// Which model answered, for the call log.
    #[serde(default)]
    pub model: String,
    /// What the call used, where the provider says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The tools that the model calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<LlmToolCall>,
}

/// What a model call used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// The cost in millionths of the currency of the price list; absent where no price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

impl LlmReply {
    /// What a scripted model answers.
    pub(crate) fn scripted(text: String) -> LlmReply {
        LlmReply { text, provider: "scripted".to_owned(), model: "scripted".to_owned(), usage: None, tool_calls: Vec::new() }
    }

    /// What a scripted model answers to an agent: a text, or the tools that it calls. `None` when it is neither.
    pub(crate) fn scripted_agent(reply: &Value) -> Option<LlmReply> {
        if let Some(text) = reply.as_str() {
            return Some(LlmReply::scripted(text.to_owned()));
        }
        let calls = reply.get("tool_calls")?.as_array()?;
        let formed = |it: &Value| it.get("name")?.as_str().filter(|_| it.get("arguments").is_none_or(Value::is_object)).map(str::to_owned);
        let tool_calls = calls.iter().map(|it| {
            let id = it.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
            let arguments = it.get("arguments").cloned().unwrap_or_else(|| Value::Object(crate::turn::Map::new()));
            Some(LlmToolCall { id, name: formed(it)?, arguments })
        });
        let text = match reply.get("text") {
            None | Some(Value::Null) => String::new(),
            Some(text) => text.as_str()?.to_owned(),
        };
        Some(LlmReply { tool_calls: tool_calls.collect::<Option<_>>()?, ..LlmReply::scripted(text) })
    }
}

impl LlmRequest {
    /// The user prompt, or all messages of the conversation, with what is appended to it.
    pub fn user_prompt(&self) -> String {
        let hint = self.hint.as_ref().map(|it| format!("\n\n{it}")).unwrap_or_default();
        let said = self.dialogue.iter().flat_map(|it| &it.messages).map(|it| it.content.as_str());
        let said: Vec<&str> = [self.user.as_str()].into_iter().filter(|it| !it.is_empty()).chain(said).collect();
        format!("{}{hint}", said.join("\n\n"))
    }

    /// All parts of the prompt together.
    pub fn prompt(&self) -> String {
        format!("{}\n\n{}", self.system, self.user_prompt())
    }

    /// The call by which a scripted model is asked for the embedding of a text.
    pub(crate) fn embedding(text: &str) -> LlmRequest {
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

    fn class(&self) -> Class {
        Class::Read
    }

    fn deadline_ms(&self) -> u32 {
        DEADLINE_MS
    }

    fn streams(&self) -> bool {
        self.mode == LlmMode::Text && READ_BY_USERS.contains(&self.purpose.as_str())
    }

    fn output(reply: Reply) -> Option<LlmReply> {
        if let Reply::Llm(reply) = reply { Some(reply) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_users_read_as_it_stands_may_be_shown_while_it_is_made() {
        let of = |purpose: &str, mode| LlmRequest { purpose: purpose.to_owned(), mode, ..LlmRequest::embedding("x") };
        let shown = |mode| PURPOSES.into_iter().filter(|it| of(it, mode).streams()).collect::<Vec<_>>();
        assert_eq!(shown(LlmMode::Text), ["response_text", "agent"]);
        assert!(shown(LlmMode::Json).is_empty() && shown(LlmMode::JsonStrict).is_empty());
    }
}
