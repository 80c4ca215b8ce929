//! What kinds of requests have in common.

use serde::{Deserialize, Serialize};

use super::{Reply, Request};

/// What repeating an effect does.
///
/// A host needs it where it does not know whether an effect has happened, after a crash: what reads is requested again; a write is
/// completed with [`EffectErrorKind::Interrupted`](crate::EffectErrorKind::Interrupted), unless it is [repeatable](crate::Effect::repeatable).
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
