//! Resolves the intent of a message: small talk, phrases, their words, then a model (docs/spec/flows.md#5).

use std::cmp::Reverse;

use convengine_config::flow::IntentPhrases;
use convengine_config::flow::document::{Continuation, IntentDef};
use convengine_text::locale::EngineText;
use convengine_text::marked_phrase::MarkedPhrase;
use convengine_text::phrase::{Phrase, PlacedPhrase};
use convengine_turn::{Explanation, Millis, Verdict};
use convengine_values::{has_refusal, is_question, is_refused, read_correction, restate_number, without_refusals};
use serde_json::{Value, json};

use super::Walker;
use super::frames::into_members;
use super::lexical_match::LexicalResult;
use super::match_explanation::NOT_INTERRUPTED;
use super::walk::Transition;

/// From which similarity on a message is the phrase of an intent, and no answer that holds it.
const PLAIN_SIMILARITY: f64 = 0.8;

/// A matched intent.
#[derive(Debug, Clone)]
pub(super) struct IntentMatch<'c> {
    pub intent: &'c IntentDef,
    pub source: &'static str,
    pub confidence: f64,
    pub phrase: Option<&'c str>,
    pub slots: Value,
    /// The message that it was matched with, when that is not the event of this turn.
    pub message: Option<String>,
}

/// The search for the intent of a message.
pub(super) struct IntentSearch<'c> {
    /// When it started.
    started_at: Millis,
    /// Intents that a model has rejected.
    pub rejected: Vec<&'c str>,
    /// Its explanation, if the turn is observed.
    pub explanation: Option<Box<Explanation>>,
}

impl<'c> IntentSearch<'c> {
    /// Adds an intent that a model has rejected.
    fn reject(&mut self, intent: &'c str) {
        self.rejected.push(intent);
        self.note(intent, Verdict::Lost, Value::Null, "a model has rejected it");
    }
}

/// What interrupted a question instead of answering it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interrupt {
    /// An intent; its graph has been pushed.
    IntentPushed,
    /// Small talk; it has been answered.
    SmallTalk,
    /// Small talk that ends the session.
    SessionEnded,
    /// Nothing.
    NotInterrupted,
}

