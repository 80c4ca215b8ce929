//! What a request leads to.

use serde::{Deserialize, Serialize};

use super::Reply;
use crate::error::EffectError;

/// A reply or an error, as stored in a journal: `{"ok": {"kind": …}}` or `{"error": {"kind": …, "message": …}}`.
///
/// A failure is an answer like any other. What it leads to is up to the configuration: another attempt, an error port, a fallback text, or
/// a failed turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectResult {
    /// The effect succeeded.
    Ok(Reply),
    /// The effect failed.
    Error(EffectError),
}

impl From<EffectResult> for Result<Reply, EffectError> {
    fn from(answer: EffectResult) -> Self {
        match answer {
            EffectResult::Ok(reply) => Ok(reply),
            EffectResult::Error(error) => Err(error),
        }
    }
}

impl From<Result<Reply, EffectError>> for EffectResult {
    fn from(outcome: Result<Reply, EffectError>) -> Self {
        match outcome {
            Ok(reply) => EffectResult::Ok(reply),
            Err(error) => EffectResult::Error(error),
        }
    }
}
