//! The classifier: trains, ranks the classes of a text, and explains.

use convengine_text::language::language_of;
use convengine_text::phrase::is_unspaced;
use convengine_text::stop_words::is_stop_word;

use super::bag::Bag;
use super::calibration::{Calibration, Evidence};
use super::hold_out::{HoldOut, Prediction, cross_validate};
use super::model::{Labeled, Model};
use super::solver::BIAS;
use super::terms::{Term, TermKind, terms_of};
use super::training_set::TrainingSet;

/// A trained classifier.
#[derive(Debug, Clone, PartialEq)]
pub struct LexicalClassifier {
    pub(super) locale: String,
    pub(super) model: Model,
    pub(super) calibration: Calibration,
}

/// The classes of a text, best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ranking {
    /// All classes; equal scores are in the order of the classes.
    pub classes: Vec<RankedClass>,
    /// How much of the text is known from the phrases, from 0 to 1.
    pub known: f64,
}

/// A class and how well a text fits it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankedClass {
    /// The position of the class in the training set.
    pub class: usize,
    /// The probability that it is the right one, from 0 to 1.
    pub confidence: f64,
    /// The score: 1 and more for what is like its phrases, -1 and less for what is not.
    pub score: f64,
    /// By how much the score is above the best score of the other classes.
    pub margin: f64,
    /// The similarity of its phrase that is nearest by embeddings, from -1 to 1, if there are embeddings.
    pub similarity: Option<f64>,
}

/// The confidences from which on a class is accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Acceptance {
    /// From this confidence on; the threshold of the classifier when absent.
    pub threshold: Option<f64>,
    /// Two classes whose confidences differ by less are too close to choose between them.
    pub margin: f64,
}

impl Acceptance {
    /// Whether the two best classes are close, and the second is nearly good enough.
    pub(super) fn is_close(self, best: f64, second: f64, threshold: f64) -> bool {
        best - second < self.margin && second >= threshold * CLOSE_TO_THRESHOLD
    }
}

/// What a ranking comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decision {
    /// The best class is accepted.
    Accepted(RankedClass),
    /// The two best are too close to choose between them.
    Close(RankedClass, RankedClass),
    /// None is good enough.
    Refused,
}

/// A class that is to be asked about has at least this share of the threshold.
const CLOSE_TO_THRESHOLD: f64 = 0.75;

impl Ranking {
    fn decide(&self, threshold: f64, acceptance: Acceptance) -> Decision {
        let Some(best) = self.classes.first().copied() else { return Decision::Refused };
        match self.classes.get(1).copied() {
            Some(second) if acceptance.is_close(best.confidence, second.confidence, threshold) => Decision::Close(best, second),
            _ if best.confidence >= threshold => Decision::Accepted(best),
            _ => Decision::Refused,
        }
    }
}

/// A part of a text that speaks for a class or against it.
#[derive(Debug, Clone, PartialEq)]
pub struct Influence {
    /// A stemmed word, two of them, or a piece of a word; `_` is the border of a word.
    pub term: String,
    /// What it adds to the score.
    pub weight: f64,
}

impl LexicalClassifier {
    /// Trains with phrases. Equal sets give equal bits, on every machine.
    pub fn train(set: &TrainingSet) -> LexicalClassifier {
        let bags = count_terms(set);
        let examples = label(set, &bags);
        let classes = set.classes.len();
        let held_out = cross_validate(&examples, classes, HoldOut::Classes);
        let outcomes: Vec<_> = held_out.iter().map(Prediction::outcome).collect();
        let calibration = Calibration::fit(&outcomes, examples.len() as f64 / classes.max(1) as f64);
        LexicalClassifier { locale: set.locale.clone(), model: Model::train(&examples, classes), calibration }
    }

    /// Returns the confidence from which on a class is accepted: unless it is given, about 2.2 % of the phrases are below it when they are
    /// held out.
    pub fn threshold(&self, acceptance: Acceptance) -> f64 {
        acceptance.threshold.unwrap_or(self.calibration.threshold)
    }

    /// Decides which class of a ranking is accepted.
    pub fn decide(&self, ranking: &Ranking, acceptance: Acceptance) -> Decision {
        ranking.decide(self.threshold(acceptance), acceptance)
    }

