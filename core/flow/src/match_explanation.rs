//! The records of the search for an intent: what is published of it, and the explanations of which intent a message means and of what a
//! model says about a near match (docs/spec/flows.md#5.3, #15.7).

use convengine_config::flow::document::IntentDef;
use convengine_text::json::into_members;
use convengine_text::phrase::Phrase;
use convengine_turn::{Candidate, Verdict};
use convengine_understanding::lexical::{LexicalClassifier, NEAREST, RankedClass, Ranking, explain_class, round};
use serde_json::{Value, json};

use super::intent_match::{IntentMatch, IntentSearch, LexicalResult, is_ruled_out};
use super::trace::with_member;
use super::turn::Turn;

/// The source of a search that interrupts nothing.
pub(super) const NOT_INTERRUPTED: &str = "none";

/// How a message was matched by its words.
pub(super) struct LexicalFindings<'m, 'c> {
    pub classifier: &'m LexicalClassifier,
    pub text: &'m str,
    pub ranking: &'m Ranking,
    /// The intents by the number of their class.
    pub intents: &'m [&'c IntentDef],
    pub threshold: f64,
    pub result: &'m LexicalResult<'c>,
}

impl<'c> Turn<'c> {
    /// Starts a search.
    pub(super) fn start_search(&self) -> IntentSearch<'c> {
        let explanation = self.effects.begin_explanation("intent_match").map(Box::new);
        IntentSearch { started_at: self.effects.now(), rejected: Vec::new(), explanation }
    }

    /// Publishes the match record of a message (docs/spec/flows.md#5.3).
    pub(super) fn publish_match_record(
        &mut self,
        search: &IntentSearch<'_>,
        intent: Option<&str>,
        source: &'static str,
        confidence: f64,
        details: Value,
    ) {
        let matched = json!({"intent_id": intent, "source": source, "confidence": confidence});
        let mut record = into_members(matched.clone());
        record.extend(into_members(json!({"rejected": search.rejected, "slots": {}, "ms": self.effects.now() - search.started_at})));
        self.explain_match(search, intent, source, confidence, &details);
        record.extend(into_members(details));
        self.trace("intent.match", Value::Object(record));
        // The welcome does not answer a message.
        if source != "welcome" {
            self.record.debug.matched_intent = matched;
        }
    }

    /// Notes for each intent whether a phrase of it is in the message; `hit` is the best match, `is_eligible` tells the intents that count.
    pub(super) fn note_phrases(
        &self,
        search: &mut IntentSearch<'c>,
        input: &Phrase,
        hit: Option<&IntentMatch<'c>>,
        is_eligible: impl Fn(&IntentDef) -> bool,
    ) {
        if search.explanation.is_none() {
            return;
        }
        search.note_fact("text", || json!(input.tokens().join(" ")));
        let flow = self.flow;
        let asks_for_person = self.view().asks_for_person();
        for (intent, phrases) in flow.document.intents.iter().zip(&flow.phrases).filter(|it| !it.0.is_fallback) {
            let best = self.view().best_phrase(intent, phrases, input);
            let (verdict, reason) = match (&best, hit) {
                _ if !intent.enabled => (Verdict::OutOfScope, "it is disabled".to_owned()),
                _ if !is_eligible(intent) => (Verdict::OutOfScope, "it does not interrupt this question".to_owned()),
                _ if is_ruled_out(phrases, input) => (Verdict::NotMatched, "one of its negative phrases is in the message".to_owned()),
                (Some(_), _) if asks_for_person && !self.view().is_for_person(intent, phrases) => {
                    (Verdict::NotMatched, "the message asks for a person, and none of its phrases does".to_owned())
                }
                (Some(best), Some(hit)) if hit.intent.id == intent.id => (Verdict::Matched, format!("its phrase '{}' is the best", best.1)),
                (Some(best), _) => (Verdict::Lost, format!("its phrase '{}' is shorter, or scores less", best.1)),
                (None, _) => (Verdict::NotMatched, "none of its phrases is in the message".to_owned()),
            };
            search.note(&intent.id, verdict, json!(best.map(|it| it.0)), reason);
        }
    }

    /// Explains what a search has found: an intent, or what else its source is; `details` has the other members of the match record.
    pub(super) fn explain_match(
        &self,
        search: &IntentSearch<'_>,
        intent: Option<&str>,
        source: &'static str,
        confidence: f64,
        details: &Value,
    ) {
        let Some(mut explanation) = search.explanation.clone().filter(|_| source != "welcome") else { return };
        let input = Phrase::new(&self.event.input_text(), &self.flow.document.default_locale);
        let phrase = details.get("matched_phrase").and_then(Value::as_str);
        let is_exact = phrase.is_some_and(|phrase| Phrase::new(phrase, &self.flow.document.default_locale).tokens() == input.tokens());
        let stage = match (source, intent) {
            ("phrase" | "phrase_verified", _) if is_exact => "exact",
            ("phrase" | "phrase_verified", _) => "substring",
            ("lexical" | "lexical_verified", _) => "lexical",
            ("llm", _) => "model",
            _ => source,
        };
        explanation.about.insert("text".to_owned(), json!(input.tokens().join(" ")));
        explanation.about.insert("stage".to_owned(), json!(stage));
        explanation.about.insert("confidence".to_owned(), json!(confidence));
        explanation.about.extend(into_members(details.clone()));
        if let Some(id) = intent {
            match explanation.rows.iter_mut().find(|it| it.name == id) {
                Some(row) => row.verdict = Verdict::Won,
                None => explanation.rows.push(Candidate::for_choice("", id, Verdict::Won)),
            }
        }
        let name = intent.unwrap_or_default();
        let verified = if source.ends_with("_verified") { ", and a model confirms it" } else { "" };
        let verdict = match (stage, intent) {
            ("exact", _) => format!("the message is a phrase of '{name}'"),
            ("substring", _) => format!("the message contains a phrase of '{name}'{verified}"),
            ("lexical", _) => format!("the words of the message are like the phrases of '{name}'{verified}"),
            ("model", _) => format!("a model has chosen '{name}'"),
            ("asked", Some(_)) => format!("the user has chosen '{name}'"),
            ("asked", None) => "two intents are close: the user is asked which one is meant".to_owned(),
            ("small_talk", _) => "the message is small talk".to_owned(),
            ("knowledge", _) => "no intent matches: the knowledge base has an answer".to_owned(),
            (NOT_INTERRUPTED, _) => "nothing interrupts the question".to_owned(),
            _ => "no intent matches".to_owned(),
        };
        explanation.record(&self.effects, verdict);
    }

    /// Publishes a match by words: traces the nearest intents, and explains them.
    pub(super) fn publish_lexical_match(&self, search: &mut IntentSearch<'c>, findings: &LexicalFindings<'_, 'c>) {
        self.trace_lexical_match(findings);
        if search.explanation.is_none() {
            return;
        }
        self.explain_lexical_match(findings);
        search.note_fact("threshold", || json!(round(findings.threshold)));
        search.note_fact("margin", || json!(self.settings().lexical_match.ask_below_margin));
        for ranked in findings.ranking.classes.iter().take(NEAREST) {
            let Some(intent) = findings.intents.get(ranked.class) else { continue };
            let (verdict, reason) = findings.result.verdict_on(&intent.id, ranked.confidence, findings.threshold);
            search.note(&intent.id, verdict, json!(round(ranked.confidence)), format!("by its words, {reason}"));
        }
    }

    /// Adds the nearest intents to the trace.
    fn trace_lexical_match(&self, findings: &LexicalFindings<'_, 'c>) {
        let LexicalFindings { ranking, intents, threshold, result, .. } = *findings;
        let nearest = |ranked: &RankedClass| {
            let [confidence, score, margin] = [ranked.confidence, ranked.score, ranked.margin].map(round);
            let id = intents.get(ranked.class).map(|it| &it.id);
            let data = json!({"intent": id, "confidence": confidence, "score": score, "margin": margin});
            with_member(data, "similarity", ranked.similarity.map(round))
        };
        let nearest: Vec<Value> = ranking.classes.iter().take(NEAREST).map(nearest).collect();
        let data = json!({"decision": result.name(), "threshold": round(threshold), "known": round(ranking.known), "nearest": nearest});
        let is_embedded = ranking.classes.iter().any(|it| it.similarity.is_some());
        self.trace("intent.lexical", with_member(data, "embedded", is_embedded.then_some(true)));
    }

    /// Explains the match with the terms of the message. They are not recorded, because they are parts of what the user has said.
    fn explain_lexical_match(&self, findings: &LexicalFindings<'_, 'c>) {
        let LexicalFindings { classifier, text, ranking, intents, threshold, result } = *findings;
        let Some(explanation) = self.effects.begin_explanation("lexical") else { return };
        let candidate = |ranked: &RankedClass| {
            let intent = intents.get(ranked.class)?;
            let (verdict, reason) = result.verdict_on(&intent.id, ranked.confidence, threshold);
            let candidate = Candidate::for_choice("", &intent.id, verdict).with_reason(reason);
            Some(Candidate { score: json!(round(ranked.confidence)), facts: explain_class(classifier, text, ranked), ..candidate })
        };
        let candidates: Vec<Candidate> = ranking.classes.iter().take(NEAREST).filter_map(candidate).collect();
        let verdict = match result {
            LexicalResult::Accepted(_) => "the words of the message are like the phrases of the first intent",
            LexicalResult::Unsure(_) => "the first intent is below the confidence from which on it is accepted; a model may confirm it",
            LexicalResult::Close(..) => "two intents are too close to choose between them: the user is asked, unless a model decides",
            LexicalResult::Nothing => "no intent is similar enough",
        };
        let about =
            json!({"threshold": threshold, "known": ranking.known, "askBelowMargin": self.settings().lexical_match.ask_below_margin});
        explanation.with_subject(about).with_candidates(candidates).record(&self.effects, verdict);
    }

    /// Explains the verification of a match; `reply` is what the model has answered, `fails_open` whether the match stands without one.
    pub(super) fn explain_verification(&self, hit: &IntentMatch<'_>, reply: Option<&Value>, fails_open: bool) {
        let Some(explanation) = self.effects.begin_explanation("verification") else { return };
        let id = &hit.intent.id;
        let (row, verdict) = match reply {
            Some(reply) if reply.get("match") == Some(&Value::Bool(false)) => (Verdict::Lost, format!("the model rejects '{id}'")),
            Some(_) => (Verdict::Won, format!("the model confirms '{id}'")),
            None if fails_open => (Verdict::Won, format!("the model gives no valid answer: '{id}' stands")),
            None => (Verdict::Lost, format!("the model gives no valid answer: '{id}' is not accepted")),
        };
        let about = json!({
            "text": self.event.input_text(), "asked": format!("whether the message asks for '{id}'"), "source": hit.source,
            "phrase": hit.phrase, "answer": reply,
        });
        let candidate = Candidate { score: json!(hit.confidence), ..Candidate::for_choice("", id, row) };
        explanation.with_subject(about).with_candidates(vec![candidate]).record(&self.effects, verdict);
    }

    /// Explains that a match needs no verification.
    pub(super) fn explain_exact_match(&self, hit: &IntentMatch<'_>) {
        let Some(explanation) = self.effects.begin_explanation("verification") else { return };
        let candidate = Candidate::for_choice("", &hit.intent.id, Verdict::Won);
        let about = json!({"text": self.event.input_text(), "source": hit.source, "phrase": hit.phrase});
        let verdict = "the message is the phrase itself: no model is asked";
        explanation.with_subject(about).with_candidates(vec![candidate]).record(&self.effects, verdict);
    }
}
