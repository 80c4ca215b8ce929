//! Purposes of model calls, as in `--llm PURPOSE=MODEL`. (docs/spec/interface.md#3)

use convengine_core::turn::LLM_PURPOSES;

/// The purpose of embeddings. Only models configured for it, or scripted ones, compute embeddings.
pub const EMBED: &str = "embed";

/// Groups of purposes. The group `agent` has one member of the same name.
const GROUPS: [(&str, &[&str]); 1] = [("extraction", &["extract", "synthesis", "summary", "intent_verify", "intent_match"])];

/// Returns the group of a purpose.
pub fn group_of(purpose: &str) -> Option<&'static str> {
    GROUPS.iter().find(|it| it.1.contains(&purpose)).map(|it| it.0)
}

/// Returns whether a word is a purpose or a group.
pub fn is_known(word: &str) -> bool {
    all_names().any(|it| it == word)
}

/// Returns all purposes, including `embed`, and all groups.
pub fn all_names() -> impl Iterator<Item = &'static str> {
    LLM_PURPOSES.into_iter().chain([EMBED]).chain(GROUPS.iter().map(|it| it.0))
}
