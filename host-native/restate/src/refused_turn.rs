//! Refusals as a worker sends them.

use std::borrow::Cow;

use convengine_core::chain::RunRefusal;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use convengine_turns::refusal::Refusal;
use convengine_turns::writer::CommitError;

/// The reason for which a message had no turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedTurn {
    /// The key was used for another message.
    KeyReused,
    /// The id of the event was used for another event.
    EventIdReused,
    /// The session's id is that of another program.
    SessionExists,
    /// The conversation belongs to another caller.
    ForeignConversation,
    /// The session has ended.
    SessionEnded,
    /// The session has advanced since the timer was armed.
    StaleTimer,
    /// The run does not accept the event.
    Run {
        /// A stable code.
        code: String,
        /// What is wrong, and what to do.
        message: String,
        /// Members for the answer.
        details: Value,
    },
    /// The rows of the conversation have changed or were deleted meanwhile.
    Conflict,
    /// The rows of the turn are invalid.
    Rejected(String),
    /// A bug.
    Internal(String),
}

impl From<Refusal> for RefusedTurn {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::KeyReused => RefusedTurn::KeyReused,
            Refusal::EventIdReused => RefusedTurn::EventIdReused,
            Refusal::SessionExists => RefusedTurn::SessionExists,
            Refusal::ForeignConversation => RefusedTurn::ForeignConversation,
            Refusal::SessionEnded => RefusedTurn::SessionEnded,
            Refusal::StaleTimer => RefusedTurn::StaleTimer,
            Refusal::Run(it) => RefusedTurn::Run { code: it.code.into_owned(), message: it.message, details: it.details },
            // No other process takes over a turn: the turn before it is not stored any more.
            Refusal::Commit(CommitError::Conflict | CommitError::TakenOver) => RefusedTurn::Conflict,
            Refusal::Commit(CommitError::Rejected(reason)) => RefusedTurn::Rejected(reason),
            other => RefusedTurn::Internal(other.to_string()),
        }
    }
}

impl From<RefusedTurn> for Refusal {
    fn from(refused: RefusedTurn) -> Self {
        match refused {
            RefusedTurn::KeyReused => Refusal::KeyReused,
            RefusedTurn::EventIdReused => Refusal::EventIdReused,
            RefusedTurn::SessionExists => Refusal::SessionExists,
            RefusedTurn::ForeignConversation => Refusal::ForeignConversation,
            RefusedTurn::SessionEnded => Refusal::SessionEnded,
            RefusedTurn::StaleTimer => Refusal::StaleTimer,
            RefusedTurn::Run { code, message, details } => Refusal::Run(Box::new(RunRefusal { code: Cow::Owned(code), message, details })),
            RefusedTurn::Conflict => Refusal::Commit(CommitError::Conflict),
            RefusedTurn::Rejected(reason) => Refusal::Commit(CommitError::Rejected(reason)),
            RefusedTurn::Internal(reason) => Refusal::Internal(reason),
        }
    }
}
