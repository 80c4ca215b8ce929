//! How well the phrases of a classifier tell its classes apart, and where they do not.

use std::collections::BTreeMap;

use serde::Serialize;

use super::calibration::Calibration;
use super::classifier::{Acceptance, Decision, LexicalClassifier, count_terms, label};
use super::hold_out::{HoldOut, Prediction, cross_validate};
use super::training_set::TrainingSet;

/// A class with fewer phrases needs more.
const FEW_PHRASES: usize = 5;

/// A class that recognises less of its held-out phrases needs more of them, or other ones.
const LOW_RECALL: f64 = 0.6;

/// The result of a cross-validation: each phrase was classified by a classifier that had not seen it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ValidationReport {
    /// Number of phrases that were classified.
    pub phrases: usize,
    /// The share whose best class was right, from 0 to 1.
    pub accuracy: f64,
    /// The share that was right and accepted.
    pub accepted: f64,
    /// The share that was wrong and accepted.
    pub mistaken: f64,
    /// The share whose two best classes were too close to choose between them.
    pub close: f64,
    /// The confidence from which on a class is accepted.
    pub threshold: f64,
    /// The classes, in their order.
    pub classes: Vec<ClassReport>,
    /// Pairs of classes that are confused, most frequent first.
    pub confusions: Vec<Confusion>,
    /// Phrases that are taken for another class, most confident first.
    pub misleading: Vec<Misleading>,
}

/// A class in a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassReport {
    /// Its name.
    pub class: String,
    /// Number of its phrases.
    pub phrases: usize,
    /// The share of them that was recognised, from 0 to 1.
    pub recall: f64,
    /// The share of right ones among the phrases that were taken for it.
    pub precision: f64,
    /// Whether it needs more phrases: it has few, or recognises little of them.
    pub needs_more: bool,
}

/// Phrases of one class that are taken for another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Confusion {
    /// The name of their class.
    pub class: String,
    /// The name of the other.
    pub taken_for: String,
    /// Their number.
    pub count: usize,
}

/// A phrase that is taken for another class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Misleading {
    /// The phrase.
    pub phrase: String,
    /// The name of its class.
    pub class: String,
    /// The name of the other.
    pub taken_for: String,
    /// The confidence in the other, from 0 to 1.
    pub confidence: f64,
}

/// A text whose class is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestCase {
    /// The text.
    pub text: String,
    /// The name of its class; `None` when it belongs to none.
    pub class: Option<String>,
}

/// The result of a test with other texts than those of the training.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TestReport {
    /// Number of texts of a class.
    pub in_scope: usize,
    /// The share of them whose best class was right, from 0 to 1.
    pub accuracy: f64,
    /// The share that was right and accepted.
    pub accepted: f64,
    /// The share that was wrong and accepted.
    pub mistaken: f64,
    /// The share whose two best classes were too close to choose between them.
    pub close: f64,
    /// Number of texts of no class.
    pub out_of_scope: usize,
    /// The share of them that was refused.
    pub refused: f64,
    /// The share of them whose two best classes were too close to choose between them.
    pub out_of_scope_close: f64,
    /// Pairs of classes that are confused, most frequent first.
    pub confusions: Vec<Confusion>,
}

