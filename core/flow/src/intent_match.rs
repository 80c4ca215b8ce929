//! A matched intent, and the search for one.

use convengine_config::flow::IntentPhrases;
use convengine_config::flow::document::IntentDef;
use convengine_text::phrase::Phrase;
use convengine_turn::{Candidate, Explanation, Millis, Verdict};
use serde_json::Value;

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

impl<'c> IntentMatch<'c> {
    /// A match of the message of this turn without a phrase.
    pub fn new(intent: &'c IntentDef, source: &'static str, confidence: f64) -> IntentMatch<'c> {
        IntentMatch { intent, source, confidence, phrase: None, slots: Value::Null, message: None }
    }
}

/// The search for the intent of a message.
pub(super) struct IntentSearch<'c> {
    /// When it started.
    pub started_at: Millis,
    /// Intents that a model has rejected.
    pub rejected: Vec<&'c str>,
    /// Its explanation, if the turn is observed.
    pub explanation: Option<Box<Explanation>>,
}

impl<'c> IntentSearch<'c> {
    /// Adds an intent that a model has rejected.
    pub fn reject(&mut self, intent: &'c str) {
        self.rejected.push(intent);
        self.note(intent, Verdict::Lost, Value::Null, "a model has rejected it");
    }

    /// Notes what a stage says about an intent; it replaces what an earlier stage has said.
    pub fn note(&mut self, intent: &str, verdict: Verdict, score: Value, reason: impl Into<String>) {
        let Some(explanation) = &mut self.explanation else { return };
        let candidate = Candidate { score, ..Candidate::for_choice("", intent, verdict).with_reason(reason) };
        match explanation.rows.iter_mut().find(|it| it.name == candidate.name) {
            Some(row) => *row = candidate,
            None => explanation.rows.push(candidate),
        }
    }

    /// Notes a fact about the search.
    pub fn note_fact(&mut self, name: &str, value: impl FnOnce() -> Value) {
        if let Some(explanation) = &mut self.explanation {
            explanation.about.insert(name.to_owned(), value());
        }
    }
}

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

impl LexicalResult<'_> {
    /// Its name in traces.
    pub fn name(&self) -> &'static str {
        match self {
            LexicalResult::Accepted(_) => "accepted",
            LexicalResult::Unsure(_) => "unsure",
            LexicalResult::Close(..) => "close",
            LexicalResult::Nothing => "refused",
        }
    }

    /// What it says about an intent, and why.
    pub fn verdict_on(&self, id: &str, confidence: f64, threshold: f64) -> (Verdict, &'static str) {
        match self {
            LexicalResult::Accepted(hit) if hit.intent.id == id => (Verdict::Won, "it is the best, and above the threshold"),
            LexicalResult::Close(close, _) if close.iter().any(|it| it.id == id) => (Verdict::Matched, "it is tied with another intent"),
            LexicalResult::Accepted(_) | LexicalResult::Unsure(_) | LexicalResult::Close(..) | LexicalResult::Nothing => {
                let lost = (Verdict::Lost, "another intent is better");
                if confidence >= threshold { lost } else { (Verdict::NotMatched, "its confidence is below the threshold") }
            }
        }
    }
}

/// Whether a negative phrase rules an intent out.
pub(super) fn is_ruled_out(phrases: &IntentPhrases, input: &Phrase) -> bool {
    phrases.negative.iter().any(|phrase| input.match_phrase(phrase).is_some())
}
