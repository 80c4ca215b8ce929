//! The classifiers of a pack: what they learn, and when they accept.

use convengine_config::Config;
use convengine_config::flow::document::ProgramKind;
use convengine_config::flow::{Flow, document_kind};
use convengine_understanding::lexical::{Acceptance, TrainingSet, ValidationReport, validate};
use serde::Serialize;

use super::Pack;

/// The classifier of a flow document or of the tables.
#[derive(Debug, Clone, PartialEq)]
pub struct PackClassifier {
    /// The id of the document; `tables` for the tables.
    pub name: String,
    /// What it learns.
    pub set: TrainingSet,
    /// When it accepts an intent.
    pub acceptance: Acceptance,
}

/// The report of a classifier.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NamedReport {
    /// The name of the classifier.
    pub name: String,
    /// How well its phrases tell its intents apart.
    #[serde(flatten)]
    pub report: ValidationReport,
}

impl Pack {
    /// Returns the classifiers of the assistants and of the tables, those without phrases excepted. A document that cannot be compiled has
    /// none.
    pub fn classifiers(&self) -> Vec<PackClassifier> {
        let mut all = Vec::new();
        for document in self.documents.iter().filter(|document| document_kind(document) == Some(ProgramKind::Assistant)) {
            if let Ok(flow) = Flow::compile(document) {
                let acceptance = flow.document.settings.lexical_match.acceptance();
                all.push(PackClassifier { name: flow.document.id.clone(), set: flow.training_set(), acceptance });
            }
        }
        if !self.tables.0.is_empty() {
            let config = Config::compile(&self.tables, &self.settings).0;
            let acceptance = config.intent_resolver.example_acceptance;
            all.push(PackClassifier { name: "tables".to_owned(), set: config.classifiers.learned.training_set(), acceptance });
        }
        all.retain(|it| !it.set.is_empty());
        all
    }

    /// Reports on the classifiers by cross-validation, for which each is trained several times.
    pub fn classifier_reports(&self) -> Vec<NamedReport> {
        let report =
            |classifier: PackClassifier| NamedReport { report: validate(&classifier.set, classifier.acceptance), name: classifier.name };
        self.classifiers().into_iter().map(report).collect()
    }
}
