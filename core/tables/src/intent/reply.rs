//! The model's reply of the intent resolver. (docs/spec/pipeline.md#2.13, agent steps 7 and 8)

use convengine_config::{IntentResolverConfig, is_same_code};
use convengine_text::json::trim_text;
use convengine_turn::Map;
use serde::Serialize;
use serde_json::{Value, json};

/// The score of one intent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct IntentScore {
    /// The intent as the model spells it.
    pub intent: String,
    /// From 0 to 1.
    pub confidence: f64,
}

/// A model's reply, parsed leniently.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ResolverReply {
    /// The intent.
    pub intent: Option<String>,
    /// The state.
    pub state: Option<String>,
    /// The model's confidence, from 0 to 1.
    pub confidence: f64,
    /// Whether the user has to be asked.
    pub needs_clarification: bool,
    /// The clarification question.
    pub question: Option<String>,
    /// Allowed intents, best first.
    pub scores: Vec<IntentScore>,
    /// Suggested clarification questions.
    pub followups: Vec<String>,
}

impl ResolverReply {
    /// Parses a JSON object.
    pub fn parse(reply: &Map, agent: &IntentResolverConfig) -> ResolverReply {
        let scores = parse_scores(reply.get("intentScores").or_else(|| reply.get("intent_scores")), agent);
        let mut read = ResolverReply {
            intent: trim_text(reply.get("intent")),
            state: trim_text(reply.get("state")),
            confidence: reply.get("confidence").and_then(parse_number).unwrap_or(0.0),
            needs_clarification: reply.get("needsClarification").and_then(Value::as_bool).unwrap_or(false),
            question: trim_text(reply.get("clarificationQuestion")),
            followups: parse_followups(reply.get("followups").or_else(|| reply.get("follow_ups"))),
            scores,
        };
        if let (None, Some(top)) = (&read.intent, read.scores.first()) {
            read.confidence = read.confidence.max(top.confidence);
            read.intent = Some(top.intent.clone());
        }
        read
    }

    /// The best three intents at most.
    pub fn top_scores(&self) -> &[IntentScore] {
        self.scores.get(..3).unwrap_or(&self.scores)
    }

    /// The best intents as collision candidates.
    pub fn candidates(&self) -> Vec<Value> {
        self.top_scores().iter().map(|score| json!({"code": score.intent, "confidence": score.confidence})).collect()
    }
}

fn parse_number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()).filter(|it| it.is_finite())
}

fn parse_scores(value: Option<&Value>, agent: &IntentResolverConfig) -> Vec<IntentScore> {
    let mut found: Vec<IntentScore> = match value {
        Some(Value::Object(members)) => members
            .iter()
            .map(|(code, score)| IntentScore { intent: code.trim().to_owned(), confidence: parse_number(score).unwrap_or(0.0) })
            .collect(),
        Some(Value::Array(items)) => items.iter().filter_map(parse_score).collect(),
        None | Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => Vec::new(),
    };
    found.retain(|score| agent.is_allowed(&score.intent));
    for score in &mut found {
        score.confidence = score.confidence.clamp(0.0, 1.0);
    }
    found.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then_with(|| a.intent.to_lowercase().cmp(&b.intent.to_lowercase())));
    // Of the scores of one intent, the best counts.
    let mut best: Vec<IntentScore> = Vec::with_capacity(found.len());
    for score in found {
        if !best.iter().any(|listed| is_same_code(&listed.intent, &score.intent)) {
            best.push(score);
        }
    }
    best
}

fn parse_score(item: &Value) -> Option<IntentScore> {
    let intent = trim_text(item.get("intent")).or_else(|| trim_text(item.get("code")))?;
    let number_of = |key: &str| item.get(key).and_then(parse_number);
    let confidence = number_of("confidence").filter(|it| *it > 0.0).or_else(|| number_of("score")).unwrap_or(0.0);
    Some(IntentScore { intent, confidence })
}

fn parse_followups(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(items)) => items.iter().filter_map(|code| trim_text(Some(code))).collect(),
        Some(Value::String(_)) => trim_text(value).into_iter().collect(),
        None | Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use convengine_config::{Config, Tables};

    use super::*;

    fn parse_reply(reply: &Value) -> ResolverReply {
        let tables: Tables = serde_json::from_value(json!({"ce_intent": [{"intent_code": "A"}, {"intent_code": "B"}]})).unwrap();
        ResolverReply::parse(reply.as_object().unwrap(), &Config::compile(&tables, &Value::Null).0.intent_resolver)
    }

    #[test]
    fn scores_come_in_two_forms_and_only_of_allowed_intents() {
        let score = |intent: &str, confidence| IntentScore { intent: intent.to_owned(), confidence };
        assert_eq!(parse_reply(&json!({"intentScores": {"b": 2, "A": "0.5", "C": 1}})).scores, [score("b", 1.0), score("A", 0.5)]);
        let list = json!({"intent_scores": [{"code": "B", "confidence": 0, "score": 0.5}, {"intent": "A", "confidence": 0.5}, {"x": 1}]});
        assert_eq!(parse_reply(&list).scores, [score("A", 0.5), score("B", 0.5)]);
        let repeated = json!({"intentScores": [{"code": "A", "score": 0.9}, {"code": "B", "score": 0.8}, {"code": "a", "score": 0.7}]});
        assert_eq!(parse_reply(&repeated).scores, [score("A", 0.9), score("B", 0.8)]);
    }

    #[test]
    fn the_best_score_names_the_intent_when_the_model_does_not() {
        let reply = parse_reply(&json!({"intent": " ", "confidence": 0.2, "intentScores": {"B": 0.9}, "follow_ups": "which?"}));
        assert_eq!((reply.intent.as_deref(), reply.confidence, reply.followups.len()), (Some("B"), 0.9, 1));
        assert_eq!(parse_reply(&json!({"confidence": "0.7", "clarificationQuestion": 5})).confidence, 0.7);
    }
}
