//! Cross-validation: each example is classified by a model that has not seen it.

use super::calibration::{Evidence, Outcome};
use super::model::{Labeled, Model};
use super::solver::{BIAS, Label};

/// With more examples, three folds do.
const MANY_EXAMPLES: usize = 3_000;

/// What is held out beside the examples of a fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HoldOut {
    /// Nothing.
    Examples,
    /// All examples of every n-th class, too, so that those of the fold are foreign to the model.
    Classes,
}

/// A held-out example, classified.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prediction {
    /// The position of the example.
    pub example: usize,
    /// Its class.
    pub class: usize,
    /// The best class.
    pub predicted: usize,
    pub evidence: Evidence,
    /// The evidence for the second best class.
    pub second: Evidence,
    /// Whether its class was held out.
    pub is_foreign: bool,
}

impl Prediction {
    /// What it teaches the calibration.
    pub fn outcome(&self) -> Outcome {
        Outcome { evidence: self.evidence, is_correct: self.is_right(), is_foreign: self.is_foreign }
    }

    /// Whether its class is the best one, and not only the first of those that score alike because nothing of it is known.
    pub fn is_right(&self) -> bool {
        self.class == self.predicted && self.evidence.score > BIAS
    }
}

/// Classifies every example of a class while it is held out.
pub(super) fn cross_validate(examples: &[Labeled<'_>], classes: usize, hold_out: HoldOut) -> Vec<Prediction> {
    let folds = if examples.len() > MANY_EXAMPLES { 3 } else { 5 };
    // With a single class every example would be right.
    let mut seen_classes = examples.iter().filter_map(|it| class_of(it.label));
    let first = seen_classes.next();
    if seen_classes.all(|class| Some(class) == first) {
        return Vec::new();
    }
    let fold_of = assign_folds(examples, classes, folds, if hold_out == HoldOut::Classes { 2 } else { 1 });
    let mut predictions = Vec::new();
    for fold in 0..folds {
        let is_foreign = |class: usize| hold_out == HoldOut::Classes && class % folds == fold;
        let is_seen = |label: Label| !matches!(label, Label::Class(class) if is_foreign(class));
        let seen = examples.iter().zip(&fold_of).filter(|&(example, own_fold)| *own_fold != Some(fold) && is_seen(example.label));
        let seen: Vec<Labeled<'_>> = seen.map(|it| *it.0).collect();
        let model = Model::train(&seen, classes);
        for (at, (example, _)) in examples.iter().zip(&fold_of).enumerate().filter(|numbered| *numbered.1.1 == Some(fold)) {
            let Some(class) = class_of(example.label) else { continue };
            let vector = model.vocabulary.weigh(example.bag);
            let scores = model.score(&vector);
            if let Some((predicted, score, other)) = best_of(&scores) {
                let evidence = Evidence { score, margin: score - other, known: vector.known };
                let second = Evidence { score: other, margin: other - score, known: vector.known };
                predictions.push(Prediction { example: at, class, predicted, evidence, second, is_foreign: is_foreign(class) });
            }
        }
    }
    predictions.sort_by_key(|it| it.example);
    predictions
}

/// The fold in which an example is held out: those of a class take turns. Examples of no class are never held out, nor are those of a
/// class with fewer than `least`, of which nothing would remain.
fn assign_folds(examples: &[Labeled<'_>], classes: usize, folds: usize, least: usize) -> Vec<Option<usize>> {
    let mut sizes = vec![0_usize; classes];
    for class in examples.iter().filter_map(|it| class_of(it.label)) {
        if let Some(size) = sizes.get_mut(class) {
            *size += 1;
        }
    }
    let mut turns = vec![0_usize; classes];
    let fold_of = |example: &Labeled<'_>| {
        let class = class_of(example.label)?;
        let turn = turns.get_mut(class)?;
        *turn += 1;
        (*sizes.get(class)? >= least).then_some((*turn - 1) % folds)
    };
    examples.iter().map(fold_of).collect()
}

fn class_of(label: Label) -> Option<usize> {
    if let Label::Class(class) = label { Some(class) } else { None }
}

/// The best class with its score, and the best score of the others; the first class wins a tie.
pub(super) fn best_of(scores: &[f32]) -> Option<(usize, f32, f32)> {
    let mut best: Option<(usize, f32)> = None;
    let mut other = BIAS;
    for (class, score) in scores.iter().copied().enumerate() {
        match best {
            Some((_, top)) if score <= top => other = other.max(score),
            Some((_, top)) => {
                other = other.max(top);
                best = Some((class, score));
            }
            None => best = Some((class, score)),
        }
    }
    best.map(|(class, score)| (class, score, other))
}
