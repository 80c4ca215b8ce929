//! What the API asks a worker for, and its answer.

use convengine_access::caller::ConversationAccess;
use convengine_content::Content;
use convengine_content::config::watch;
use convengine_core::json::canonical;
use convengine_core::turn::{Effect, Outcome, UserEvent};
use convengine_turns::message::Message;
use convengine_turns::stream::TokenTarget;
use convengine_turns::upgrade::UpgradeTarget;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::refused_turn::RefusedTurn;

/// What a process knows of the configuration and the secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// The snapshot of the active tables.
    pub tables: String,
    secrets: u64,
}

impl Known {
    /// Returns what a host knows.
    fn of(content: &Content) -> Known {
        Known { tables: content.config_manager.active().config.hash_source().to_owned(), secrets: content.secret_store.revision() }
    }

    /// Lets a worker that knows something else catch up: a client expects what it has changed at a server in its next turn.
    pub async fn follow(&self, content: &Content) {
        if content.config_manager.active().config.hash_source() != self.tables || content.secret_store.revision() != self.secrets {
            watch::follow(content).await;
        }
    }
}

/// A message or event that is to have a turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TurnRequest {
    /// The tenant, if there are tenants.
    pub tenant: Option<String>,
    /// A value of this request only, by which the caller notices the answer to an earlier request under the same key.
    pub nonce: String,
    /// Whether the caller listens to the events of the turn, under the nonce.
    pub listens: bool,
    /// The conversation.
    pub conversation: String,
    /// The event.
    pub event: UserEvent,
    /// The idempotency key.
    pub key: Option<String>,
    /// What is known where the message was received.
    pub known: Known,
    /// The snapshot that the session runs on; absent for conversations of tables.
    pub snapshot: Option<String>,
    /// The version that the session migrates to, if possible.
    pub upgrade: Option<UpgradeTarget>,
    /// Which conversations the caller may use.
    pub access: ConversationAccess,
}

impl TurnRequest {
    /// Creates the request of a message that a host has received, with its redacted event and a new nonce.
    pub fn new(content: &Content, tenant: Option<String>, message: &Message, event: UserEvent) -> TurnRequest {
        TurnRequest {
            tenant,
            known: Known::of(content),
            nonce: Uuid::new_v4().to_string(),
            listens: message.subscriber.is_some(),
            conversation: message.conversation.clone(),
            event,
            key: message.idempotency_key.clone(),
            snapshot: message.flow.as_ref().map(|config| config.hash_source().to_owned()),
            upgrade: message.upgrade.as_ref().map(|it| it.target()),
            access: message.access.clone(),
        }
    }
}

/// Returns the hash by which the event of a message is compared with that of another message under its key.
pub fn hash_event(event: &UserEvent) -> String {
    let mut hasher = canonical::Hasher::default();
    hasher.add_json(&serde_json::to_value(event).unwrap_or_default());
    hasher.finish()
}

/// The answer to a [`TurnRequest`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TurnAnswer {
    /// The nonce of the request.
    pub nonce: String,
    /// The hash of the event that was answered, of a message with a key. Events of sessions are compared by their rows.
    #[serde(default)]
    pub event: Option<String>,
    /// Whether the turn was refused after it had executed writes. It must not run again under its key.
    #[serde(default)]
    pub has_writes: bool,
    /// The end of the turn, or the reason for having none.
    pub result: Result<TurnEnd, RefusedTurn>,
}

/// The end of a turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TurnEnd {
    /// The outcome.
    pub outcome: Outcome,
    /// Whether a person has the session, or had it before the turn.
    pub is_handoff: bool,
}

/// An effect that is executed beside others.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EffectRequest {
    /// The tenant, if there are tenants.
    pub tenant: Option<String>,
    /// What is known where the message was received.
    pub known: Known,
    /// The snapshot of the turn's configuration.
    pub snapshot: String,
    /// The effect.
    pub effect: Effect,
    /// Who receives its output while it is generated.
    pub tokens: Option<TokenTarget>,
}
