//! What the core can ask for: one variant and one file a kind. A host is complete when its `match` compiles.

mod llm;

pub use llm::{LlmMode, LlmReply, LlmRequest};

use serde::{Deserialize, Serialize};

/// The payload of an effect. Variants are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Request {
    /// A call of a language model.
    Llm(LlmRequest),
}

/// The payload of a success. Variants are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reply {
    /// The text of a language model.
    Llm(LlmReply),
}
