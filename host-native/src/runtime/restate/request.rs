//! What the API asks a worker for, and its answer.

use convengine_core::turn::{Effect, Outcome, UserEvent};
use serde::{Deserialize, Serialize};

use super::refused_turn::RefusedTurn;
use crate::auth::caller::ConversationAccess;
use crate::runtime::assistant::upgrade::UpgradeTarget;

/// A message or event that is to have a turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TurnRequest {
    /// The tenant, if there are tenants.
    pub tenant: Option<String>,
    /// A value of this request only, by which the caller notices the answer to an earlier request under the same key.
    pub nonce: String,
    /// The conversation.
    pub conversation: String,
    /// The event.
    pub event: UserEvent,
    /// The idempotency key.
    pub key: Option<String>,
    /// The snapshot that the session runs on; absent for conversations of tables.
    pub snapshot: Option<String>,
    /// The version that the session migrates to, if possible.
    pub upgrade: Option<UpgradeTarget>,
    /// Which conversations the caller may use.
    pub access: ConversationAccess,
}

/// The answer to a [`TurnRequest`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TurnAnswer {
    /// The nonce of the request.
    pub nonce: String,
    /// The outcome of the turn, or the reason for having none.
    pub result: Result<Outcome, RefusedTurn>,
}

/// An effect that is executed beside others.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EffectRequest {
    /// The tenant, if there are tenants.
    pub tenant: Option<String>,
    /// The snapshot of the turn's configuration.
    pub snapshot: String,
    /// The effect.
    pub effect: Effect,
}
