//! What models are called for, as `--llm PURPOSE=MODEL` names it. (`interface.md` 3)

use convengine_core::turn::PURPOSES;

/// Embeddings are no calls of a model that talks: only models that are named for them make them.
pub const EMBED: &str = "embed";

/// Groups of purposes. The group `agent` has one member, which is called the same.
const GROUPS: [(&str, &[&str]); 1] = [("extraction", &["extract", "synthesis", "summary", "intent_verify", "intent_match"])];

/// The group of a purpose.
pub fn group_of(purpose: &str) -> Option<&'static str> {
    GROUPS.iter().find(|it| it.1.contains(&purpose)).map(|it| it.0)
}

/// Whether a word is a purpose or a group.
pub fn is_known(word: &str) -> bool {
    known().any(|it| it == word)
}

/// All purposes, with `embed` for embeddings, and groups.
pub fn known() -> impl Iterator<Item = &'static str> {
    PURPOSES.into_iter().chain([EMBED]).chain(GROUPS.iter().map(|it| it.0))
}
