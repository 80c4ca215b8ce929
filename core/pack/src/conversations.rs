//! In-memory conversations for hosts without a database, and the hash by which runners compare turns.

use std::collections::BTreeMap;

use convengine_text::json::canonical;
use convengine_turn::{LoadedSession, Outcome, Slice};
use serde::Serialize;
use serde_json::Value;

/// The maximum number of exchanges per conversation, the same as hosts with a database load.
const MAX_HISTORY: usize = 500;

/// A store of conversations by id.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Conversations(BTreeMap<String, LoadedSession>);

impl Conversations {
    /// Returns a conversation as stored; a new one if the id is unknown.
    pub fn load(&self, id: &str) -> LoadedSession {
        self.0.get(id).cloned().unwrap_or_default()
    }

    /// Inserts or replaces a conversation.
    pub fn insert(&mut self, id: &str, loaded: LoadedSession) {
        self.0.insert(id.to_lowercase(), loaded);
    }

    /// Stores the rows of a finished turn.
    pub fn commit(&mut self, outcome: &Outcome) {
        let mut loaded = self.load(&outcome.conversation_id).with_writes(&outcome.writes);
        loaded.history.truncate(MAX_HISTORY);
        self.0.insert(outcome.conversation_id.clone(), loaded);
    }
}

/// SHA-256 over the canonical JSON of every slice of a turn, including its outcome. (docs/decisions/0026-what-equal-means.md)
#[derive(Default)]
pub struct SliceHash(canonical::Hasher);

impl SliceHash {
    /// Adds the next slice.
    pub fn add(&mut self, slice: &Slice) {
        self.0.add_value(slice);
    }

    /// Adds the next slice as JSON.
    pub fn add_value(&mut self, slice: &Value) {
        self.0.add_json(slice);
    }

    /// Returns the hash in hexadecimal.
    pub fn finish(self) -> String {
        self.0.finish()
    }
}
