//! Resolves the intent of a message: small talk, phrases, their words, then a model (docs/spec/flows.md#5).

use convengine_config::flow::document::{Continuation, IntentDef, Selection};
use convengine_text::locale::EngineText;
use convengine_text::phrase::Phrase;
use convengine_values::{Command, is_question};
use serde_json::{Value, json};

use super::intent_match::{IntentMatch, IntentSearch, LexicalResult};
use super::match_explanation::NOT_INTERRUPTED;
use super::state::{Awaiting, SessionStatus};
use super::transition::Transition;
use super::turn::Turn;

/// What interrupts a question instead of answering it.
pub(super) enum Interrupt {
    /// An intent, whose graph has been pushed, or the end of the session.
    Taken(Transition),
    /// Small talk or a question, which has been answered: the user is asked again.
    Answered,
    /// Nothing.
    Nothing,
}

/// What a message resolves to when nothing is awaited.
pub(super) enum ResolvedMessage<'c> {
    /// An intent.
    Intent(IntentMatch<'c>),
    /// Something else, which has been answered: small talk, a refusal, or one of two intents, about which the user has been asked.
    Answered,
    /// A command, which is yet to be handled.
    Command(Command),
    /// No intent.
    Unmatched(IntentSearch<'c>),
}

impl<'c> Turn<'c> {
    /// Resolves the message when nothing is awaited.
    pub(super) async fn resolve_intent(&mut self) -> ResolvedMessage<'c> {
        self.enter_phase("match");
        let mut search = self.start_search();
        let was_asked = match self.take_intent_answer() {
            Ok(hit) => return self.accept_match(hit, &search),
            Err(was_asked) => was_asked,
        };
        let input = self.view().input_phrase();
        if self.answer_small_talk(&input, &search) {
            return ResolvedMessage::Answered;
        }
        let hit = self.view().match_replacement().or_else(|| self.view().match_phrase(&self.event.input_text()));
        self.note_phrases(&mut search, &input, hit.as_ref(), |_| true);
        if let Some(hit) = hit {
            match self.verify_match(hit, &input).await {
                Ok(hit) => return self.accept_match(hit, &search),
                Err(intent) => search.reject(intent),
            }
        }
        if self.view().refuses_intent(|it| it.enabled && !it.is_fallback) {
            return self.confirm_refusal(&search);
        }
        let mut close = None;
        let lexical = self.match_lexically(&input, &mut search).await;
        if let LexicalResult::Accepted(hit) | LexicalResult::Unsure(hit) = &lexical
            && self.view().refuses_by_words(hit.intent)
        {
            return self.confirm_refusal(&search);
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
        if let Some(command) = self.view().read_command().filter(|command| self.view().is_meaningful_when_idle(*command)) {
            return ResolvedMessage::Command(command);
        }
        if let Some(hit) = self.match_by_model(&input, &mut search).await {
            return self.accept_match(hit, &search);
        }
        // "I meant 250" comes when nothing can be changed any more.
        if close.is_none() && self.state.counters.requests > 0 && self.view().corrects_ended_request() {
            self.publish_match_record(&search, None, "late_correction", 0.0, json!({}));
            self.say(EngineText::CannotChange, &[]);
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
    pub(super) async fn try_interrupt(&mut self, awaiting: Awaiting, by_words: bool) -> Interrupt {
        self.state.awaiting = Some(awaiting);
        let interrupt = self.find_interrupt(by_words).await;
        if matches!(interrupt, Interrupt::Nothing) {
            self.state.awaiting = None;
        }
        interrupt
    }

    async fn find_interrupt(&mut self, by_words: bool) -> Interrupt {
        let mut search = self.start_search();
        let input = self.view().input_phrase();
        if self.answer_small_talk(&input, &search) {
            let is_over = self.state.status == SessionStatus::Completed;
            return if is_over { Interrupt::Taken(Transition::EndTurn) } else { Interrupt::Answered };
        }
        let active = self.state.vars.get("_active_intent_id").and_then(Value::as_str).unwrap_or_default().to_owned();
        // A phrase of the active intent is an answer, not an interrupt.
        let is_eligible = |intent: &IntentDef| intent.interrupts && intent.id != active;
        let hit = self.view().match_phrase(&self.event.input_text()).filter(|it| is_eligible(it.intent));
        self.note_phrases(&mut search, &input, hit.as_ref(), is_eligible);
        let mut verified = match hit {
            Some(hit) => self.verify_match(hit, &input).await.map_err(|it| search.reject(it)).ok(),
            None => None,
        };
        if by_words
            && verified.is_none()
            && let LexicalResult::Accepted(hit) = self.match_lexically(&input, &mut search).await
            && is_eligible(hit.intent)
            && self.view().shares_word(hit.intent)
            && !self.view().refuses_by_words(hit.intent)
        {
            verified = match self.settings().lexical_match.accept_above {
                Some(_) => Some(hit),
                None => self.verify_match(hit, &input).await.map_err(|it| search.reject(it)).ok(),
            };
        }
        let Some(hit) = verified else {
            if by_words && is_question(&self.event.input_text(), &self.state.locale) && self.answer_from_knowledge(&search).await {
                return Interrupt::Answered;
            }
            self.explain_match(&search, None, NOT_INTERRUPTED, 0.0, &Value::Null);
            return Interrupt::Nothing;
        };
        self.publish_match(&hit, &search);
        // What the intent does with its slots is not about the slot that was asked for.
        let slot_explanation = self.open_explanation.take();
        let is_begun = self.begin_intent(&hit);
        self.open_explanation = slot_explanation;
        if is_begun { Interrupt::Taken(Transition::GraphPushed) } else { Interrupt::Nothing }
    }

    /// Answers small talk. Returns whether the message was small talk.
    fn answer_small_talk(&mut self, input: &Phrase, search: &IntentSearch<'_>) -> bool {
        let Some((definition, score)) = self.view().find_small_talk(input) else { return false };
        self.publish_match_record(search, None, "small_talk", score, json!({"small_talk": definition.id}));
        let place = format!("small_talk/{}", definition.id);
        // 64 bits, because `usize` has 32 in a browser and must select the same response there.
        let count = u64::try_from(definition.responses.len()).unwrap_or(0);
        let at = self.seeded_random(&place).checked_rem(count).and_then(|index| usize::try_from(index).ok()).unwrap_or(0);
        if let Some(text) = definition.responses.get(at) {
            let text = self.render_localized(text, Selection::SeededRandom, &place);
            self.send_text(&text);
        }
        self.state.counters.fallbacks = 0;
        if definition.after == Continuation::EndSession {
            self.complete_session();
        }
        true
    }

    /// Says that what the user does not want is not done.
    fn confirm_refusal(&mut self, search: &IntentSearch<'c>) -> ResolvedMessage<'c> {
        self.publish_match_record(search, None, "refused", 0.0, json!({}));
        self.say(EngineText::LeftAlone, &[]);
        ResolvedMessage::Answered
    }

    fn accept_match(&mut self, hit: IntentMatch<'c>, search: &IntentSearch<'_>) -> ResolvedMessage<'c> {
        self.state.counters.fallbacks = 0;
        self.publish_match(&hit, search);
        ResolvedMessage::Intent(hit)
    }

    fn publish_match(&mut self, hit: &IntentMatch<'c>, search: &IntentSearch<'_>) {
        let mut slots = hit.slots.as_object().cloned().unwrap_or_default();
        self.view().redact_slot_hints(hit.intent, &mut slots);
        let phrase = hit.phrase.map(|phrase| ("matched_phrase".to_owned(), json!(phrase)));
        let details = [("slots".to_owned(), Value::Object(slots))].into_iter().chain(phrase).collect();
        self.publish_match_record(search, Some(&hit.intent.id), hit.source, hit.confidence, details);
    }
}
