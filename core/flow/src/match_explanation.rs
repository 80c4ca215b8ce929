//! Explanations of which intent a message means, and of what a model says about a near match (docs/spec/flows.md#15.7).

use convengine_config::flow::document::IntentDef;
use convengine_text::phrase::Phrase;
use convengine_turn::{Candidate, Verdict};
use serde_json::{Value, json};

use super::Walker;
use super::frames::into_members;
use super::matching::{IntentMatch, IntentSearch, is_ruled_out};

/// The source of a search that interrupts nothing.
pub(super) const NOT_INTERRUPTED: &str = "none";

impl IntentSearch<'_> {
    /// Notes what a stage says about an intent; it replaces what an earlier stage has said.
    pub(super) fn note(&mut self, intent: &str, verdict: Verdict, score: Value, reason: impl Into<String>) {
        let Some(explanation) = &mut self.explanation else { return };
        let candidate = Candidate { score, ..Candidate::for_choice("", intent, verdict).with_reason(reason) };
        match explanation.rows.iter_mut().find(|it| it.name == candidate.name) {
            Some(row) => *row = candidate,
            None => explanation.rows.push(candidate),
        }
    }

    /// Notes a fact about the search.
    pub(super) fn note_fact(&mut self, name: &str, value: impl FnOnce() -> Value) {
        if let Some(explanation) = &mut self.explanation {
            explanation.about.insert(name.to_owned(), value());
        }
    }
}

impl<'c> Walker<'c> {
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
        for (intent, phrases) in flow.document.intents.iter().zip(&flow.phrases).filter(|it| !it.0.is_fallback) {
            let best = self.best_phrase(intent, phrases, input);
            let (verdict, reason) = match (&best, hit) {
                _ if !intent.enabled => (Verdict::OutOfScope, "it is disabled".to_owned()),
                _ if !is_eligible(intent) => (Verdict::OutOfScope, "it does not interrupt this question".to_owned()),
                _ if is_ruled_out(phrases, input) => (Verdict::NotMatched, "one of its negative phrases is in the message".to_owned()),
                (Some(best), Some(hit)) if hit.intent.id == intent.id => (Verdict::Matched, format!("its phrase '{}' is the best", best.1)),
                (Some(best), _) => (Verdict::Lost, format!("its phrase '{}' is shorter, or scores less", best.1)),
                (None, _) => (Verdict::NotMatched, "none of its phrases is in the message".to_owned()),
            };
            search.note(&intent.id, verdict, json!(best.map(|it| it.0)), reason);
        }
    }

    /// Explains what a search has found: an intent, or what else its source is; `more` has the other members of the match record.
    pub(super) fn explain_match(
        &self,
        search: &IntentSearch<'_>,
        intent: Option<&str>,
        source: &'static str,
        confidence: f64,
        more: &Value,
    ) {
        let Some(mut explanation) = search.explanation.clone().filter(|_| source != "welcome") else { return };
        let input = Phrase::new(&self.input_text(), &self.flow.document.default_locale);
        let phrase = more.get("matched_phrase").and_then(Value::as_str);
        let is_exact = phrase.is_some_and(|it| Phrase::new(it, &self.flow.document.default_locale).tokens() == input.tokens());
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
        explanation.about.extend(into_members(more.clone()));
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
            "text": self.input_text(), "asked": format!("whether the message asks for '{id}'"), "source": hit.source,
            "phrase": hit.phrase, "answer": reply,
        });
        let candidate = Candidate { score: json!(hit.confidence), ..Candidate::for_choice("", id, row) };
        explanation.with_subject(about).with_candidates(vec![candidate]).record(&self.effects, verdict);
    }

    /// Explains that a match needs no verification.
    pub(super) fn explain_exact_match(&self, hit: &IntentMatch<'_>) {
        let Some(explanation) = self.effects.begin_explanation("verification") else { return };
        let candidate = Candidate::for_choice("", &hit.intent.id, Verdict::Won);
        let about = json!({"text": self.input_text(), "source": hit.source, "phrase": hit.phrase});
        let verdict = "the message is the phrase itself: no model is asked";
        explanation.with_subject(about).with_candidates(vec![candidate]).record(&self.effects, verdict);
    }
}
