//! Runs the scripts of `python` nodes. (docs/spec/flows.md#4.7)

use convengine_core::turn::{EffectError, EffectErrorKind, EffectResult, ScriptRequest};

use crate::runtime::turn_runner::Host;

/// Executes a script.
pub async fn execute(_host: &Host, _request: &ScriptRequest) -> EffectResult {
    EffectResult::Error(EffectError::new(EffectErrorKind::Unsupported, "there is no interpreter"))
}
