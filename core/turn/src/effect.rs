//! Effects: numbered requests to the host that are answered exactly once.
//!
//! The core decides what is requested, the host how it is done. Retries that an author configures are effects of their own, with the key of
//! the first attempt, so that the journal shows each of them.

use serde::{Deserialize, Serialize};

use super::Millis;
use super::effect_id::EffectId;
use super::request::{EffectClass, EffectResult, Request};

/// A request to the host.
///
/// Serialised, it is what a host in another language sees:
///
/// ```
/// use convengine_turn::{Effect, EffectClass, Request};
///
/// let effect: Effect = serde_json::from_str(
///     r#"{"id": 0, "key": "t-1/0", "class": "pure", "deadline_ms": 5250, "repeatable": true, "request": {"kind": "sleep", "ms": 250}}"#,
/// )?;
/// assert_eq!(effect.class, EffectClass::Pure);
/// assert!(!effect.stream);
/// assert!(matches!(effect.request, Request::Sleep(wait) if wait.ms == 250));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Number within the turn.
    pub id: EffectId,
    /// Idempotency key, `turn/effect`: the same after a crash and in a replay. A later attempt has the key of the first.
    pub key: String,
    /// What repeating it does.
    pub class: EffectClass,
    /// Milliseconds after which the host answers with [`Timeout`](crate::EffectErrorKind::Timeout); a host may have limits of its own. The
    /// core does not watch the time: without an answer the turn waits until it is canceled.
    pub deadline_ms: u32,
    /// Whether the answer may be streamed to subscribers while it arrives, because the user sees it unchanged; the core gets the whole
    /// answer only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
    /// Whether it may be repeated, with the same key, when a crash leaves its outcome unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeatable: bool,
    /// The request.
    pub request: Request,
}

/// The answer to an effect.
///
/// ```
/// use convengine_turn::{Completion, EffectId, EffectResult, Reply};
///
/// let completion: Completion = serde_json::from_str(r#"{"id": 0, "at": 1767258000250, "outcome": {"ok": {"kind": "slept"}}}"#)?;
/// let expected = Completion { id: EffectId(0), at: 1_767_258_000_250, outcome: EffectResult::Ok(Reply::Slept) };
/// assert_eq!(completion, expected);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// Which effect.
    pub id: EffectId,
    /// The host's time when the answer arrived. An earlier time than the turn's clock counts as the clock's, which never goes back.
    pub at: Millis,
    /// The reply or the error.
    pub outcome: EffectResult,
}
