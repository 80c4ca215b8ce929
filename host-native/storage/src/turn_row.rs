//! Rows that turns write, before they are rendered.

use convengine_core::turn::{JournalEntry, Millis};
use serde_json::Value;

/// A row of `cs_session`.
#[derive(Debug, Clone, Copy)]
pub struct SessionRow<'a> {
    /// The session.
    pub session: &'a str,
    /// Its assistant.
    pub assistant: &'a str,
    /// The deployment that started it; absent in the simulator.
    pub deployment: Option<&'a str>,
    /// The published version it runs on; absent for a draft.
    pub version: Option<i64>,
    /// The snapshot hash, `sha256:…`.
    pub snapshot: &'a str,
    /// The state document.
    pub state: &'a Value,
    /// When the turn ended.
    pub at: Millis,
}

/// A row of `ce_turn`.
#[derive(Debug, Clone, Default)]
pub struct TurnRow<'a> {
    /// The turn.
    pub turn_id: &'a str,
    /// Its conversation.
    pub conversation_id: &'a str,
    /// Its number within the conversation, from 1; unique, so that only one of two concurrent turns commits.
    pub number: u32,
    /// `open`, `closed` or `lost`.
    pub status: &'a str,
    /// The journal format version.
    pub protocol: u16,
    /// The engine build that wrote it.
    pub engine: &'a str,
    /// The hash of the configuration it ran on.
    pub config_hash: &'a str,
    /// The compressed journal.
    pub journal: &'a [u8],
    /// The state hash that a replay must produce; empty while the turn is open.
    pub state_hash: &'a str,
    /// Whether the turn reset the conversation, so that earlier history is no longer loaded.
    pub reset: bool,
    /// The error code of a failed turn.
    pub fault: Option<&'a str>,
    /// The compressed answer, for a message that may be sent again.
    pub answer: Option<&'a [u8]>,
    /// When the message arrived.
    pub created_at: Millis,
    /// When the rows were rendered.
    pub closed_at: Millis,
    /// Milliseconds from receiving the message to rendering the rows.
    pub total_ms: Millis,
    /// The process that runs it while it is open.
    pub owner: &'a str,
    /// The lease duration in milliseconds; absent once it has ended.
    pub lease_ms: Option<i64>,
    /// The idempotency key of the message.
    pub message_key: Option<&'a str>,
    /// The number of audit ids reserved for its derived audit rows.
    pub reserved_audit_ids: u32,
}

/// A row of `ce_turn_effect`.
#[derive(Debug, Clone)]
pub struct EffectRow<'a> {
    /// Its turn.
    pub turn_id: &'a str,
    /// The process that runs the turn; no other may add effects.
    pub owner: &'a str,
    /// Its number within the turn.
    pub effect_id: u32,
    /// Its completion order within the turn.
    pub position: usize,
    /// The journal entry; absent while the effect is dispatched and not completed.
    pub entry: Option<&'a JournalEntry>,
    /// When it was dispatched or completed.
    pub at: Millis,
}
