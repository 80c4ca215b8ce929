//! Why a node or a call has failed.

use convengine_turn::{EffectError, EffectErrorKind};

/// Failure codes that the host reports as error details.
const HOST_FAILURE_CODES: [&str; 9] =
    ["dns", "tls", "blocked_target", "response_too_large", "budget", "tool_error", "tool_changed", "tool_denied", "tool_unknown"];

/// Stop reason: the turn has requested too many effects.
pub(super) const EFFECT_LIMIT: &str = "effect_limit";

/// Why a node failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// A stable code.
    pub code: String,
    /// What happened, without text from users, models or services.
    pub message: String,
    /// The number of the last attempt.
    pub attempt: u32,
    /// Id and name of the node, when it is not the current one.
    pub node: Option<(String, String)>,
}

impl Failure {
    /// Creates a failure of the current node at its first attempt.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Failure {
        Failure { code: code.into(), message: message.into(), attempt: 1, node: None }
    }

    /// Creates a failure of a request; it omits the provider's text.
    pub fn from_effect(error: &EffectError) -> Failure {
        let code = effect_failure_code(error);
        Failure::new(code, format!("the request could not be sent ({code})"))
    }
}

/// The failure code of an effect that failed.
pub fn effect_failure_code(error: &EffectError) -> &'static str {
    let known = error.detail.as_ref().and_then(|detail| HOST_FAILURE_CODES.into_iter().find(|code| *code == detail.code()));
    if let Some(code) = known {
        return code;
    }
    match error.kind {
        EffectErrorKind::Timeout => "timeout",
        EffectErrorKind::Denied => "blocked_target",
        EffectErrorKind::NotFound => "secret_missing",
        EffectErrorKind::Cancelled | EffectErrorKind::Interrupted => "cancelled",
        EffectErrorKind::Mismatch => "parse",
        EffectErrorKind::CircuitOpen => "circuit_open",
        EffectErrorKind::Unavailable
        | EffectErrorKind::Invalid
        | EffectErrorKind::Limited
        | EffectErrorKind::Refused
        | EffectErrorKind::Unsupported => "network",
    }
}
