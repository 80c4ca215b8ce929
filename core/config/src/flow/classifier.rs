//! The classifier that recognises the intents of a document without a model.

use std::sync::Arc;

use convengine_text::marked_phrase::without_marks;
use convengine_understanding::lexical::{Acceptance, Label, LexicalClassifier, TrainingPhrase, TrainingSet};

use super::compiled::{Flow, IntentPhrases};
use super::document::{IntentDef, LexicalMatch};

impl Flow {
    /// Iterates over the intents that a message may be matched with, in document order.
    pub fn matchable_intents(&self) -> impl Iterator<Item = &IntentDef> {
        self.document.intents.iter().filter(|it| is_matchable(it))
    }

    /// Iterates over the phrases of these intents.
    pub fn matchable_phrases(&self) -> impl Iterator<Item = &IntentPhrases> {
        self.document.intents.iter().zip(&self.phrases).filter(|it| is_matchable(it.0)).map(|it| it.1)
    }

    /// Returns what the classifier learns: a class for each intent that a message may be matched with, by id. Small talk belongs to none,
    /// and a negative phrase not to its intent.
    pub fn training_set(&self) -> TrainingSet {
        let mut set = TrainingSet { locale: self.document.default_locale.clone(), ..TrainingSet::default() };
        let phrase = |text: &String, label| TrainingPhrase { text: without_marks(text), label };
        for (class, intent) in self.matchable_intents().enumerate() {
            set.classes.push(intent.id.clone());
            set.phrases.extend(intent.phrases.iter().map(|text| phrase(text, Label::Class(class))));
            set.phrases.extend(intent.negative_phrases.iter().map(|text| phrase(text, Label::Not(class))));
        }
        set.phrases.extend(self.document.small_talk.iter().flat_map(|it| &it.patterns).map(|it| phrase(it, Label::NoClass)));
        set
    }

    /// Whether messages are matched by the classifier of the intents: it is on, and there are phrases.
    pub fn uses_classifier(&self) -> bool {
        self.document.settings.lexical_match.enabled && self.matchable_intents().any(|it| !it.phrases.is_empty())
    }

    /// Returns the classifier of the intents, trained at the first call; `None` when the document [does not use it](Flow::uses_classifier).
    pub fn classifier(&self) -> Option<&LexicalClassifier> {
        self.uses_classifier().then(|| self.classifier.get_or_train(|| self.training_set()))
    }

    /// Returns the hash of the training set.
    pub fn classifier_hash(&self) -> &str {
        self.classifier.get_or_hash(|| self.training_set())
    }

    /// Passes a classifier that was trained before with the same [`TrainingSet`]. Nobody checks that it was; the
    /// [hash](Flow::classifier_hash) is for that.
    pub fn supply_classifier(&self, classifier: Arc<LexicalClassifier>) {
        self.classifier.supply(classifier);
    }
}

impl LexicalMatch {
    /// Returns when an intent is accepted.
    pub fn acceptance(&self) -> Acceptance {
        Acceptance { threshold: self.accept_above, margin: self.ask_below_margin }
    }
}

fn is_matchable(intent: &IntentDef) -> bool {
    intent.enabled && !intent.is_fallback
}
