//! The classifiers of a configuration, for hosts that train them ahead.

use std::sync::Arc;

use convengine_understanding::lexical::{LexicalClassifier, TrainingSet};

use super::classifier::LearnedExamples;
use super::flow::Flow;
use super::{Config, DocumentProgram};

/// A classifier that turns may use.
///
/// Up to two thousand phrases, training takes milliseconds, in the turn that needs it first. A host that stores trained classifiers by
/// their hash supplies them before the configuration is used.
#[derive(Debug, Clone, Copy)]
pub enum TrainableClassifier<'c> {
    /// Of the intents of a document.
    Flow(&'c Flow),
    /// Of the rows of type EXAMPLE.
    Examples(&'c LearnedExamples),
}

impl TrainableClassifier<'_> {
    /// Returns what it learns.
    pub fn training_set(&self) -> TrainingSet {
        match self {
            TrainableClassifier::Flow(flow) => flow.training_set(),
            TrainableClassifier::Examples(examples) => examples.training_set(),
        }
    }

    /// Returns the hash of what it learns.
    pub fn hash(&self) -> &str {
        match self {
            TrainableClassifier::Flow(flow) => flow.classifier_hash(),
            TrainableClassifier::Examples(examples) => examples.classifier_hash(),
        }
    }

    /// Passes what was trained with an equal set. Without effect once there is a classifier.
    pub fn supply(&self, classifier: Arc<LexicalClassifier>) {
        match self {
            TrainableClassifier::Flow(flow) => flow.supply_classifier(classifier),
            TrainableClassifier::Examples(examples) => examples.supply_classifier(classifier),
        }
    }
}

impl Config {
    /// Returns the classifiers that turns may use: of the document and of those that it runs, or of the tables. A classifier that is not
    /// supplied is trained when it is first needed, with the same result.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use convengine_config::{Config, Tables};
    /// use convengine_understanding::lexical::LexicalClassifier;
    /// use serde_json::json;
    ///
    /// let row = |id: u32, intent: &str, phrase: &str| {
    ///     json!({"classifier_id": id, "intent_code": intent, "rule_type": "EXAMPLE", "pattern": phrase})
    /// };
    /// let tables: Tables = serde_json::from_value(json!({
    ///     "ce_intent": [{"intent_code": "PAY"}, {"intent_code": "CANCEL"}],
    ///     "ce_intent_classifier": [row(1, "PAY", "pay a bill"), row(2, "CANCEL", "cancel my order")],
    /// }))?;
    /// let (config, _) = Config::compile(&tables, &json!({}));
    /// let classifiers = config.classifiers();
    /// let set = classifiers[0].training_set();
    /// assert_eq!((set.classes.len(), set.hash().as_str()), (2, classifiers[0].hash()));
    /// classifiers[0].supply(Arc::new(LexicalClassifier::train(&set)));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn classifiers(&self) -> Vec<TrainableClassifier<'_>> {
        let flows: Vec<&Flow> = match &self.document {
            Some(DocumentProgram::Flow(flow)) => std::iter::once(flow.as_ref()).chain(flow.bound().iter().map(|it| &it.flow)).collect(),
            Some(DocumentProgram::Chain(chain)) => chain.bound().iter().map(|it| &it.flow).collect(),
            None => Vec::new(),
        };
        let of_flows = flows.into_iter().filter(|it| it.uses_classifier()).map(TrainableClassifier::Flow);
        let learned = Some(&self.classifiers.learned).filter(|it| it.has_examples()).map(TrainableClassifier::Examples);
        of_flows.chain(learned).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Tables;

    #[test]
    fn a_configuration_has_the_classifiers_of_all_that_it_runs() {
        let assistant = |id: &str, phrases: &[&str]| {
            let root = json!({"id": "root", "kind": "root", "entry": "start", "nodes": [{"id": "start", "type": "start", "name": "Start", "data": {}}], "edges": []});
            let intent = json!({"id": "pay", "name": "Pay", "phrases": phrases, "graph": "root"});
            json!({"schema_version": "1.0", "doc": "conversation_flow", "id": id, "name": id, "root": "root", "intents": [intent], "graphs": [root]})
        };
        let bundle = json!({"root": assistant("a", &["pay a bill"]), "bound": [{"document": assistant("b", &["a card"])},
            {"document": assistant("c", &[])}]});
        let config = Config::from_flow(&bundle).unwrap();
        let sets: Vec<TrainingSet> = config.classifiers().iter().map(TrainableClassifier::training_set).collect();
        assert_eq!(sets.iter().map(|set| set.phrases[0].text.as_str()).collect::<Vec<_>>(), ["pay a bill", "a card"]);
        for (classifier, set) in config.classifiers().iter().zip(&sets) {
            let trained = Arc::new(LexicalClassifier::train(set));
            classifier.supply(Arc::clone(&trained));
            let TrainableClassifier::Flow(flow) = classifier else { panic!("it is of a document") };
            assert!(std::ptr::eq(flow.classifier().unwrap(), trained.as_ref()));
        }
        let row = json!({"classifier_id": 1, "intent_code": "PAY", "rule_type": "EXAMPLE", "pattern": "pay a bill", "enabled": true});
        let tables = json!({"ce_intent": [{"intent_code": "PAY", "enabled": true}], "ce_intent_classifier": [row]});
        let tables: Tables = serde_json::from_value(tables).unwrap();
        let (config, _) = Config::compile(&tables, &json!({}));
        assert!(matches!(config.classifiers().as_slice(), [TrainableClassifier::Examples(it)] if it.classes.len() == 1));
        assert!(Config::default().classifiers().is_empty());
    }
}
