//! Collisions: two intents with nearly equal scores.

use super::reply::ResolverReply;
use crate::config::IntentResolverConfig;

/// Whether the two best scores are too close to choose.
pub(super) fn has_collision(agent: &IntentResolverConfig, reply: &ResolverReply) -> bool {
    let [first, second, ..] = reply.scores.as_slice() else { return false };
    first.confidence - second.confidence <= agent.collision_gap
}

/// A question that names the two best intents.
pub(super) fn collision_question(reply: &ResolverReply) -> Option<String> {
    let [first, second, ..] = reply.scores.as_slice() else { return None };
    Some(format!("Did you mean {} or {}?", code_to_words(&first.intent), code_to_words(&second.intent)))
}

/// Formats a code as words: `CLOSE_CARD` becomes `Close Card`.
pub(super) fn code_to_words(code: &str) -> String {
    let word = |it: &str| {
        let mut characters = it.chars();
        let first: String = characters.next().into_iter().flat_map(char::to_uppercase).collect();
        first + &characters.as_str().to_lowercase()
    };
    code.split(['_', '-', ' ']).filter(|it| !it.is_empty()).map(word).collect::<Vec<_>>().join(" ")
}
