//! A conversation with a model that may call tools.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What an agent's model is sent beside its system prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LlmDialogue {
    /// What was said so far, the oldest first.
    pub messages: Vec<LlmMessage>,
    /// The tools that it may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<LlmTool>,
    /// The model, as `MODEL` or `provider:MODEL`; the host's own choice when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How freely it writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
}

/// Who says something in a conversation with a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LlmRole {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool that the model has called.
    Tool,
}

/// One message of a conversation with a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlmMessage {
    /// Who says it.
    pub role: LlmRole,
    /// What; JSON text when a tool says it.
    #[serde(default)]
    pub content: String,
    /// The tools that the model calls with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<LlmToolCall>,
    /// The call that a tool answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlmTool {
    /// What it is called by: letters, digits, `_` and `-`.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

/// A model's call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlmToolCall {
    /// By which its answer is told from others.
    #[serde(default)]
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments: an object, or what the model wrote in the place of one.
    #[serde(default)]
    pub arguments: Value,
}

impl LlmMessage {
    /// What the user says.
    pub fn user(content: impl Into<String>) -> LlmMessage {
        LlmMessage { role: LlmRole::User, content: content.into(), tool_calls: Vec::new(), tool_call_id: None }
    }

    /// What the model says, with the tools that it calls.
    pub fn assistant(content: impl Into<String>, tool_calls: Vec<LlmToolCall>) -> LlmMessage {
        LlmMessage { role: LlmRole::Assistant, content: content.into(), tool_calls, tool_call_id: None }
    }

    /// What a tool answers.
    pub fn tool(call: &str, content: impl Into<String>) -> LlmMessage {
        LlmMessage { role: LlmRole::Tool, content: content.into(), tool_calls: Vec::new(), tool_call_id: Some(call.to_owned()) }
    }
}
