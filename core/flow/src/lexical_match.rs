//! Matches a message with intents by the words of their phrases and, where the host has embedded these, by similarity; without a language
//! model (docs/spec/flows.md#5.3).

use convengine_config::flow::IntentPhrases;
use convengine_config::flow::document::IntentDef;
use convengine_text::locale::EngineText;
use convengine_text::phrase::Phrase;
use convengine_turn::{Candidate, IntentSimilarity, PhraseSearchRequest, Verdict};
use convengine_understanding::lexical::{Acceptance, Decision, LexicalClassifier, NEAREST, RankedClass, Ranking, explain_class, round};
use serde_json::{Value, json};

use super::Walker;
use super::matching::{IntentMatch, IntentSearch, is_ruled_out};
use crate::button_input::SHOWN_BUTTONS;
use crate::state::FlowEvent;
use crate::{effect_failure_code, with_member};

/// The variable with the question which intent was meant: `{"text", "intents"}`, until the next message.
const INTENT_QUESTION: &str = "_intent_question";

/// What the words of a message say.
pub(super) enum LexicalResult<'c> {
    /// An intent, accepted.
    Accepted(IntentMatch<'c>),
    /// An intent below `accept_above` that a model may confirm.
    Unsure(IntentMatch<'c>),
    /// Two intents, one of which is probably meant, and the confidence in the first.
    Close([&'c IntentDef; 2], f64),
    /// Nothing.
    Nothing,
}

impl<'c> Walker<'c> {
    /// Matches the message by its words and its embedding; intents that a model has rejected do not count.
    pub(super) async fn match_lexically(&mut self, input: &Phrase, search: &mut IntentSearch<'c>) -> LexicalResult<'c> {
        let flow = self.flow;
        let settings = self.settings().lexical_match;
        let Some(classifier) = flow.classifier().filter(|_| !input.tokens().is_empty()) else { return LexicalResult::Nothing };
        let text = self.input_text();
        let intents: Vec<&IntentDef> = flow.matchable_intents().collect();
        let phrases: Vec<&IntentPhrases> = flow.matchable_phrases().collect();
        let is_candidate = |class: usize| {
            let is_rejected = intents.get(class).is_none_or(|it| search.rejected.contains(&it.id.as_str()));
            !is_rejected && !phrases.get(class).is_some_and(|it| is_ruled_out(it, input))
        };
        let ranking = classifier.rank_among(&text, is_candidate);
        let similarities = self.find_similar_intents(&text).await;
        let class = |id: &str| intents.iter().position(|it| it.id == id);
        let similarities: Vec<(usize, f64)> = similarities.iter().filter_map(|it| Some((class(&it.intent)?, it.similarity))).collect();
        let ranking = classifier.fuse(ranking, &similarities);
        let acceptance = settings.acceptance();
        let threshold = classifier.threshold(acceptance);
        let usual = classifier.threshold(Acceptance { threshold: None, ..acceptance });
        let decision = classifier.decide(&ranking, acceptance);
        let to_match = |ranked: RankedClass| {
            let confidence = round(ranked.confidence);
            let intent = *intents.get(ranked.class)?;
            Some(IntentMatch { intent, source: "lexical", confidence, phrase: None, slots: Value::Null, message: None })
        };
        let result = match decision {
            Decision::Accepted(best) => to_match(best).map(LexicalResult::Accepted),
            Decision::Close(best, second) => {
                let close = intents.get(best.class).zip(intents.get(second.class));
                close.map(|(first, other)| LexicalResult::Close([first, other], round(best.confidence)))
            }
            Decision::Refused => {
                let best = ranking.classes.first().copied().filter(|it| it.confidence >= usual);
                best.and_then(to_match).map(LexicalResult::Unsure)
            }
        };
        let result = result.unwrap_or(LexicalResult::Nothing);
        self.record_lexical_match(&ranking, &intents, threshold, &result);
        if search.explanation.is_some() {
            self.explain_lexical_match(classifier, &text, &ranking, &intents, threshold, &result);
            search.note_fact("threshold", || json!(round(threshold)));
            search.note_fact("margin", || json!(settings.ask_below_margin));
            for ranked in ranking.classes.iter().take(NEAREST) {
                let Some(intent) = intents.get(ranked.class) else { continue };
                let (verdict, reason) = result.verdict_on(&intent.id, ranked.confidence, threshold);
                search.note(&intent.id, verdict, json!(round(ranked.confidence)), format!("by its words, {reason}"));
            }
        }
        result
    }

    /// Whether the message has a word of an intent, not only parts of words. Without one it does not leave the question that was asked.
    pub(super) fn shares_word(&self, intent: &IntentDef) -> bool {
        let flow = self.flow;
        let class = flow.matchable_intents().position(|it| it.id == intent.id);
        flow.classifier()
            .zip(class)
            .is_some_and(|(classifier, class)| classifier.shares_word(&self.input_text(), class, &self.state.locale))
    }

    /// The intent that a text has by its words alone.
    pub(super) fn accepts_by_words(&self, text: &str) -> Option<&'c IntentDef> {
        let flow = self.flow;
        let classifier = flow.classifier().filter(|_| !text.is_empty())?;
        let ranking = classifier.rank_among(text, |_| true);
        let Decision::Accepted(best) = classifier.decide(&ranking, self.settings().lexical_match.acceptance()) else { return None };
        flow.matchable_intents().nth(best.class)
    }

    /// Returns the intents with phrases near to the message by embeddings: none where the host has no embeddings, or cannot compare.
    async fn find_similar_intents(&mut self, text: &str) -> Vec<IntentSimilarity> {
        let Some(model) = self.phrase_vectors.clone().filter(|_| self.effects_left() > 0) else { return Vec::new() };
        let text = if self.flow.redacted_variables().is_empty() { text.to_owned() } else { self.redactions().redact_text(text) };
        let request = PhraseSearchRequest { classifier: self.flow.classifier_hash().to_owned(), model, text };
        let outcome = self.effects.perform(request).await;
        self.record_effect("llm.embed", None, if outcome.is_ok() { "ok" } else { "error" }, 1);
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

    /// Adds the nearest intents to the trace.
    fn record_lexical_match(&self, ranking: &Ranking, intents: &[&IntentDef], threshold: f64, result: &LexicalResult<'_>) {
        let nearest = |it: &RankedClass| {
            let [confidence, score, margin] = [it.confidence, it.score, it.margin].map(round);
            let data =
                json!({"intent": intents.get(it.class).map(|it| &it.id), "confidence": confidence, "score": score, "margin": margin});
            with_member(data, "similarity", it.similarity.map(round))
        };
        let nearest: Vec<Value> = ranking.classes.iter().take(NEAREST).map(nearest).collect();
        let data = json!({"decision": result.name(), "threshold": round(threshold), "known": round(ranking.known), "nearest": nearest});
        let is_embedded = ranking.classes.iter().any(|it| it.similarity.is_some());
        self.trace("intent.lexical", with_member(data, "embedded", is_embedded.then_some(true)));
    }

    /// Explains the match with the terms of the message. They are not recorded, because they are parts of what the user has said.
    fn explain_lexical_match(
        &self,
        classifier: &LexicalClassifier,
        text: &str,
        ranking: &Ranking,
        intents: &[&IntentDef],
        threshold: f64,
        result: &LexicalResult<'_>,
    ) {
        let Some(explanation) = self.effects.begin_explanation("lexical") else { return };
        let candidate = |it: &RankedClass| {
            let intent = intents.get(it.class)?;
            let (verdict, reason) = result.verdict_on(&intent.id, it.confidence, threshold);
            let mut candidate = Candidate::for_choice("", &intent.id, verdict).with_reason(reason);
            candidate.score = json!(round(it.confidence));
            candidate.facts = explain_class(classifier, text, it);
            Some(candidate)
        };
        let candidates: Vec<Candidate> = ranking.classes.iter().take(NEAREST).filter_map(candidate).collect();
        let verdict = match result {
            LexicalResult::Accepted(_) => "the words of the message are like the phrases of the first intent",
            LexicalResult::Unsure(_) => "the first intent is below the confidence from which on it is accepted; a model may confirm it",
            LexicalResult::Close(..) => "two intents are too close to choose between them: the user is asked, unless a model decides",
            LexicalResult::Nothing => "no intent is near enough",
        };
        let about =
            json!({"threshold": threshold, "known": ranking.known, "askBelowMargin": self.settings().lexical_match.ask_below_margin});
        explanation.with_subject(about).with_candidates(candidates).record(&self.effects, verdict);
    }

    /// Asks which of two intents is meant.
    pub(super) fn ask_for_intent(&mut self, intents: [&'c IntentDef; 2], confidence: f64, search: &IntentSearch<'_>) {
        let buttons = intents.map(|it| json!({"id": it.id, "label": self.name_intent(it), "value": it.id}));
        let ids = intents.map(|it| &it.id);
        self.publish_match_record(search, None, "asked", confidence, json!({"asked": ids}));
        self.state.vars.insert(INTENT_QUESTION.to_owned(), json!({"text": self.input_text(), "intents": ids}));
        let [first, second] = intents.map(|it| self.name_intent(it));
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
        let is_offered = ids.into_iter().flatten().any(|it| it.as_str() == Some(button_id));
        let flow = self.flow;
        let intent = flow.matchable_intents().find(|it| is_offered && it.id == *button_id).ok_or(true)?;
        let message = question.get("text").and_then(Value::as_str).map(str::to_owned);
        Ok(IntentMatch { intent, source: "asked", confidence: 1.0, phrase: None, slots: Value::Null, message })
    }
}

impl LexicalResult<'_> {
    fn name(&self) -> &'static str {
        match self {
            LexicalResult::Accepted(_) => "accepted",
            LexicalResult::Unsure(_) => "unsure",
            LexicalResult::Close(..) => "close",
            LexicalResult::Nothing => "refused",
        }
    }

    fn verdict_on(&self, id: &str, confidence: f64, threshold: f64) -> (Verdict, &'static str) {
        match self {
            LexicalResult::Accepted(hit) if hit.intent.id == id => (Verdict::Won, "it is the best, and above the threshold"),
            LexicalResult::Close(close, _) if close.iter().any(|it| it.id == id) => (Verdict::Matched, "it is one of two that are close"),
            LexicalResult::Accepted(_) | LexicalResult::Unsure(_) | LexicalResult::Close(..) | LexicalResult::Nothing => {
                let lost = (Verdict::Lost, "another intent is better");
                if confidence >= threshold { lost } else { (Verdict::NotMatched, "its confidence is below the threshold") }
            }
        }
    }
}
