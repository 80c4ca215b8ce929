//! Effects: numbered requests that are answered exactly once.

use serde::{Deserialize, Serialize};

use super::Millis;
use super::error::EffectError;
use super::request::{Reply, Request};

/// The number of an effect within its turn, counted from 0 in program order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EffectId(pub u32);

/// What repeating an effect does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Depends on its request alone.
    Pure,
    /// Reads the world; may be asked again. A model call is a read that is paid.
    Read,
    /// Changes the world; the key makes a repetition harmless where the other side honours it.
    Write,
    /// Changes the world and cannot be taken back; needs an approval.
    Irreversible,
}

/// A request to the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Number within the turn.
    pub id: EffectId,
    /// Idempotency key, `turn/effect`: the same after a crash and in a replay.
    pub key: String,
    /// What repeating it does.
    pub class: Class,
    /// Milliseconds after which the host answers with `Timeout`.
    pub deadline_ms: u32,
    /// Whether listeners may be shown the answer while it is made; the core sees the whole of it alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
    /// Whether it may be asked again, with the same key, after a crash that leaves open whether it was carried out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeatable: bool,
    /// What is asked.
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
    pub outcome: Answer,
}

/// A reply or an error, as it stands in a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The effect was fulfilled.
    Ok(Reply),
    /// The effect failed.
    Error(EffectError),
}

impl From<Answer> for Result<Reply, EffectError> {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Ok(reply) => Ok(reply),
            Answer::Error(error) => Err(error),
        }
    }
}

impl From<Result<Reply, EffectError>> for Answer {
    fn from(outcome: Result<Reply, EffectError>) -> Self {
        match outcome {
            Ok(reply) => Answer::Ok(reply),
            Err(error) => Answer::Error(error),
        }
    }
}

/// Links a request to the type of its reply.
pub trait Operation: Into<Request> {
    /// What the caller gets.
    type Output;
    /// What repeating it does.
    fn class(&self) -> Class;
    /// The idempotency key of the first attempt, when this is a later one.
    fn key(&self) -> Option<String> {
        None
    }
    /// Milliseconds after which the host gives up.
    fn deadline_ms(&self) -> u32;
    /// Whether listeners may be shown the answer while it is made.
    fn streams(&self) -> bool {
        false
    }
    /// Whether it may be asked again when nobody knows whether it was carried out.
    fn repeatable(&self) -> bool {
        matches!(self.class(), Class::Pure | Class::Read)
    }
    /// Picks the output out of a reply; `None` when the reply is of another kind.
    fn output(reply: Reply) -> Option<Self::Output>;
}
