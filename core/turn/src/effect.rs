//! Effects: numbered requests to the host that are answered exactly once.

use serde::{Deserialize, Serialize};

use super::Millis;
use super::error::EffectError;
use super::request::{Reply, Request};

/// The number of an effect within its turn, counted from 0 in program order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EffectId(pub u32);

/// What repeating an effect does.
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
    /// What a request of an HTTP method does, which is in capitals.
    pub fn from_method(method: &str) -> EffectClass {
        if ["GET", "HEAD"].contains(&method) { EffectClass::Read } else { EffectClass::Write }
    }
}

/// A request to the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Number within the turn.
    pub id: EffectId,
    /// Idempotency key, `turn/effect`: the same after a crash and in a replay.
    pub key: String,
    /// What repeating it does.
    pub class: EffectClass,
    /// Milliseconds after which the host answers with `Timeout`.
    pub deadline_ms: u32,
    /// Whether the answer may be streamed to subscribers; the core gets the whole answer only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
    /// Whether it may be repeated, with the same key, when a crash leaves its outcome unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeatable: bool,
    /// The request.
    pub request: Request,
}

/// The answer to an effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// Which effect.
    pub id: EffectId,
    /// The host's time when the answer arrived.
    pub at: Millis,
    /// The reply or the error.
    pub outcome: EffectResult,
}

/// A reply or an error, as stored in a journal.
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

/// Links a request to the type of its reply.
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
    /// Extracts the output from a reply; `None` when the reply is of another kind.
    fn extract_output(reply: Reply) -> Option<Self::Output>;
}
