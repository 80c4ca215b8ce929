//! Collisions: two intents with nearly equal scores.

use convengine_config::IntentResolverConfig;
use convengine_text::value::round_to_digits;

use super::reply::ResolverReply;

/// Whether the two best scores are too close to choose.
pub(super) fn has_collision(agent: &IntentResolverConfig, reply: &ResolverReply) -> bool {
    let [first, second, ..] = reply.scores.as_slice() else { return false };
    // 0.8 - 0.7 is 0.1 for the people who set the gap.
    round_to_digits(first.confidence - second.confidence).is_some_and(|it| it <= agent.collision_gap)
}

/// A question that names the two best intents.
pub(super) fn collision_question(reply: &ResolverReply) -> Option<String> {
    let [first, second, ..] = reply.scores.as_slice() else { return None };
    Some(format!("Did you mean {} or {}?", code_to_words(&first.intent), code_to_words(&second.intent)))
}

/// Formats a code as words: `CLOSE_CARD` becomes `Close Card`.
pub(super) fn code_to_words(code: &str) -> String {
    let word = |word: &str| {
        let mut characters = word.chars();
        let first: String = characters.next().into_iter().flat_map(char::to_uppercase).collect();
        first + &characters.as_str().to_lowercase()
    };
    code.split(['_', '-', ' ']).filter(|it| !it.is_empty()).map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use convengine_config::{Config, Tables};
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn scores_collide_up_to_the_gap_itself() {
        let tables: Tables = serde_json::from_value(json!({"ce_intent": [{"intent_code": "A"}, {"intent_code": "B"}]})).unwrap();
        let agent = Config::compile(&tables, &Value::Null).0.intent_resolver;
        assert_eq!(agent.collision_gap, 0.1);
        for (first, second, collides) in [(0.8, 0.7, true), (0.9, 0.8, true), (0.3, 0.2, true), (0.8, 0.69, false), (0.8, 0.699_999, false)]
        {
            let reply = json!({"intentScores": {"A": first, "B": second}});
            let reply = ResolverReply::parse(reply.as_object().unwrap(), &agent);
            assert_eq!(has_collision(&agent, &reply), collides, "{first} and {second}");
        }
    }
}
