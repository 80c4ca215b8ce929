//! A chat with a model that may call tools.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The messages and tools that an agent's model gets beside its system prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LlmDialogue {
    /// The messages so far, oldest first.
    pub messages: Vec<LlmMessage>,
    /// The tools that it may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<LlmTool>,
    /// The model, as `MODEL` or `provider:MODEL`; chosen by the host when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Whether the text is masked before the user sees it, so that it is not streamed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_masked: bool,
}

/// The author of a chat message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LlmRole {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool called by the model.
    Tool,
}

/// One message of a chat with a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlmMessage {
    /// The author.
    pub role: LlmRole,
    /// The text; JSON for a tool.
    #[serde(default)]
    pub content: String,
    /// The tool calls that the model requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<LlmToolCall>,
    /// The call that a tool answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

/// A tool as described to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlmTool {
    /// The name: letters, digits, `_` and `-`.
    pub name: String,
    /// The description.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

/// A tool call requested by a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlmToolCall {
    /// The id that its answer refers to.
    #[serde(default)]
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments: an object, or whatever the model wrote instead.
    #[serde(default)]
    pub arguments: Value,
}

impl LlmMessage {
    /// A user message.
    pub fn user(content: impl Into<String>) -> LlmMessage {
        LlmMessage { role: LlmRole::User, content: content.into(), tool_calls: Vec::new(), tool_call_id: None }
    }

    /// A model message with its tool calls.
    pub fn assistant(content: impl Into<String>, tool_calls: Vec<LlmToolCall>) -> LlmMessage {
        LlmMessage { role: LlmRole::Assistant, content: content.into(), tool_calls, tool_call_id: None }
    }

    /// A tool's answer to a call.
    pub fn tool(call: &str, content: impl Into<String>) -> LlmMessage {
        LlmMessage { role: LlmRole::Tool, content: content.into(), tool_calls: Vec::new(), tool_call_id: Some(call.to_owned()) }
    }
}
