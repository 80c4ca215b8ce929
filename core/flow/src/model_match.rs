//! Verifies and chooses intents with a model (docs/spec/flows.md#5.3).

use convengine_config::flow::document::IntentDef;
use convengine_text::phrase::Phrase;
use convengine_turn::Verdict;
use serde_json::{Value, json};

use super::intent_match::{IntentMatch, IntentSearch};
use super::turn::Turn;

/// Minimum confidence for an intent that verification has rejected (docs/spec/flow-rulings.md#12).
const MIN_CONFIDENCE_AFTER_REJECTION: f64 = 0.8;

/// Maximum phrases per intent in a model request.
const MAX_PHRASES: usize = 5;

/// Maximum intents in a model request.
const MAX_CANDIDATES: usize = 40;

impl<'c> Turn<'c> {
    /// Lets a model verify a match. The error is the id of a rejected intent; a model that fails accepts.
    pub(super) async fn verify_match(&mut self, hit: IntentMatch<'c>, input: &Phrase) -> Result<IntentMatch<'c>, &'c str> {
        if !self.settings().llm_verify {
            return Ok(hit);
        }
        if hit.phrase.is_some_and(|phrase| Phrase::new(phrase, &self.flow.document.default_locale).tokens() == input.tokens()) {
            self.explain_exact_match(&hit);
            return Ok(hit);
        }
        Ok(self.ask_for_verification(&hit, true).await?.unwrap_or(hit))
    }

    /// Asks a model whether a match is right: `None` when it fails, which `fails_open` says the meaning of. The error is the id of a
    /// rejected intent.
    pub(super) async fn ask_for_verification(
        &mut self,
        hit: &IntentMatch<'c>,
        fails_open: bool,
    ) -> Result<Option<IntentMatch<'c>>, &'c str> {
        let phrases: Vec<&String> = hit.intent.phrases.iter().take(MAX_PHRASES).collect();
        let system = "A keyword search has matched a user's message with an intent of an assistant. Decide whether the message \
                      really asks for that intent. Answer with JSON: {\"match\": true or false, \"confidence\": 0 to 1}.";
        let user = json!({
            "message": self.event.input_text(), "intent": hit.intent.name, "description": hit.intent.description, "phrases": phrases,
        });
        let schema = json!({
            "type": "object", "required": ["match", "confidence"],
            "properties": {"match": {"type": "boolean"}, "confidence": {"type": "number", "minimum": 0, "maximum": 1}},
        });
        let reply = self.ask_for_schema("intent_verify", system, &user, schema).await;
        self.explain_verification(hit, reply.as_ref(), fails_open);
        let Some(reply) = reply else { return Ok(None) };
        if reply.get("match") == Some(&Value::Bool(false)) {
            self.trace("intent.rejected", json!({"intent": hit.intent.id}));
            return Err(&hit.intent.id);
        }
        let source = if hit.phrase.is_some() { "phrase_verified" } else { "lexical_verified" };
        Ok(Some(IntentMatch { source, confidence: read_confidence(&reply), ..hit.clone() }))
    }

    /// Lets a model choose an intent.
    pub(super) async fn match_by_model(&mut self, input: &Phrase, search: &mut IntentSearch<'c>) -> Option<IntentMatch<'c>> {
        if !self.settings().llm_match || input.tokens().is_empty() {
            return None;
        }
        let candidates = self.select_candidates(input);
        if candidates.is_empty() {
            return None;
        }
        let intents: Vec<Value> = candidates
            .iter()
            .map(|intent| {
                let slots = self.view().hinted_slots(intent);
                let phrases: Vec<&String> = intent.phrases.iter().take(MAX_PHRASES).collect();
                json!({"id": intent.id, "name": intent.name, "description": intent.description, "phrases": phrases, "slots": slots})
            })
            .collect();
        let system = "Choose the intent of an assistant that a user's message asks for, or null when none fits. Answer with JSON: \
                      {\"intent_id\": id or null, \"confidence\": 0 to 1, \"slots\": {}}. Slots hold values of the message by the \
                      name of their variable.";
        let ids: Vec<Value> = candidates.iter().map(|it| json!(it.id)).chain([Value::Null]).collect();
        let schema = json!({
            "type": "object", "required": ["intent_id", "confidence"],
            "properties": {
                "intent_id": {"enum": ids}, "confidence": {"type": "number", "minimum": 0, "maximum": 1}, "slots": {"type": "object"},
            },
        });
        let user = json!({"message": self.event.input_text(), "intents": intents});
        let reply = self.ask_for_schema("intent_match", system, &user, schema).await;
        let reply = reply?;
        search.note_fact("model", || reply.get("intent_id").cloned().unwrap_or_default());
        let id = reply.get("intent_id")?.as_str()?;
        let intent = candidates.into_iter().find(|it| it.id == id)?;
        let confidence = read_confidence(&reply);
        let min_confidence = if search.rejected.contains(&id) { MIN_CONFIDENCE_AFTER_REJECTION } else { 0.0 };
        let min_confidence = self.settings().intent_min_confidence.max(min_confidence);
        search.note_fact("minConfidence", || json!(min_confidence));
        if confidence < min_confidence {
            search.note(id, Verdict::NotMatched, json!(confidence), "the confidence of the model is below the least that is accepted");
            self.trace("intent.unsure", json!({"intent": id, "confidence": confidence}));
            return None;
        }
        search.note(id, Verdict::Matched, json!(confidence), "the model has chosen it");
        let slots = reply.get("slots").cloned().unwrap_or_default();
        Some(IntentMatch { slots, ..IntentMatch::new(intent, "llm", confidence) })
    }

    /// The intents for a model request: all, or those that share the most words with the message.
    fn select_candidates(&self, input: &Phrase) -> Vec<&'c IntentDef> {
        let flow = self.flow;
        let mut candidates: Vec<(usize, &IntentDef)> = Vec::new();
        for (intent, phrases) in flow.document.intents.iter().zip(&flow.phrases).filter(|it| it.0.enabled && !it.0.is_fallback) {
            let count_shared_words = |phrase: &Phrase| phrase.tokens().iter().filter(|token| input.tokens().contains(token)).count();
            let name = Phrase::new(&format!("{} {}", intent.name, intent.description), &flow.document.default_locale);
            candidates.push((phrases.positive.iter().chain([&name]).map(count_shared_words).max().unwrap_or(0), intent));
        }
        if candidates.len() > MAX_CANDIDATES {
            candidates.sort_by_key(|it| std::cmp::Reverse(it.0));
            candidates.truncate(MAX_CANDIDATES);
        }
        candidates.into_iter().map(|it| it.1).collect()
    }
}

/// The confidence in a model's reply.
fn read_confidence(reply: &Value) -> f64 {
    reply.get("confidence").and_then(Value::as_f64).unwrap_or_default()
}
