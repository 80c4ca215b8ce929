//! Phrases of intents that the script of a pack embeds. (docs/spec/flows.md#5.3)

use std::collections::BTreeMap;

use convengine_config::TrainableClassifier;
use convengine_turn::{EffectResult, EmbedRequest};
use convengine_understanding::lexical::TrainingSet;
use serde_json::{Value, json};

use super::{Message, Pack, Scripted};

/// The model of phrases that a script embeds.
pub const SCRIPTED_MODEL: &str = "scripted";

/// The phrases of a pack, by the hash of their training set: the ids of intents, and the texts.
#[derive(Debug, Clone, Default)]
pub(super) struct PackPhrases(BTreeMap<String, (Vec<String>, Vec<String>)>);

impl PackPhrases {
    /// Collects the phrases of a pack whose script embeds texts.
    pub fn from_pack(pack: &Pack) -> PackPhrases {
        if !Scripted::new(pack.llm.clone()).has_embeddings() {
            return PackPhrases::default();
        }
        let phrases = |set: &TrainingSet| set.labeled_phrases().map(|(phrase, class)| (phrase.to_owned(), class.to_owned())).unzip();
        PackPhrases(pack.classifiers().iter().map(|classifier| (classifier.set.hash(), phrases(&classifier.set))).collect())
    }

    /// Returns the ids and the texts of the phrases of a training set.
    pub fn find(&self, hash: &str) -> Option<&(Vec<String>, Vec<String>)> {
        self.0.get(hash)
    }
}

impl Pack {
    /// Adds to the event of a session what a server adds that has embedded the phrases.
    pub(super) fn with_phrase_vectors(&self, mut message: Message) -> Message {
        if let Some(event) = message.flow.as_mut().and_then(Value::as_object_mut)
            && self.embeds_phrases()
        {
            event.insert("phrase_vectors".to_owned(), json!(SCRIPTED_MODEL));
        }
        message
    }

    /// Whether the script embeds all phrases of the document that the pack plays.
    fn embeds_phrases(&self) -> bool {
        let mut scripted = Scripted::new(self.llm.clone());
        if !scripted.has_embeddings() {
            return false;
        }
        let (config, _) = self.compile();
        let classifiers = if config.flow().is_some() { config.classifiers() } else { Vec::new() };
        let sets: Vec<TrainingSet> = classifiers.iter().map(TrainableClassifier::training_set).collect();
        let texts: Vec<String> = sets.iter().flat_map(TrainingSet::labeled_phrases).map(|it| it.1.to_owned()).collect();
        !texts.is_empty() && matches!(scripted.embed(&EmbedRequest { texts }), EffectResult::Ok(_))
    }
}
