//! The model's reply of the intent resolver. (docs/spec/pipeline.md#2.13, agent steps 7 and 8)

use serde::Serialize;
use serde_json::{Value, json};

use crate::config::{Agent, same_code};
use crate::json::trimmed;
use crate::turn::Map;

/// The score of one intent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Score {
    /// The intent as the model spells it.
    pub intent: String,
    /// From 0 to 1.
    pub confidence: f64,
}

/// A model's reply, parsed leniently.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AgentReply {
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
    pub scores: Vec<Score>,
    /// Suggested clarification questions.
    pub followups: Vec<String>,
}

impl AgentReply {
    /// Parses a JSON object.
    pub fn read(reply: &Map, agent: &Agent) -> AgentReply {
        let scores = scores(reply.get("intentScores").or_else(|| reply.get("intent_scores")), agent);
        let mut read = AgentReply {
            intent: trimmed(reply.get("intent")),
            state: trimmed(reply.get("state")),
            confidence: reply.get("confidence").and_then(number).unwrap_or(0.0),
            needs_clarification: reply.get("needsClarification").and_then(Value::as_bool).unwrap_or(false),
            question: trimmed(reply.get("clarificationQuestion")),
            followups: followups(reply.get("followups").or_else(|| reply.get("follow_ups"))),
            scores,
        };
        if let (None, Some(top)) = (&read.intent, read.scores.first()) {
            read.confidence = read.confidence.max(top.confidence);
            read.intent = Some(top.intent.clone());
        }
        read
    }

    /// The best three intents at most.
    pub fn top(&self) -> &[Score] {
        self.scores.get(..3).unwrap_or(&self.scores)
    }

    /// The best intents as collision candidates.
    pub fn candidates(&self) -> Vec<Value> {
        self.top().iter().map(|it| json!({"code": it.intent, "confidence": it.confidence})).collect()
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()).filter(|it| it.is_finite())
}

fn scores(value: Option<&Value>, agent: &Agent) -> Vec<Score> {
    let mut found: Vec<Score> = match value {
        Some(Value::Object(members)) => {
            members.iter().map(|(code, score)| Score { intent: code.trim().to_owned(), confidence: number(score).unwrap_or(0.0) }).collect()
        }
        Some(Value::Array(items)) => items.iter().filter_map(score).collect(),
        None | Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => Vec::new(),
    };
    found.retain(|it| agent.allows(&it.intent));
    for score in &mut found {
        score.confidence = score.confidence.clamp(0.0, 1.0);
    }
    found.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then_with(|| a.intent.to_lowercase().cmp(&b.intent.to_lowercase())));
    found.dedup_by(|a, b| same_code(&a.intent, &b.intent));
    found
}

fn score(item: &Value) -> Option<Score> {
    let intent = trimmed(item.get("intent")).or_else(|| trimmed(item.get("code")))?;
    let number_of = |key: &str| item.get(key).and_then(number);
    let confidence = number_of("confidence").filter(|it| *it > 0.0).or_else(|| number_of("score")).unwrap_or(0.0);
    Some(Score { intent, confidence })
}

fn followups(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(items)) => items.iter().filter_map(|it| trimmed(Some(it))).collect(),
        Some(Value::String(_)) => trimmed(value).into_iter().collect(),
        None | Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Tables};

    fn read(reply: &Value) -> AgentReply {
        let tables: Tables = serde_json::from_value(json!({"ce_intent": [{"intent_code": "A"}, {"intent_code": "B"}]})).unwrap();
        AgentReply::read(reply.as_object().unwrap(), &Config::compile(&tables, &Value::Null).0.agent)
    }

    #[test]
    fn scores_come_in_two_forms_and_only_of_allowed_intents() {
        let score = |intent: &str, confidence| Score { intent: intent.to_owned(), confidence };
        assert_eq!(read(&json!({"intentScores": {"b": 2, "A": "0.5", "C": 1}})).scores, [score("b", 1.0), score("A", 0.5)]);
        let list = json!({"intent_scores": [{"code": "B", "confidence": 0, "score": 0.5}, {"intent": "A", "confidence": 0.5}, {"x": 1}]});
        assert_eq!(read(&list).scores, [score("A", 0.5), score("B", 0.5)]);
    }

    #[test]
    fn the_best_score_names_the_intent_when_the_model_does_not() {
        let reply = read(&json!({"intent": " ", "confidence": 0.2, "intentScores": {"B": 0.9}, "follow_ups": "which?"}));
        assert_eq!((reply.intent.as_deref(), reply.confidence, reply.followups.len()), (Some("B"), 0.9, 1));
        assert_eq!(read(&json!({"confidence": "0.7", "clarificationQuestion": 5})).confidence, 0.7);
    }
}
