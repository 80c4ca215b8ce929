//! The rows that a turn reads and writes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Map, Millis};

/// A row of `ce_conversation`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConversationRow {
    /// UUID in lower case.
    pub conversation_id: String,
    /// `RUNNING` or `BLOCKED`.
    pub status: String,
    /// The intent; `UNKNOWN` while nothing is resolved.
    pub intent_code: String,
    /// The state; `UNKNOWN` while nothing is resolved.
    pub state_code: String,
    /// `context_json`.
    pub context: Arc<Map>,
    /// The user's last message.
    pub last_user_text: Option<String>,
    /// `last_assistant_json`, JSON text.
    pub last_assistant: Option<String>,
    /// `input_params_json`.
    pub params: Arc<Map>,
    /// When the conversation was created.
    pub created_at: Millis,
    /// When it was last written.
    pub updated_at: Millis,
}

/// A user message and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// The user's text.
    pub user: String,
    /// The answer's text.
    pub assistant: String,
}

/// A row of `ce_conversation_history`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryRow {
    /// The user's text.
    pub user_input: String,
    /// The answer as stored, JSON text.
    pub assistant_output: String,
    /// When the turn ended.
    pub created_at: Millis,
}

impl HistoryRow {
    /// The row as shown in prompts. (docs/spec/data-and-api.md#7.7)
    pub fn to_exchange(&self) -> Exchange {
        Exchange { user: self.user_input.clone(), assistant: parse_assistant_text(&self.assistant_output) }
    }
}

/// Extracts the text of a stored answer: the first known member, else the raw text. (docs/spec/data-and-api.md#7.7)
///
/// A member that is an object or array has no text, and its exchange is omitted from the history.
pub fn parse_assistant_text(stored: &str) -> String {
    let Ok(value) = serde_json::from_str::<serde_json::Value>(stored) else {
        return stored.to_owned();
    };
    let known = ["/text", "/value", "/json", "/output", "/question", "/data/text", "/data/output", "/data/question"];
    let Some(found) = known.iter().find_map(|it| value.pointer(it)) else {
        return stored.to_owned();
    };
    match found {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Number(_) | serde_json::Value::Bool(_) => found.to_string(),
        serde_json::Value::Null | serde_json::Value::Array(_) | serde_json::Value::Object(_) => String::new(),
    }
}

/// A row of `ce_llm_call_log`: one per model call, including failed ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlmCallRow {
    /// The intent when the call was made.
    pub intent_code: String,
    /// The state when the call was made.
    pub state_code: String,
    /// The provider that answered; `UNKNOWN` when none did.
    pub provider: String,
    /// The model that answered; `UNKNOWN` when none did.
    pub model: String,
    /// The prompt in blocks, `[role] text`.
    pub prompt_text: String,
    /// The context sent with it, JSON text.
    pub user_context: String,
    /// The model's answer.
    pub response_text: Option<String>,
    /// Whether the call succeeded.
    pub success: bool,
    /// The error of a failed call.
    pub error_message: Option<String>,
    /// When the answer arrived.
    pub created_at: Millis,
    /// Tokens of the prompt, if the provider reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of the answer, if the provider reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// The cost in millionths of the price list's currency, if the price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

/// A row of `ce_memory`: the memory of a conversation beyond its history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryRow {
    /// The kind of memory; `session` is the rolling summary.
    pub store: String,
    /// The summary.
    pub summary: String,
    /// Number of turns when it was written.
    pub turns: u32,
    /// When it was written.
    pub updated_at: Millis,
}

/// One row operation of the commit at the end of the turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "table", rename_all = "snake_case")]
pub enum Write {
    /// The whole conversation row.
    Conversation(ConversationRow),
    /// A new history row.
    History(HistoryRow),
    /// A new row of the call log.
    LlmCall(LlmCallRow),
    /// The new memory, which replaces the old one.
    Memory(MemoryRow),
    /// The whole state of a session or run.
    #[serde(rename = "flow")]
    Session {
        /// The state; its member `program` says which interpreter it belongs to.
        state: Box<serde_json::Value>,
    },
    /// Hides earlier history from later turns, though its rows stay, and deletes the memory.
    Reset,
}
