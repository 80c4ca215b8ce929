//! The rows that a turn reads and writes.

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
    pub context: Map,
    /// The user's last message.
    pub last_user_text: Option<String>,
    /// `last_assistant_json`, JSON text.
    pub last_assistant: Option<String>,
    /// `input_params_json`.
    pub params: Map,
    /// When the conversation was created.
    pub created_at: Millis,
    /// When it was last written.
    pub updated_at: Millis,
}

/// What the user said and what was answered.
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
    /// The row as prompts see it. (`spec/data-and-api.md` 7.7)
    pub fn exchange(&self) -> Exchange {
        Exchange { user: self.user_input.clone(), assistant: assistant_text(&self.assistant_output) }
    }
}

/// Reads the text out of a stored answer: the first of the known members, else the raw text.
///
/// A member that holds an object or array has no text, and its exchange is left out of the history.
pub fn assistant_text(stored: &str) -> String {
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

/// A row of `ce_llm_call_log`: one for each model call, also for those that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlmCallRow {
    /// The intent when the call was made.
    pub intent_code: String,
    /// The state when the call was made.
    pub state_code: String,
    /// Who answered; `UNKNOWN` when nobody did.
    pub provider: String,
    /// Which model answered; `UNKNOWN` when none did.
    pub model: String,
    /// The prompt in blocks, `[role] text`.
    pub prompt_text: String,
    /// The context that went with it, JSON text.
    pub user_context: String,
    /// What the model answered.
    pub response_text: Option<String>,
    /// Whether there was an answer.
    pub success: bool,
    /// Why there was none.
    pub error_message: Option<String>,
    /// When the answer arrived.
    pub created_at: Millis,
    /// Tokens of the prompt, where the provider says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of the answer, where the provider says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// The cost in millionths of the currency of the price list, where the price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

/// A row of `ce_memory`: what is remembered of a conversation beyond its history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryRow {
    /// Which memory; `session` is the rolling summary.
    pub store: String,
    /// What is remembered.
    pub summary: String,
    /// Turns of the conversation when it was made.
    pub turns: u32,
    /// When it was made.
    pub updated_at: Millis,
}

/// One row operation that waits for the commit at the end of the turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "table", rename_all = "snake_case")]
pub enum Write {
    /// The whole conversation row.
    Conversation(ConversationRow),
    /// A new history row.
    History(HistoryRow),
    /// A new row of the call log.
    LlmCall(LlmCallRow),
    /// What is remembered, in the place of what was remembered before.
    Memory(MemoryRow),
    /// The whole state of a flow session.
    Flow {
        /// The state, as its program reads it.
        state: Box<serde_json::Value>,
    },
    /// Earlier history is not loaded any more, though its rows stay, and what was remembered goes.
    Reset,
}