/// What a message resolves to when nothing is awaited.
pub(super) enum ResolvedMessage<'c> {
    /// An intent.
    Intent(IntentMatch<'c>),
    /// Something else, which has been answered: small talk, a refusal, or one of two intents, about which the user has been asked.
    Answered,
    /// A command; what it does is yet to be run.
    Command(Transition),
    /// No intent.
    Unmatched(IntentSearch<'c>),
}

impl<'c> Walker<'c> {
    /// Resolves the message when nothing is awaited.
    pub(super) async fn resolve_intent(&mut self) -> ResolvedMessage<'c> {
        self.enter_phase("match");
        let mut search = self.start_search();
        let was_asked = match self.take_intent_answer() {
            Ok(hit) => return self.accept_match(hit, &search),
            Err(was_asked) => was_asked,
        };
        let input = self.input_phrase();
        if self.answer_small_talk(&input, &search) {
            return ResolvedMessage::Answered;
        }
        let hit = self.match_replacement().or_else(|| self.match_phrase(&self.input_text()));
        self.note_phrases(&mut search, &input, hit.as_ref(), |_| true);
        if let Some(hit) = hit {
            match self.verify_match(hit, &input).await {
                Ok(hit) => return self.accept_match(hit, &search),
                Err(intent) => search.reject(intent),
            }
        }
        if self.refuses_intent(|it| it.enabled && !it.is_fallback) {
            return self.leave_alone(&search);
        }
        let mut close = None;
        let lexical = self.match_lexically(&input, &mut search).await;
        if let LexicalResult::Accepted(hit) | LexicalResult::Unsure(hit) = &lexical
            && self.refuses_by_words(hit.intent)
        {
            return self.leave_alone(&search);
        }
        match lexical {
            LexicalResult::Accepted(hit) if self.settings().lexical_match.accept_above.is_some() => return self.accept_match(hit, &search),
            LexicalResult::Accepted(hit) => match self.verify_match(hit, &input).await {
                Ok(hit) => return self.accept_match(hit, &search),
                Err(intent) => search.reject(intent),
            },
            // Below the line a model that fails does not accept.
            LexicalResult::Unsure(hit) if self.settings().llm_verify => match self.ask_for_verification(&hit, false).await {
                Ok(Some(hit)) => return self.accept_match(hit, &search),
                Ok(None) => {}
                Err(intent) => search.reject(intent),
            },
            LexicalResult::Unsure(_) | LexicalResult::Nothing => {}
            LexicalResult::Close(intents, confidence) => close = Some((intents, confidence)),
        }
        if let Some(next) = self.read_command().and_then(|it| self.obey_when_idle(it)) {
            return ResolvedMessage::Command(next);
        }
        if let Some(hit) = self.match_by_model(&input, &mut search).await {
            return self.accept_match(hit, &search);
        }
        // "I meant 250" comes when nothing can be changed any more.
        if close.is_none() && self.state.counters.requests > 0 && self.corrects_ended_request() {
            self.publish_match_record(&search, None, "late_correction", 0.0, json!({}));
            let text = self.engine_text(EngineText::CannotChange, &[]);
            self.send_text(&text);
            return ResolvedMessage::Answered;
        }
        match close.filter(|_| !was_asked) {
            Some((intents, confidence)) => {
                self.ask_for_intent(intents, confidence, &search);
                ResolvedMessage::Answered
            }
            None => ResolvedMessage::Unmatched(search),
        }
    }

    /// Lets small talk or an interrupting intent interrupt a question. With `by_words`, an intent is also found without a phrase, and a
    /// question may be answered by the knowledge base.
    pub(super) async fn try_interrupt(&mut self, by_words: bool) -> Interrupt {
        let mut search = self.start_search();
        let input = self.input_phrase();
        if self.answer_small_talk(&input, &search) {
            return if self.state.status == crate::state::SessionStatus::Completed {
                Interrupt::SessionEnded
            } else {
                Interrupt::SmallTalk
            };
        }
        let active = self.state.vars.get("_active_intent_id").and_then(Value::as_str).unwrap_or_default().to_owned();
        // A phrase of the active intent is an answer, not an interrupt.
        let is_eligible = |it: &IntentDef| it.interrupts && it.id != active;
        let hit = self.match_phrase(&self.input_text()).filter(|it| is_eligible(it.intent));
        self.note_phrases(&mut search, &input, hit.as_ref(), is_eligible);
        let mut verified = match hit {
            Some(hit) => self.verify_match(hit, &input).await.map_err(|it| search.reject(it)).ok(),
            None => None,
        };
        if by_words
            && verified.is_none()
            && let LexicalResult::Accepted(hit) = self.match_lexically(&input, &mut search).await
            && is_eligible(hit.intent)
            && self.shares_word(hit.intent)
            && !self.refuses_by_words(hit.intent)
        {
            verified = match self.settings().lexical_match.accept_above {
                Some(_) => Some(hit),
                None => self.verify_match(hit, &input).await.map_err(|it| search.reject(it)).ok(),
            };
        }
        let Some(hit) = verified else {
            if by_words && is_question(&self.input_text(), &self.state.locale) && self.answer_from_knowledge(&search).await {
                return Interrupt::SmallTalk;
            }
            self.explain_match(&search, None, NOT_INTERRUPTED, 0.0, &Value::Null);
            return Interrupt::NotInterrupted;
        };
        self.publish_match(&hit, &search);
        // What the intent does with its slots is not about the slot that was asked for.
        let slot = self.open_explanation.take();
        let is_begun = self.begin_intent(&hit);
        self.open_explanation = slot;
        if is_begun { Interrupt::IntentPushed } else { Interrupt::NotInterrupted }
    }

    /// Whether the message as a whole is a phrase of another intent, or small talk.
    pub(super) fn is_plainly_something_else(&self) -> bool {
        let input = self.input_phrase();
        let flow = self.flow;
        let active = self.state.vars.get("_active_intent_id").and_then(Value::as_str).unwrap_or_default();
        let intents = flow.document.intents.iter().zip(&flow.phrases).filter(|(intent, phrases)| {
            intent.enabled && intent.interrupts && !intent.is_fallback && intent.id != active && !is_ruled_out(phrases, &input)
        });
        let is_whole = |phrase: &Phrase| input.similarity(phrase) >= PLAIN_SIMILARITY;
        let is_small_talk = flow
            .document
            .small_talk
            .iter()
            .zip(&flow.small_talk_patterns)
            .any(|(form, patterns)| patterns.iter().map(|it| input.similarity(it)).fold(0.0, f64::max) >= form.min_score);
        is_small_talk || intents.into_iter().any(|it| it.1.positive.iter().any(is_whole))
    }

    /// Starts a search.
    pub(super) fn start_search(&self) -> IntentSearch<'c> {
        let explanation = self.effects.begin_explanation("intent_match").map(Box::new);
        IntentSearch { started_at: self.effects.now(), rejected: Vec::new(), explanation }
    }

    fn input_phrase(&self) -> Phrase {
        Phrase::new(&self.input_text(), &self.flow.document.default_locale)
    }

    /// Answers small talk. Returns whether the message was small talk.
    fn answer_small_talk(&mut self, input: &Phrase, search: &IntentSearch<'_>) -> bool {
        let flow = self.flow;
        let scored = flow.document.small_talk.iter().zip(&flow.small_talk_patterns).enumerate().filter_map(|(at, (form, patterns))| {
            let score = patterns.iter().map(|it| input.similarity(it)).fold(0.0, f64::max);
            (score > 0.0 && score >= form.min_score).then_some((at, form, score))
        });
        // The first wins a tie.
        let best = scored.fold(None, |best: Option<(usize, _, f64)>, next| match best {
            Some(best) if best.2 >= next.2 => Some(best),
            _ => Some(next),
        });
        let Some((_, form, score)) = best else { return false };
        self.publish_match_record(search, None, "small_talk", score, json!({"small_talk": form.id}));
        let place = format!("small_talk/{}", form.id);
        // 64 bits, because `usize` has 32 in a browser and must select the same response there.
        let count = u64::try_from(form.responses.len()).unwrap_or(0);
        let at = self.seeded_random(&place).checked_rem(count).and_then(|it| usize::try_from(it).ok()).unwrap_or(0);
        if let Some(text) = form.responses.get(at) {
            let text = self.render_localized(text, convengine_config::flow::document::Selection::SeededRandom, &place);
            self.send_text(&text);
        }
        self.state.counters.fallbacks = 0;
        if form.after == Continuation::EndSession {
            self.complete_session();
        }
        true
    }

    /// The best phrase of an intent in the message, with its score.
    pub(super) fn best_phrase(&self, intent: &'c IntentDef, phrases: &'c IntentPhrases, input: &Phrase) -> Option<(f64, &'c str)> {
        let message = self.input_text();
        let score = |phrase: &Phrase, marked: &Option<MarkedPhrase>| match marked {
            Some(marked) => self.match_marks(intent, marked, &message).map(|it| it.score),
            None => input.match_phrase(phrase).map(|it| it.1),
        };
        let all = intent.phrases.iter().zip(&phrases.positive).zip(&phrases.marked);
        let found = all.filter_map(|((text, phrase), marked)| Some((phrase.tokens().len(), score(phrase, marked)?, text.as_str())));
        found.max_by(|a, b| (a.0, a.1).partial_cmp(&(b.0, b.1)).unwrap_or(std::cmp::Ordering::Equal)).map(|it| (it.1, it.2))
    }

    /// The intent with the best phrase in the message: the longest, then the highest score and priority.
    fn match_phrase(&self, message: &str) -> Option<IntentMatch<'c>> {
        let flow = self.flow;
        let input = &Phrase::new(message, &flow.document.default_locale);
        let mut best: Option<(usize, bool, f64, IntentMatch<'c>)> = None;
        for (intent, phrases) in flow.document.intents.iter().zip(&flow.phrases) {
            if !intent.enabled || intent.is_fallback || is_ruled_out(phrases, input) {
                continue;
            }
            // A phrase of which somebody says that they do not want it is none.
            for ((text, phrase), marked) in intent.phrases.iter().zip(&phrases.positive).zip(&phrases.marked) {
                let score = match marked {
                    Some(marked) => self.match_marks(intent, marked, message).map(|it| it.score),
                    None => input.match_phrase(phrase).map(|it| it.1),
                };
                let Some(score) = score.filter(|_| !self.is_refused_phrase(message, phrase)) else { continue };
                let (length, is_plain) = (phrase.tokens().len(), marked.is_none());
                let better = best.as_ref().is_none_or(|(best_length, best_plain, best_score, it)| {
                    (length, is_plain, score, Reverse(intent.priority))
                        > (*best_length, *best_plain, *best_score, Reverse(it.intent.priority))
                });
                if better {
                    let hit =
                        IntentMatch { intent, source: "phrase", confidence: score, phrase: Some(text), slots: Value::Null, message: None };
                    best = Some((length, is_plain, score, hit));
                }
            }
        }
        best.map(|it| it.3)
    }

    /// Whether the message refuses what a phrase in it asks for.
    fn is_refused_phrase(&self, message: &str, phrase: &Phrase) -> bool {
        let placed = PlacedPhrase::new(message, &self.flow.document.default_locale);
        let length = phrase.tokens().len();
        let at = placed.tokens().windows(length.max(1)).position(|it| it == phrase.tokens());
        let place = at.and_then(|at| Some(placed.places().get(at)?.start..placed.places().get(at + length - 1)?.end));
        place.is_some_and(|it| is_refused(message, &it, &self.state.locale))
    }

    /// Says that what the user does not want is not done.
    fn leave_alone(&mut self, search: &IntentSearch<'c>) -> ResolvedMessage<'c> {
        self.publish_match_record(search, None, "refused", 0.0, json!({}));
        let text = self.engine_text(EngineText::LeftAlone, &[]);
        self.send_text(&text);
        ResolvedMessage::Answered
    }

    /// Whether the message refuses something, and the intent is not for those who refuse: "I do not want my card any more".
    fn refuses_by_words(&self, intent: &IntentDef) -> bool {
        let locale = &self.state.locale;
        let text = self.input_text();
        if !has_refusal(&text, locale) || intent.phrases.iter().any(|it| has_refusal(it, locale)) {
            return false;
        }
        // "Two pizzas, no ham" asks for pizzas.
        let rest = without_refusals(&text, locale);
        self.accepts_by_words(&rest).is_none_or(|it| it.id != intent.id)
    }

    /// The intent of "get a quote" in "book a repair, no, get a quote".
    fn match_replacement(&self) -> Option<IntentMatch<'c>> {
        let text = self.input_text();
        text.split_whitespace().nth(2)?;
        let replacement = read_correction(&text, &self.state.locale).filter(|it| it.replaced.is_some())?.replacement;
        let message = text.get(replacement)?;
        let hit = self.match_phrase(message)?;
        Some(IntentMatch { message: Some(message.to_owned()), ..hit })
    }

    /// Whether the message refuses what the innermost intent is for.
    pub(super) fn refuses_active_intent(&self) -> bool {
        let active = self.state.vars.get("_active_intent_id").and_then(Value::as_str).unwrap_or_default();
        self.refuses_intent(|it| it.id == active)
    }

    /// Whether the message refuses what one of some intents is for.
    fn refuses_intent(&self, is_candidate: impl Fn(&IntentDef) -> bool) -> bool {
        let message = self.input_text();
        if !has_refusal(&message, &self.state.locale) {
            return false;
        }
        let input = self.input_phrase();
        let intents = self.flow.document.intents.iter().zip(&self.flow.phrases).filter(|it| is_candidate(it.0));
        let mut phrases = intents.flat_map(|it| &it.1.positive);
        phrases.any(|it| input.match_phrase(it).is_some() && self.is_refused_phrase(&message, it))
    }

    fn accept_match(&mut self, hit: IntentMatch<'c>, search: &IntentSearch<'_>) -> ResolvedMessage<'c> {
        self.state.counters.fallbacks = 0;
        self.publish_match(&hit, search);
        ResolvedMessage::Intent(hit)
    }

    fn publish_match(&mut self, hit: &IntentMatch<'c>, search: &IntentSearch<'_>) {
        let mut slots = hit.slots.as_object().cloned().unwrap_or_default();
        self.redact_slot_hints(hit.intent, &mut slots);
        let phrase = hit.phrase.map(|it| ("matched_phrase".to_owned(), json!(it)));
        let more = [("slots".to_owned(), Value::Object(slots))].into_iter().chain(phrase).collect();
        self.publish_match_record(search, Some(&hit.intent.id), hit.source, hit.confidence, more);
    }

    /// Publishes the match record of a message (docs/spec/flows.md#5.3).
    pub(super) fn publish_match_record(
        &mut self,
        search: &IntentSearch<'_>,
        intent: Option<&str>,
        source: &'static str,
        confidence: f64,
        more: Value,
    ) {
        let matched = json!({"intent_id": intent, "source": source, "confidence": confidence});
        let mut record = into_members(matched.clone());
        record.extend(into_members(json!({"rejected": search.rejected, "slots": {}, "ms": self.effects.now() - search.started_at})));
        self.explain_match(search, intent, source, confidence, &more);
        record.extend(into_members(more));
        self.trace("intent.match", Value::Object(record));
        // The welcome does not answer a message.
        if source != "welcome" {
            self.record.debug.matched_intent = matched;
        }
    }

    /// Enters the graph of a matched intent.
    pub(super) fn begin_intent(&mut self, hit: &IntentMatch<'c>) -> bool {
        let is_entered = self.enter_intent(hit);
        if is_entered {
            self.state.counters.fallbacks = 0;
        }
        is_entered
    }

    /// Enters the graph of an intent, matched or fallback.
    pub(super) fn enter_intent(&mut self, hit: &IntentMatch<'c>) -> bool {
        let message = hit.message.clone().unwrap_or_else(|| self.input_text());
        let restated = restate_number(&message, &self.state.locale);
        let last = json!({"id": hit.intent.id, "confidence": hit.confidence, "source": hit.source, "text": message});
        if !self.push_intent(&hit.intent.id, &hit.intent.graph) {
            return false;
        }
        let depth = self.depth().saturating_sub(1);
        self.state.vars.insert("_last_intent".to_owned(), last);
        self.write_slot_hints(hit.intent, &hit.slots);
        let message = restated.unwrap_or(message);
        let values = self.find_slot_values(hit, &message);
        self.trigger = Some(super::IntentTrigger { text: message, depth, prefilled_slots: Vec::new(), entered_slots: Vec::new(), values });
        true
    }
}

/// Whether a negative phrase rules an intent out.
pub(super) fn is_ruled_out(phrases: &IntentPhrases, input: &Phrase) -> bool {
    phrases.negative.iter().any(|it| input.match_phrase(it).is_some())
}
