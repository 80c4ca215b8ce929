//! A classifier that is trained when it is first needed.

use std::sync::{Arc, OnceLock};

use super::{LexicalClassifier, TrainingSet};

/// A classifier that is trained when it is first needed, or passed by a host that has trained it before.
#[derive(Debug, Clone, Default)]
pub struct LazyClassifier {
    classifier: OnceLock<Arc<LexicalClassifier>>,
    hash: OnceLock<String>,
}

impl LazyClassifier {
    /// Returns the classifier; trains it with a set at the first call.
    pub fn get_or_train(&self, set: impl FnOnce() -> TrainingSet) -> &LexicalClassifier {
        self.classifier.get_or_init(|| Arc::new(LexicalClassifier::train(&set()))).as_ref()
    }

    /// Returns the hash of the set; computes it at the first call.
    pub fn get_or_hash(&self, set: impl FnOnce() -> TrainingSet) -> &str {
        self.hash.get_or_init(|| set().hash())
    }

    /// Passes a classifier that was trained with the same set. Without effect once there is one: equal sets train equal classifiers.
    pub fn supply(&self, classifier: Arc<LexicalClassifier>) {
        let _ = self.classifier.set(classifier);
    }
}
