//! What models are called for, as `--llm PURPOSE=MODEL` names it. (`interface.md` 3)

/// The purposes, and `embed` for embeddings.
pub const PURPOSES: [&str; 20] = [
    "policy",
    "dialogue_act",
    "intent_agent",
    "intent_collision",
    "schema_extraction",
    "response_text",
    "response_json",
    "disambiguation",
    "mcp_plan",
    "memory_summary",
    "semantic_interpret",
    "semantic_query",
    "sql_repair",
    "intent_verify",
    "intent_match",
    "extract",
    "synthesis",
    "summary",
    "agent",
    EMBED,
];

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

/// All purposes and groups.
pub fn known() -> impl Iterator<Item = &'static str> {
    PURPOSES.into_iter().chain(GROUPS.iter().map(|it| it.0))
}
