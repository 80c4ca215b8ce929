//! Searches the knowledge bases of assistants. (docs/spec/flows.md#4.12)

use convengine_core::turn::{EffectError, EffectErrorKind, EffectResult, KnowledgeRequest};
use tokio::time::Instant;

use crate::runtime::turn_runner::Host;

/// Executes a search.
pub async fn execute(_host: &Host, _request: &KnowledgeRequest, _deadline: Instant) -> EffectResult {
    EffectResult::Error(EffectError::new(EffectErrorKind::Unsupported, "there is no knowledge base"))
}
