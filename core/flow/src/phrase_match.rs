//! Matches a message with the phrases of intents and small talk, without a model (docs/spec/flows.md#5.3).

use std::cell::LazyCell;
use std::cmp::Reverse;

use convengine_config::flow::document::{IntentDef, SmallTalkDef};
use convengine_text::phrase::{Phrase, PlacedPhrase};
use convengine_understanding::lexical::Decision;
use convengine_values::{has_refusal, is_refused, read_correction, without_refusals};
use serde_json::Value;

use super::intent_match::{IntentMatch, is_ruled_out};
use super::view::SessionView;

/// From which similarity on a message is the phrase of an intent, and no answer that holds it.
const WHOLE_MESSAGE_SIMILARITY: f64 = 0.8;

impl<'c> SessionView<'_, 'c> {
    /// The intent with the best phrase in the message: the longest, then the highest score and priority.
    pub(super) fn match_phrase(&self, message: &str) -> Option<IntentMatch<'c>> {
        let flow = self.flow;
        let input = &Phrase::new(message, &flow.document.default_locale);
        let asks_for_person = LazyCell::new(|| self.asks_for_person());
        let mut best: Option<(usize, bool, f64, IntentMatch<'c>)> = None;
        for (intent, phrases) in flow.document.intents.iter().zip(&flow.phrases) {
            if !intent.enabled || intent.is_fallback || is_ruled_out(phrases, input) {
                continue;
            }
            // A phrase of which somebody says that they do not want it is none, nor is one in the wish to talk to a person.
            for ((text, phrase), marked) in intent.phrases.iter().zip(&phrases.positive).zip(&phrases.marked) {
                let score = match marked {
                    Some(marked) => self.match_marks(intent, marked, message).map(|it| it.score),
                    None => input.match_phrase(phrase).map(|it| it.1),
                };
                let is_person_meant = || *asks_for_person && !self.is_for_person(intent, phrases);
                let Some(score) = score.filter(|_| !self.is_refused_phrase(message, phrase) && !is_person_meant()) else { continue };
                let (length, is_plain) = (phrase.tokens().len(), marked.is_none());
                let is_better = best.as_ref().is_none_or(|(best_length, best_plain, best_score, best_hit)| {
                    (length, is_plain, score, Reverse(intent.priority))
                        > (*best_length, *best_plain, *best_score, Reverse(best_hit.intent.priority))
                });
                if is_better {
                    let hit = IntentMatch { phrase: Some(text), ..IntentMatch::new(intent, "phrase", score) };
                    best = Some((length, is_plain, score, hit));
                }
            }
        }
        best.map(|it| it.3)
    }

    /// The intent of "get a quote" in "book a repair, no, get a quote".
    pub(super) fn match_replacement(&self) -> Option<IntentMatch<'c>> {
        let text = self.event.input_text();
        text.split_whitespace().nth(2)?;
        let replacement = read_correction(&text, &self.state.locale).filter(|it| it.replaced.is_some())?.replacement;
        let message = text.get(replacement)?;
        let hit = self.match_phrase(message)?;
        Some(IntentMatch { message: Some(message.to_owned()), ..hit })
    }

    /// The small talk that is most like the message, with its similarity; the first of several wins.
    pub(super) fn find_small_talk(&self, input: &Phrase) -> Option<(&'c SmallTalkDef, f64)> {
        let flow = self.flow;
        let scored = flow.document.small_talk.iter().zip(&flow.small_talk_patterns).filter_map(|(definition, patterns)| {
            let score = patterns.iter().map(|it| input.similarity(it)).fold(0.0, f64::max);
            (score > 0.0 && score >= definition.min_score).then_some((definition, score))
        });
        scored.fold(None, |best: Option<(_, f64)>, next| best.filter(|it| it.1 >= next.1).or(Some(next)))
    }

    /// Whether the message as a whole is a phrase of another intent, or small talk.
    pub(super) fn is_other_intent_or_small_talk(&self) -> bool {
        let input = self.input_phrase();
        let flow = self.flow;
        let active = self.state.vars.get("_active_intent_id").and_then(Value::as_str).unwrap_or_default();
        let intents = flow.document.intents.iter().zip(&flow.phrases).filter(|(intent, phrases)| {
            intent.enabled && intent.interrupts && !intent.is_fallback && intent.id != active && !is_ruled_out(phrases, &input)
        });
        let is_whole = |phrase: &Phrase| input.similarity(phrase) >= WHOLE_MESSAGE_SIMILARITY;
        let is_small_talk = flow
            .document
            .small_talk
            .iter()
            .zip(&flow.small_talk_patterns)
            .any(|(definition, patterns)| patterns.iter().map(|it| input.similarity(it)).fold(0.0, f64::max) >= definition.min_score);
        is_small_talk || intents.into_iter().any(|(_, phrases)| phrases.positive.iter().any(is_whole))
    }

    /// Whether the message refuses something, and the intent is not for those who refuse: "I do not want my card any more".
    pub(super) fn refuses_by_words(&self, intent: &IntentDef) -> bool {
        let locale = &self.state.locale;
        let text = self.event.input_text();
        if !has_refusal(&text, locale) || intent.phrases.iter().any(|it| has_refusal(it, locale)) {
            return false;
        }
        // "Two pizzas, no ham" asks for pizzas.
        let rest = without_refusals(&text, locale);
        self.find_intent_by_words(&rest).is_none_or(|it| it.id != intent.id)
    }

    /// Whether the message refuses what the innermost intent is for.
    pub(super) fn refuses_active_intent(&self) -> bool {
        let active = self.state.vars.get("_active_intent_id").and_then(Value::as_str).unwrap_or_default();
        self.refuses_intent(|it| it.id == active)
    }

    /// Whether the message refuses what one of some intents is for.
    pub(super) fn refuses_intent(&self, is_candidate: impl Fn(&IntentDef) -> bool) -> bool {
        let message = self.event.input_text();
        if !has_refusal(&message, &self.state.locale) {
            return false;
        }
        let input = self.input_phrase();
        let intents = self.flow.document.intents.iter().zip(&self.flow.phrases).filter(|it| is_candidate(it.0));
        let mut phrases = intents.flat_map(|it| &it.1.positive);
        phrases.any(|phrase| input.match_phrase(phrase).is_some() && self.is_refused_phrase(&message, phrase))
    }

    /// Whether the message refuses what a phrase in it asks for.
    fn is_refused_phrase(&self, message: &str, phrase: &Phrase) -> bool {
        let placed = PlacedPhrase::new(message, &self.flow.document.default_locale);
        let length = phrase.tokens().len();
        let at = placed.tokens().windows(length.max(1)).position(|words| words == phrase.tokens());
        let place = at.and_then(|at| Some(placed.places().get(at)?.start..placed.places().get(at + length - 1)?.end));
        place.is_some_and(|it| is_refused(message, &it, &self.state.locale))
    }

    /// The intent that a text has by its words alone.
    pub(super) fn find_intent_by_words(&self, text: &str) -> Option<&'c IntentDef> {
        let flow = self.flow;
        let classifier = flow.classifier().filter(|_| !text.is_empty())?;
        let ranking = classifier.rank_among(text, |_| true);
        let Decision::Accepted(best) = classifier.decide(&ranking, self.settings().lexical_match.acceptance()) else { return None };
        flow.matchable_intents().nth(best.class)
    }

    /// Whether the message has a word of an intent, not only parts of words. Without one it does not leave the question that was asked.
    pub(super) fn shares_word(&self, intent: &IntentDef) -> bool {
        let flow = self.flow;
        let class = flow.matchable_intents().position(|it| it.id == intent.id);
        flow.classifier()
            .zip(class)
            .is_some_and(|(classifier, class)| classifier.shares_word(&self.event.input_text(), class, &self.state.locale))
    }
}
