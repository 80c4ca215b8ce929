//! Matches a message with intents by the words of their phrases and, where the host has embedded these, by similarity; without a language
//! model (docs/spec/flows.md#5.3).

use convengine_config::flow::IntentPhrases;
use convengine_config::flow::document::IntentDef;
use convengine_text::locale::EngineText;
use convengine_text::phrase::Phrase;
use convengine_turn::{IntentSimilarity, PhraseSearchRequest};
use convengine_understanding::lexical::{Acceptance, Decision, RankedClass, round};
use serde_json::{Value, json};

use super::failure::effect_failure_code;
use super::intent_match::{IntentMatch, IntentSearch, LexicalResult, is_ruled_out};
use super::match_explanation::LexicalFindings;
use super::state::{FlowEvent, SHOWN_BUTTONS};
use super::turn::Turn;

/// The variable with the question which intent was meant: `{"text", "intents"}`, until the next message.
const INTENT_QUESTION: &str = "_intent_question";

impl<'c> Turn<'c> {
    /// Matches the message by its words and its embedding; intents that a model has rejected do not count.
    pub(super) async fn match_lexically(&mut self, input: &Phrase, search: &mut IntentSearch<'c>) -> LexicalResult<'c> {
        let flow = self.flow;
        let settings = self.settings().lexical_match;
        let Some(classifier) = flow.classifier().filter(|_| !input.tokens().is_empty()) else { return LexicalResult::Nothing };
        let text = self.event.input_text();
        let intents: Vec<&IntentDef> = flow.matchable_intents().collect();
        let phrases: Vec<&IntentPhrases> = flow.matchable_phrases().collect();
        let asks_for_person = self.view().asks_for_person();
        let is_candidate = |class: usize| {
            let Some((intent, phrases)) = intents.get(class).zip(phrases.get(class)) else { return false };
            let is_left_out = search.rejected.contains(&intent.id.as_str()) || is_ruled_out(phrases, input);
            !is_left_out && (!asks_for_person || self.view().is_for_person(intent, phrases))
        };
        let ranking = classifier.rank_among(&text, is_candidate);
        let similarities = self.find_similar_intents(&text).await;
        let class_of = |id: &str| intents.iter().position(|it| it.id == id);
        let similarities: Vec<(usize, f64)> =
            similarities.iter().filter_map(|candidate| Some((class_of(&candidate.intent)?, candidate.similarity))).collect();
        let ranking = classifier.fuse(ranking, &similarities);
        let acceptance = settings.acceptance();
        let threshold = classifier.threshold(acceptance);
        let default_threshold = classifier.threshold(Acceptance { threshold: None, ..acceptance });
        let decision = classifier.decide(&ranking, acceptance);
        let to_match = |ranked: RankedClass| Some(IntentMatch::new(intents.get(ranked.class)?, "lexical", round(ranked.confidence)));
        let result = match decision {
            Decision::Accepted(best) => to_match(best).map(LexicalResult::Accepted),
            Decision::Close(best, second) => {
                let close = intents.get(best.class).zip(intents.get(second.class));
                close.map(|(first, other)| LexicalResult::Close([first, other], round(best.confidence)))
            }
            Decision::Refused => {
                let best = ranking.classes.first().copied().filter(|it| it.confidence >= default_threshold);
                best.and_then(to_match).map(LexicalResult::Unsure)
            }
        };
        let result = result.unwrap_or(LexicalResult::Nothing);
        let findings = LexicalFindings { classifier, text: &text, ranking: &ranking, intents: &intents, threshold, result: &result };
        self.publish_lexical_match(search, &findings);
        result
    }

    /// Returns the intents with phrases near to the message by embeddings: none where the host has no embeddings, or cannot compare.
    async fn find_similar_intents(&mut self, text: &str) -> Vec<IntentSimilarity> {
        let Some(model) = self.phrase_vectors.clone().filter(|_| self.record.effects_left() > 0) else { return Vec::new() };
        let text = self.redact_outgoing(text.to_owned());
        let request = PhraseSearchRequest { classifier: self.flow.classifier_hash().to_owned(), model, text };
        let outcome = self.effects.perform(request).await;
        self.record.record_effect("llm.embed", None, if outcome.is_ok() { "ok" } else { "error" }, 1);
        match outcome {
            Ok(reply) => {
                if let Some(usage) = reply.usage {
                    self.record_cost(usage);
                }
                reply.intents
            }
            Err(error) => {
                self.warn("intent.similarity_failed", json!({"code": effect_failure_code(&error)}));
                Vec::new()
            }
        }
    }

    /// Asks which of two intents is meant.
    pub(super) fn ask_for_intent(&mut self, intents: [&'c IntentDef; 2], confidence: f64, search: &IntentSearch<'_>) {
        let buttons = intents.map(|intent| json!({"id": intent.id, "label": self.view().name_intent(intent), "value": intent.id}));
        let ids = intents.map(|it| &it.id);
        self.publish_match_record(search, None, "asked", confidence, json!({"asked": ids}));
        self.state.vars.insert(INTENT_QUESTION.to_owned(), json!({"text": self.event.input_text(), "intents": ids}));
        let [first, second] = intents.map(|intent| self.view().name_intent(intent));
        let text = self.engine_text(EngineText::ChooseIntent, &[("first", &first), ("second", &second)]);
        let options = self.send_with_options(&text, &buttons);
        self.state.vars.insert(SHOWN_BUTTONS.to_owned(), Value::Array(options));
    }

    /// Takes the question that the message before was answered with: the intent that the user has chosen. The error is whether there was
    /// such a question.
    pub(super) fn take_intent_answer(&mut self) -> Result<IntentMatch<'c>, bool> {
        let Some(question) = self.state.vars.shift_remove(INTENT_QUESTION) else { return Err(false) };
        let FlowEvent::Button { button_id, .. } = &self.event else { return Err(true) };
        let ids = question.get("intents").and_then(Value::as_array);
        let is_offered = ids.into_iter().flatten().any(|id| id.as_str() == Some(button_id));
        let flow = self.flow;
        let intent = flow.matchable_intents().find(|intent| is_offered && intent.id == *button_id).ok_or(true)?;
        let message = question.get("text").and_then(Value::as_str).map(str::to_owned);
        Ok(IntentMatch { message, ..IntentMatch::new(intent, "asked", 1.0) })
    }
}