/// Classifies each phrase of a set with a classifier that has not seen it.
pub fn validate(set: &TrainingSet, acceptance: Acceptance) -> ValidationReport {
    let bags = count_terms(set);
    let examples = label(set, &bags);
    let count = set.classes.len();
    let outcomes: Vec<_> = cross_validate(&examples, count, HoldOut::Classes).iter().map(Prediction::outcome).collect();
    let calibration = Calibration::fit(&outcomes, examples.len() as f64 / count.max(1) as f64);
    let threshold = acceptance.threshold.unwrap_or(calibration.threshold);
    let predictions = cross_validate(&examples, count, HoldOut::Examples);
    let confidence = |it: &Prediction| calibration.confidence(&it.evidence);
    let is_close = |entry: &Prediction| acceptance.is_close(confidence(entry), calibration.confidence(&entry.second), threshold);
    let accepted = |is_right: bool| {
        let of_kind = predictions.iter().filter(|prediction| prediction.is_right() == is_right);
        of_kind.filter(|prediction| confidence(prediction) >= threshold && !is_close(prediction)).count()
    };
    let name = |class: usize| set.classes.get(class).cloned().unwrap_or_default();
    let class_report = |(class, name): (usize, &String)| {
        let phrases = predictions.iter().filter(|prediction| prediction.class == class).count();
        let right = predictions.iter().filter(|prediction| prediction.class == class && prediction.is_right()).count();
        let taken = predictions.iter().filter(|prediction| prediction.predicted == class).count();
        let recall = share(right, phrases);
        let needs_more = phrases < FEW_PHRASES || recall < LOW_RECALL;
        ClassReport { class: name.clone(), phrases, recall, precision: share(right, taken), needs_more }
    };
    let mut misleading: Vec<Misleading> = predictions
        .iter()
        .filter(|it| it.class != it.predicted)
        .map(|prediction| Misleading {
            phrase: set.phrases.get(prediction.example).map(|phrase| phrase.text.clone()).unwrap_or_default(),
            class: name(prediction.class),
            taken_for: name(prediction.predicted),
            confidence: confidence(prediction),
        })
        .collect();
    misleading.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    ValidationReport {
        phrases: predictions.len(),
        accuracy: share(predictions.iter().filter(|it| it.is_right()).count(), predictions.len()),
        accepted: share(accepted(true), predictions.len()),
        mistaken: share(accepted(false), predictions.len()),
        close: share(predictions.iter().filter(|it| is_close(it)).count(), predictions.len()),
        threshold,
        classes: set.classes.iter().enumerate().map(class_report).collect(),
        confusions: count_confusions(predictions.iter().map(|prediction| (name(prediction.class), name(prediction.predicted)))),
        misleading,
    }
}

/// Classifies texts whose class is known.
pub fn test(classifier: &LexicalClassifier, set: &TrainingSet, cases: &[TestCase], acceptance: Acceptance) -> TestReport {
    let (mut in_scope, mut right, mut accepted, mut mistaken, mut close) = (0, 0, 0, 0, 0);
    let (mut out_of_scope, mut refused, mut out_of_scope_close) = (0, 0, 0);
    let mut pairs = Vec::new();
    for case in cases {
        let ranking = classifier.rank(&case.text);
        let decision = classifier.decide(&ranking, acceptance);
        let is_accepted = matches!(decision, Decision::Accepted(_));
        let is_close = matches!(decision, Decision::Close(..));
        let Some(class) = &case.class else {
            out_of_scope += 1;
            refused += usize::from(decision == Decision::Refused);
            out_of_scope_close += usize::from(is_close);
            continue;
        };
        let predicted = ranking.classes.first().and_then(|ranked| set.classes.get(ranked.class)).cloned().unwrap_or_default();
        let is_right = predicted == *class;
        in_scope += 1;
        right += usize::from(is_right);
        accepted += usize::from(is_right && is_accepted);
        mistaken += usize::from(!is_right && is_accepted);
        close += usize::from(is_close);
        pairs.push((class.clone(), predicted));
    }
    TestReport {
        in_scope,
        accuracy: share(right, in_scope),
        accepted: share(accepted, in_scope),
        mistaken: share(mistaken, in_scope),
        close: share(close, in_scope),
        out_of_scope,
        refused: share(refused, out_of_scope),
        out_of_scope_close: share(out_of_scope_close, out_of_scope),
        confusions: count_confusions(pairs.into_iter()),
    }
}

fn count_confusions(pairs: impl Iterator<Item = (String, String)>) -> Vec<Confusion> {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for pair in pairs.filter(|it| it.0 != it.1) {
        *counts.entry(pair).or_default() += 1;
    }
    let mut confusions: Vec<Confusion> =
        counts.into_iter().map(|((class, taken_for), count)| Confusion { class, taken_for, count }).collect();
    confusions.sort_by_key(|it| std::cmp::Reverse(it.count));
    confusions
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
