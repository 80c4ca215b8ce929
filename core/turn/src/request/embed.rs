//! The effect that embeds texts.

use serde::{Deserialize, Serialize};

use super::{EffectClass, Usage};

/// Deadline in milliseconds.
const DEADLINE_MS: u32 = 10_000;

/// Texts to embed; hosts may cache the embeddings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbedRequest {
    /// The texts.
    pub texts: Vec<String>,
}

/// One vector per text, in the same order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EmbedReply {
    /// The vectors.
    pub vectors: Vec<Vec<f64>>,
    /// What the call has used; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

operation!(Embed: EmbedRequest => EmbedReply, class: EffectClass::Read, deadline_ms: |_| DEADLINE_MS);
