//! A classifier that is trained when it is first needed.

use std::sync::{Arc, OnceLock};

use super::{LexicalClassifier, TrainingSet};

/// A classifier that is trained when it is first needed, or passed by a host that has trained it before.
#[derive(Debug, Clone, Default)]
pub struct LazyClassifier(OnceLock<Arc<LexicalClassifier>>);

impl LazyClassifier {
    /// Returns the classifier; trains it with a set at the first call.
    pub fn get_or_train(&self, set: impl FnOnce() -> TrainingSet) -> &LexicalClassifier {
        self.0.get_or_init(|| Arc::new(LexicalClassifier::train(&set()))).as_ref()
    }

    /// Passes a classifier that was trained with the same set. Without effect once there is one: equal sets train equal classifiers.
    pub fn supply(&self, classifier: Arc<LexicalClassifier>) {
        let _ = self.0.set(classifier);
    }
}
