//! In-memory conversations for hosts without a database, and the hash by which runners compare turns.

use std::collections::BTreeMap;

use convengine_text::json::canonical;
use convengine_turn::{LoadedSession, Outcome, Slice};
use serde::Serialize;
use serde_json::Value;

/// The maximum number of exchanges per conversation, the same as hosts with a database load.
const MAX_HISTORY: usize = 500;

/// A store of conversations by id: what a database is for a server.
///
/// ```
/// use convengine_pack::Conversations;
/// use convengine_turn::{Outcome, Write};
///
/// let mut conversations = Conversations::default();
/// let session = serde_json::json!({"schema_version": "1.0", "turn": 1});
/// let outcome = Outcome { writes: vec![Write::Session { state: Box::new(session) }], ..Outcome::for_lost_turn("s-1") };
/// conversations.commit(&outcome);
/// assert_eq!(conversations.load("s-1").flow.ok_or("not stored")?["turn"], 1);
/// assert_eq!(conversations.load("unknown").turns, 0);
/// # Ok::<(), &str>(())
/// ```
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

    /// Stores the rows of a finished turn, failed or not. A host that plays several turns of a conversation commits each before it loads
    /// for the next.
    pub fn commit(&mut self, outcome: &Outcome) {
        let mut loaded = self.load(&outcome.conversation_id).with_writes(&outcome.writes);
        loaded.history.truncate(MAX_HISTORY);
        self.0.insert(outcome.conversation_id.clone(), loaded);
    }
}

/// SHA-256 over the canonical JSON of every slice of a turn, including its outcome. (docs/decisions/0026-what-equal-means.md)
///
/// It is stricter than [`state_hash`](convengine_turn::state_hash): it covers the requests and where one slice ends. Two hosts that play a
/// pack in the same way have equal hashes.
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