    /// Ranks the classes of a text.
    pub fn rank(&self, text: &str) -> Ranking {
        self.rank_among(text, |_| true)
    }

    /// Ranks the candidates among the classes for a text.
    pub fn rank_among(&self, text: &str, is_candidate: impl Fn(usize) -> bool) -> Ranking {
        let vector = self.model.vocabulary.weigh(&Bag::new(text, &self.locale));
        let scores = self.model.score(&vector);
        let mut order: Vec<(usize, f32)> = scores.into_iter().enumerate().filter(|it| is_candidate(it.0)).collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let score_at = |at: usize| order.get(at).map_or(BIAS, |&(_, score)| score);
        let (best, second) = (score_at(0), score_at(1));
        let rank = |(at, &(class, score)): (usize, &(usize, f32))| {
            let margin = score - if at == 0 { second } else { best };
            let confidence = self.calibration.confidence(&Evidence { score, margin, known: vector.known });
            RankedClass { class, confidence, score: f64::from(score), margin: f64::from(margin), similarity: None }
        };
        Ranking { classes: order.iter().enumerate().map(rank).collect(), known: f64::from(vector.known) }
    }

    /// Whether a text has a word, or the beginning of one, that speaks for a class: "refundable" has nothing of "table" but letters.
    /// `locale` is that of the text.
    pub fn shares_word(&self, text: &str, class: usize, locale: &str) -> bool {
        let language = language_of(locale);
        let is_function =
            |term: &Term| term.is_function || language.is_some_and(|language| is_stop_word(term.text.trim_matches('_'), language));
        let speaks_for = |term: &Term| {
            let column = self.model.vocabulary.hashes.binary_search(&term.hash());
            column.is_ok_and(|column| self.model.weights_of(column as u32).get(class).is_some_and(|weight| *weight > 0))
        };
        let is_begun = |term: &Term| term.text.starts_with('_') && term.text.chars().count() == 4 || term.text.starts_with(is_unspaced);
        terms_of(text, &self.locale)
            .iter()
            .any(|term| !is_function(term) && (term.kind == TermKind::Word || is_begun(term)) && speaks_for(term))
    }

    /// Returns the terms of a text with most influence on the score of a class: at most `most` for it and as many against it, the
    /// strongest first.
    pub fn explain(&self, text: &str, class: usize, most: usize) -> Vec<Influence> {
        let vector = self.model.vocabulary.weigh(&Bag::new(text, &self.locale));
        let scale = self.model.scales.get(class).copied().unwrap_or(0.0) / 127.0;
        let mut influences: Vec<Influence> = Vec::new();
        let mut seen: Vec<u32> = Vec::new();
        for term in terms_of(text, &self.locale) {
            let hash = term.hash();
            let Ok(column) = self.model.vocabulary.hashes.binary_search(&hash) else { continue };
            if seen.contains(&hash) {
                continue;
            }
            seen.push(hash);
            let value = vector.features.iter().find(|it| it.0 as usize == column).map_or(0.0, |it| it.1);
            let weight = f64::from(self.model.weights_of(column as u32).get(class).copied().map_or(0.0, f32::from) * scale * value);
            match influences.iter_mut().find(|it| it.term == term.text) {
                // A short word is a piece, too.
                Some(same) => same.weight += weight,
                None => influences.push(Influence { term: term.text, weight }),
            }
        }
        influences.retain(|it| it.weight != 0.0);
        influences.sort_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs()).then_with(|| a.term.cmp(&b.term)));
        let (mut supporting, mut opposing) = (0, 0);
        influences.retain(|influence| {
            let count = if influence.weight > 0.0 { &mut supporting } else { &mut opposing };
            *count += 1;
            *count <= most
        });
        influences
    }
}

/// Counts the terms of each phrase.
pub(super) fn count_terms(set: &TrainingSet) -> Vec<Bag> {
    set.phrases.iter().map(|phrase| Bag::new(&phrase.text, &set.locale)).collect()
}

/// Labels counted phrases.
pub(super) fn label<'a>(set: &TrainingSet, bags: &'a [Bag]) -> Vec<Labeled<'a>> {
    bags.iter().zip(&set.phrases).map(|(bag, it)| Labeled { bag, label: it.label }).collect()
}
