//! Effects: numbered requests to the host that are answered exactly once.
//!
//! The core decides what is requested, the host how it is done. Retries that an author configures are effects of their own, with the key of
//! the first attempt, so that the journal shows each of them.

use serde::{Deserialize, Serialize};

use super::Millis;
use super::error::EffectError;
use super::request::{Reply, Request};

/// The number of an effect within its turn, counted from 0 in program order. A replay requests the same effects under the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EffectId(pub u32);

/// What repeating an effect does.
///
/// A host needs it where it does not know whether an effect has happened, after a crash: what reads is requested again; a write is
/// completed with [`EffectErrorKind::Interrupted`](crate::EffectErrorKind::Interrupted), unless it is [repeatable](Effect::repeatable).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Depends on its request only.
    Pure,
    /// Reads; may be repeated. A model call is a read that costs money.
    Read,
    /// Writes; the idempotency key makes a repetition harmless where the other side honours it.
    Write,
    /// Writes and cannot be undone; needs an approval.
    Irreversible,
}

impl EffectClass {
    /// What a request of an HTTP method does, which is in capitals: anything but `GET` and `HEAD` counts as a write.
    pub fn from_method(method: &str) -> EffectClass {
        if ["GET", "HEAD"].contains(&method) { EffectClass::Read } else { EffectClass::Write }
    }
}

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

/// Links a request to the type of its reply. Each kind of request implements it; [`EffectContext::perform`](crate::EffectContext::perform)
/// is its caller.
///
/// ```
/// use convengine_turn::{EffectClass, Operation, Reply, SleepRequest, ToolReply};
///
/// let wait = SleepRequest::new(250);
/// assert_eq!((wait.class(), wait.deadline_ms(), wait.is_streamed()), (EffectClass::Pure, 5_250, false));
/// assert_eq!(SleepRequest::extract_output(Reply::Slept), Some(()));
/// assert_eq!(SleepRequest::extract_output(Reply::Tool(ToolReply { text: "late".to_owned() })), None);
/// ```
pub trait Operation: Into<Request> {
    /// The reply as the caller gets it.
    type Output;
    /// What repeating it does.
    fn class(&self) -> EffectClass;
    /// The idempotency key of the first attempt, if this is a later one.
    fn key(&self) -> Option<String> {
        None
    }
    /// Milliseconds after which the host times out.
    fn deadline_ms(&self) -> u32;
    /// Whether the answer may be streamed to subscribers.
    fn is_streamed(&self) -> bool {
        false
    }
    /// Whether it may be repeated when its outcome is unknown.
    fn is_repeatable(&self) -> bool {
        matches!(self.class(), EffectClass::Pure | EffectClass::Read)
    }
    /// Extracts the output from a reply; `None` when the reply is of another kind, which the caller gets as
    /// [`Mismatch`](crate::EffectErrorKind::Mismatch).
    fn extract_output(reply: Reply) -> Option<Self::Output>;
}
