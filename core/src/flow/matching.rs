//! Resolves the intent of a message: small talk, phrases, their words, then a model (docs/spec/flows.md#5).

use serde_json::{Value, json};

use super::Walker;
use super::frames::into_members;
use super::lexical_match::LexicalResult;
use crate::config::flow::IntentPhrases;
use crate::config::flow::document::{Continuation, IntentDef};
use crate::json::schema::JsonSchema;
use crate::text::phrase::Phrase;
use crate::turn::Millis;

/// Minimum confidence for an intent that verification has rejected (docs/spec/flow-rulings.md#12).
const MIN_CONFIDENCE_AFTER_REJECTION: f64 = 0.8;

/// Maximum phrases per intent in a model request.
const MAX_PHRASES: usize = 5;

/// Maximum intents in a model request.
const MAX_CANDIDATES: usize = 40;

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
    rejected: Vec<&'c str>,
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
    /// Small talk; it has been answered.
    SmallTalk,
    /// One of two intents; the user has been asked which.
    Asked,
    /// No intent.
    Unmatched(IntentSearch<'c>),
}

impl<'c> Walker<'c> {
    /// Resolves the message when nothing is awaited.
    pub(super) async fn resolve_intent(&mut self) -> ResolvedMessage<'c> {
        let mut search = self.start_search();
        let was_asked = match self.take_intent_answer() {
            Ok(hit) => return self.accept_match(hit, &search),
            Err(was_asked) => was_asked,
        };
        let input = self.input_phrase();
        if self.answer_small_talk(&input, &search) {
            return ResolvedMessage::SmallTalk;
        }
        if let Some(hit) = self.match_phrase(&input) {
            match self.verify_match(hit, &input).await {
                Ok(hit) => return self.accept_match(hit, &search),
                Err(intent) => search.rejected.push(intent),
            }
        }
        let mut close = None;
        match self.match_lexically(&input, &search.rejected).await {
            LexicalResult::Accepted(hit) if self.settings().lexical_match.accept_above.is_some() => return self.accept_match(hit, &search),
            LexicalResult::Accepted(hit) => match self.verify_match(hit, &input).await {
                Ok(hit) => return self.accept_match(hit, &search),
                Err(intent) => search.rejected.push(intent),
            },
            // Below the line a model that fails does not accept.
            LexicalResult::Unsure(hit) if self.settings().llm_verify => match self.ask_for_verification(&hit).await {
                Ok(Some(hit)) => return self.accept_match(hit, &search),
                Ok(None) => {}
                Err(intent) => search.rejected.push(intent),
            },
            LexicalResult::Unsure(_) | LexicalResult::Nothing => {}
            LexicalResult::Close(intents, confidence) => close = Some((intents, confidence)),
        }
        if let Some(hit) = self.match_by_model(&input, &search.rejected).await {
            return self.accept_match(hit, &search);
        }
        match close.filter(|_| !was_asked) {
            Some((intents, confidence)) => {
                self.ask_for_intent(intents, confidence, &search);
                ResolvedMessage::Asked
            }
            None => ResolvedMessage::Unmatched(search),
        }
    }

    /// Lets small talk or an interrupting intent interrupt a question.
    pub(super) async fn try_interrupt(&mut self) -> Interrupt {
        let search = self.start_search();
        let input = self.input_phrase();
        if self.answer_small_talk(&input, &search) {
            return if self.state.status == crate::flow::state::SessionStatus::Completed {
                Interrupt::SessionEnded
            } else {
                Interrupt::SmallTalk
            };
        }
        let active = self.state.vars.get("_active_intent_id").and_then(Value::as_str).unwrap_or_default().to_owned();
        // A phrase of the active intent is an answer, not an interrupt.
        let hit = self.match_phrase(&input).filter(|it| it.intent.interrupts && it.intent.id != active);
        let Some(hit) = hit else { return Interrupt::NotInterrupted };
        let Ok(hit) = self.verify_match(hit, &input).await else { return Interrupt::NotInterrupted };
        self.publish_match(&hit, &search);
        if self.begin_intent(&hit) { Interrupt::IntentPushed } else { Interrupt::NotInterrupted }
    }

    /// Starts a search.
    pub(super) fn start_search(&self) -> IntentSearch<'c> {
        IntentSearch { started_at: self.effects.now(), rejected: Vec::new() }
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
            let text = self.render_localized(text, crate::config::flow::document::Selection::SeededRandom, &place);
            self.send_text(&text);
        }
        self.state.counters.fallbacks = 0;
        if form.after == Continuation::EndSession {
            self.complete_session();
        }
        true
    }

    /// The intent with the best phrase in the message: the longest, then the highest score and priority.
    fn match_phrase(&self, input: &Phrase) -> Option<IntentMatch<'c>> {
        let flow = self.flow;
        let message = self.input_text();
        let mut best: Option<(usize, bool, f64, IntentMatch<'c>)> = None;
        for (intent, phrases) in flow.document.intents.iter().zip(&flow.phrases) {
            if !intent.enabled || intent.is_fallback || is_ruled_out(phrases, input) {
                continue;
            }
            for ((text, phrase), marked) in intent.phrases.iter().zip(&phrases.positive).zip(&phrases.marked) {
                let score = match marked {
                    Some(marked) => self.match_marks(intent, marked, &message).map(|it| it.score),
                    None => input.match_phrase(phrase).map(|it| it.1),
                };
                let Some(score) = score else { continue };
                let (length, is_plain) = (phrase.tokens().len(), marked.is_none());
                let better = best.as_ref().is_none_or(|(best_length, best_plain, best_score, it)| {
                    (length, is_plain, score, -intent.priority) > (*best_length, *best_plain, *best_score, -it.intent.priority)
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

    /// Lets a model verify a match. The error is the id of a rejected intent; a model that fails accepts.
    async fn verify_match(&mut self, hit: IntentMatch<'c>, input: &Phrase) -> Result<IntentMatch<'c>, &'c str> {
        let exact = hit.phrase.is_some_and(|it| Phrase::new(it, &self.flow.document.default_locale).tokens() == input.tokens());
        if !self.settings().llm_verify || exact {
            return Ok(hit);
        }
        Ok(self.ask_for_verification(&hit).await?.unwrap_or(hit))
    }

    /// Asks a model whether a match is right: `None` when it fails. The error is the id of a rejected intent.
    async fn ask_for_verification(&mut self, hit: &IntentMatch<'c>) -> Result<Option<IntentMatch<'c>>, &'c str> {
        let phrases: Vec<&String> = hit.intent.phrases.iter().take(MAX_PHRASES).collect();
        let system = "A keyword search has matched a user's message with an intent of an assistant. Decide whether the message \
                      really asks for that intent. Answer with JSON: {\"match\": true or false, \"confidence\": 0 to 1}.";
        let user = json!({
            "message": self.input_text(), "intent": hit.intent.name, "description": hit.intent.description, "phrases": phrases,
        });
        let schema = json!({
            "type": "object", "required": ["match", "confidence"],
            "properties": {"match": {"type": "boolean"}, "confidence": {"type": "number", "minimum": 0, "maximum": 1}},
        });
        let Some(reply) = self.ask_for_schema("intent_verify", system, &user, schema).await else { return Ok(None) };
        if reply.get("match") == Some(&Value::Bool(false)) {
            self.trace("intent.rejected", json!({"intent": hit.intent.id}));
            return Err(&hit.intent.id);
        }
        let source = if hit.phrase.is_some() { "phrase_verified" } else { "lexical_verified" };
        Ok(Some(IntentMatch { source, confidence: read_confidence(&reply), ..hit.clone() }))
    }

    /// Asks a model for an object of a schema; `None` when the reply does not conform (docs/spec/flows-http.md#7).
    pub(super) async fn ask_for_schema(&mut self, purpose: &str, system: &str, user: &Value, schema: Value) -> Option<Value> {
        let compiled = JsonSchema::compile(&schema);
        let reply = self.ask_json(purpose, system, user, schema).await?;
        let fits = compiled.is_ok_and(|it| it.find_violation(&reply).is_none());
        if !fits {
            self.warn("llm.invalid", json!({"purpose": purpose}));
        }
        fits.then_some(reply)
    }

    /// Lets a model choose an intent.
    async fn match_by_model(&mut self, input: &Phrase, doubted: &[&str]) -> Option<IntentMatch<'c>> {
        if !self.settings().llm_match || input.tokens().is_empty() {
            return None;
        }
        let candidates = self.select_candidates(input);
        if candidates.is_empty() {
            return None;
        }
        let shown: Vec<Value> = candidates
            .iter()
            .map(|it| {
                let slots = self.hinted_slots(it);
                let phrases: Vec<&String> = it.phrases.iter().take(MAX_PHRASES).collect();
                json!({"id": it.id, "name": it.name, "description": it.description, "phrases": phrases, "slots": slots})
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
        let user = json!({"message": self.input_text(), "intents": shown});
        let reply = self.ask_for_schema("intent_match", system, &user, schema).await?;
        let id = reply.get("intent_id")?.as_str()?;
        let intent = candidates.into_iter().find(|it| it.id == id)?;
        let confidence = read_confidence(&reply);
        let least = if doubted.contains(&id) { MIN_CONFIDENCE_AFTER_REJECTION } else { 0.0 };
        if confidence < self.settings().intent_min_confidence.max(least) {
            self.trace("intent.unsure", json!({"intent": id, "confidence": confidence}));
            return None;
        }
        let slots = reply.get("slots").cloned().unwrap_or_default();
        Some(IntentMatch { intent, source: "llm", confidence, phrase: None, slots, message: None })
    }

    /// The intents for a model request: all, or those that share the most words with the message.
    fn select_candidates(&self, input: &Phrase) -> Vec<&'c IntentDef> {
        let flow = self.flow;
        let mut found: Vec<(usize, &IntentDef)> = Vec::new();
        for (intent, phrases) in flow.document.intents.iter().zip(&flow.phrases).filter(|it| it.0.enabled && !it.0.is_fallback) {
            let shared = |it: &Phrase| it.tokens().iter().filter(|it| input.tokens().contains(it)).count();
            let name = Phrase::new(&format!("{} {}", intent.name, intent.description), &flow.document.default_locale);
            found.push((phrases.positive.iter().chain([&name]).map(shared).max().unwrap_or(0), intent));
        }
        if found.len() > MAX_CANDIDATES {
            found.sort_by_key(|it| std::cmp::Reverse(it.0));
            found.truncate(MAX_CANDIDATES);
        }
        found.into_iter().map(|it| it.1).collect()
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
        let last = json!({"id": hit.intent.id, "confidence": hit.confidence, "source": hit.source, "text": message});
        if !self.push_intent(&hit.intent.id, &hit.intent.graph) {
            return false;
        }
        let depth = self.depth().saturating_sub(1);
        self.state.vars.insert("_last_intent".to_owned(), last);
        self.write_slot_hints(hit.intent, &hit.slots);
        let values = self.find_slot_values(hit, &message);
        self.trigger = Some(super::IntentTrigger { text: message, depth, prefilled_slots: Vec::new(), values });
        true
    }
}

/// Whether a negative phrase rules an intent out.
pub(super) fn is_ruled_out(phrases: &IntentPhrases, input: &Phrase) -> bool {
    phrases.negative.iter().any(|it| input.match_phrase(it).is_some())
}

/// The confidence in a model's reply.
fn read_confidence(reply: &Value) -> f64 {
    reply.get("confidence").and_then(Value::as_f64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use crate::pack::Pack;
    use crate::turn::{Completion, EffectResult, LoadedSession, NoticeBody, ProgramRef, Reply, Slice, Turn, TurnInput, UserEvent, Write};

    #[test]
    fn a_match_record_has_the_duration_of_the_search() {
        let config = Arc::new(Pack::parse(include_str!("../../../tests/packs/flow/matching.json")).unwrap().compile().0);
        let start = |session: Option<Value>, event: Value| {
            let input = TurnInput {
                turn: "t".to_owned(),
                conversation: "s-1".to_owned(),
                at: 1000,
                seed: 1,
                program: ProgramRef::Flow,
                event: UserEvent::from_flow_event(event),
                session: LoadedSession { flow: session.map(Box::new), ..LoadedSession::default() },
            };
            Turn::start(input, Arc::clone(&config)).unwrap()
        };
        let took = |slice: &Slice| {
            let ms = |it: &NoticeBody| {
                if let NoticeBody::Audit { stage, payload } = it { (stage == "intent.match").then(|| payload["ms"].clone()) } else { None }
            };
            slice.notices.iter().find_map(|it| ms(&it.body))
        };
        let begun = start(None, json!({"type": "session.start"})).1;
        let stored = |it: &Write| if let Write::Session { state } = it { Some((**state).clone()) } else { None };
        let session = begun.end.iter().flat_map(|it| &it.writes).find_map(stored);
        assert_eq!((took(&begun), session.is_some()), (Some(json!(0)), true));
        let (mut turn, slice) = start(session, json!({"type": "user.message", "text": "my balance please"}));
        assert_eq!(took(&slice), None);
        let mut at = 1000;
        let mut reply = |turn: &mut Turn, slice: &Slice, text: &str, ms: i64| {
            at += ms;
            let reply = Reply::Llm(serde_json::from_value(json!({"text": text})).unwrap());
            turn.resume(vec![Completion { id: slice.effects[0].id, at, outcome: EffectResult::Ok(reply) }]).unwrap()
        };
        let slice = reply(&mut turn, &slice, r#"{"match": false, "confidence": 1}"#, 300);
        assert_eq!(took(&slice), None);
        let slice = reply(&mut turn, &slice, r#"{"intent_id": null, "confidence": 0}"#, 550);
        assert_eq!((took(&slice), slice.end.is_some()), (Some(json!(850)), true));
    }
}
