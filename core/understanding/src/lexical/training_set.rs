//! What a classifier is trained with.

use convengine_text::json::canonical::Hasher;
use convengine_text::language::{Language, language_of};
use serde_json::{Value, json};

use super::solver::Label;

/// Changes when the same phrases would train another classifier.
const TRAINER: &str = "lexical/1";

/// The trainer of languages whose words were not stemmed at first.
const LATER_STEMMED: &str = "lexical/2";

/// Up to this number of phrases, training takes milliseconds; a host trains larger sets ahead and stores the result.
const SMALL: usize = 2_000;

/// Phrases and what they are examples of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrainingSet {
    /// The locale of the phrases, whose language decides how words are stemmed.
    pub locale: String,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// The phrases.
    pub phrases: Vec<TrainingPhrase>,
}

/// A phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainingPhrase {
    /// The text.
    pub text: String,
    /// What it is an example of.
    pub label: Label,
}

impl TrainingSet {
    /// Returns the hash of the phrases and the trainer: sets with the same one train the same classifier.
    pub fn hash(&self) -> String {
        let phrase = |phrase: &TrainingPhrase| match phrase.label {
            Label::Class(class) => json!([phrase.text, class]),
            Label::NoClass => json!([phrase.text]),
            Label::Not(class) => json!([phrase.text, Value::Null, class]),
        };
        let mut hasher = Hasher::default();
        hasher.add_json(&json!({"trainer": self.trainer(), "locale": self.locale, "classes": self.classes}));
        self.phrases.iter().for_each(|training_phrase| hasher.add_json(&phrase(training_phrase)));
        hasher.finish()
    }

    fn trainer(&self) -> &'static str {
        match language_of(&self.locale) {
            Some(Language::Arabic | Language::Greek | Language::Tamil) => LATER_STEMMED,
            Some(_) | None => TRAINER,
        }
    }

    /// Iterates over the phrases that are examples of a class, each with the name of the class.
    pub fn labeled_phrases(&self) -> impl Iterator<Item = (&str, &str)> {
        self.phrases.iter().filter_map(|phrase| {
            let Label::Class(class) = phrase.label else { return None };
            Some((self.classes.get(class)?.as_str(), phrase.text.as_str()))
        })
    }

    /// Whether training takes milliseconds only.
    pub fn is_small(&self) -> bool {
        self.phrases.len() <= SMALL
    }

    /// Whether there is nothing to learn.
    pub fn is_empty(&self) -> bool {
        !self.phrases.iter().any(|phrase| matches!(phrase.label, Label::Class(_)))
    }
}
