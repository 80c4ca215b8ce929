//! Flow documents: their form, and what they are compiled to. (`convoship.md` 2, 3)

mod compiled;
pub mod document;
mod issue;

pub use compiled::{Flow, GraphRef, IntentPhrases};
pub use issue::{DocumentIssue, Weight};

/// Placeholder until merged.
pub fn snapshot(source: &serde_json::Value) -> String {
    let mut hasher = crate::json::canon::Hasher::default();
    hasher.json(source);
    hasher.finish()
}
