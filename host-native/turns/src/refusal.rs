//! Why a message was not processed.

use convengine_core::chain::RunRefusal;
use convengine_core::turn::TurnError;

use crate::turn_queue::Busy;
use crate::writer::CommitError;

/// Why a message was not processed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The conversation or server is at capacity.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The session cannot be read.
    #[error("cannot read the conversation: {0}")]
    Load(#[from] sqlx::Error),
    /// The rows cannot be written.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The idempotency key was used for a different message.
    #[error("Idempotency-Key was already used for a different message; use a new key for each message")]
    KeyReused,
    /// The event id was used for a different event.
    #[error("event_id was already used for a different event; use a new one for each event")]
    EventIdReused,
    /// The session id belongs to another assistant.
    #[error("session id already exists; choose another id or omit it")]
    SessionExists,
    /// The conversation belongs to another caller.
    #[error("conversation not found; send the id of one of yours, or omit it for a new one")]
    ForeignConversation,
    /// The plan's monthly session quota is exceeded.
    #[error("monthly session quota of {0} is exceeded; a new one begins with the next month (UTC)")]
    QuotaExceeded(u32),
    /// The session has ended.
    #[error("session has ended; start a new one")]
    SessionEnded,
    /// The run does not accept the event.
    #[error("{}", .0.message)]
    Run(Box<RunRefusal>),
    /// The session has advanced since the timer was armed.
    #[error("stale timer: the session has advanced")]
    StaleTimer,
    /// The cluster that runs the turns cannot be reached.
    #[error("the runtime cannot run the turn now: {0}")]
    Unreachable(String),
    /// A bug in the core or in this host.
    #[error("cannot run the turn: {0}")]
    Internal(String),
}

impl From<TurnError> for Refusal {
    fn from(error: TurnError) -> Self {
        Refusal::Internal(error.to_string())
    }
}
