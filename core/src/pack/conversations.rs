//! Conversations in memory, for hosts without a database, and the hash by which runners compare turns.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::json::canon;
use crate::turn::{Loaded, Outcome, Slice};

/// Exchanges that are kept for each conversation, as many as the original loads.
const HISTORY: usize = 500;

/// What a database would hold.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Conversations(BTreeMap<String, Loaded>);

impl Conversations {
    /// A conversation as stored.
    pub fn load(&self, id: &str) -> Loaded {
        self.0.get(id).cloned().unwrap_or_default()
    }

    /// Stores a conversation in the place of what is known of it.
    pub fn place(&mut self, id: &str, loaded: Loaded) {
        self.0.insert(id.to_lowercase(), loaded);
    }

    /// Stores the rows of a finished turn.
    pub fn commit(&mut self, outcome: &Outcome) {
        let mut loaded = self.load(&outcome.conversation_id).after(&outcome.writes);
        loaded.history.truncate(HISTORY);
        self.0.insert(outcome.conversation_id.clone(), loaded);
    }
}

/// SHA-256 over the canonical JSON of every slice of a turn, its outcome included. (`decisions.md` 8a)
#[derive(Default)]
pub struct SliceHash(canon::Hasher);

impl SliceHash {
    /// Adds the next slice.
    pub fn add(&mut self, slice: &Slice) {
        self.0.value(slice);
    }

    /// Adds the next slice, for whoever has it as JSON anyway.
    pub fn add_value(&mut self, slice: &Value) {
        self.0.json(slice);
    }

    /// The hash in hexadecimal.
    pub fn finish(self) -> String {
        self.0.finish()
    }
}
