//! The terms that a classifier knows, and how rare each of them is.

use super::bag::Bag;
use super::terms::TermKind;

/// From this number of examples on, terms that only one of them has are left out: they hardly help, and are most of all terms.
const MANY_EXAMPLES: usize = 8_000;

/// Known terms.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Vocabulary {
    /// Their hashes in ascending order; the column of a term is its position.
    pub hashes: Vec<u32>,
    /// The inverse document frequency of each.
    pub rarity: Vec<f32>,
    /// The weight of function words: few phrases cannot show that words such as `what` are in sentences about anything.
    pub function_weight: f32,
}

/// A text as numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Vector {
    /// Columns and values; the squares of the words and those of the pieces of words sum up to 1 each.
    pub features: Vec<(u32, f32)>,
    /// How much of the text is known, from 0 to 1; function words count only if there are no others.
    pub known: f32,
}

impl Vocabulary {
    /// Collects the terms of examples.
    pub fn collect<'a>(examples: impl Iterator<Item = &'a Bag>) -> Vocabulary {
        let mut count = 0_usize;
        let mut all: Vec<u32> = Vec::new();
        for bag in examples {
            count += 1;
            all.extend(bag.terms().iter().map(|it| it.hash));
        }
        all.sort_unstable();
        let least = if count < MANY_EXAMPLES { 1 } else { 2 };
        let mut vocabulary = Vocabulary { function_weight: function_weight(count), ..Vocabulary::default() };
        for run in all.chunk_by(|a, b| a == b).filter(|run| run.len() >= least) {
            vocabulary.hashes.extend(run.first());
            vocabulary.rarity.push(rarity(count, run.len()));
        }
        vocabulary
    }

    /// Weighs the terms of a text: by number and rarity.
    pub fn weigh(&self, bag: &Bag) -> Vector {
        let mut vector = Vector::default();
        let (mut known, mut all) = (0.0_f32, 0.0_f32);
        let only_function = bag.terms().iter().all(|it| it.is_function);
        let unknown_rarity = self.rarity.iter().copied().fold(1.0_f32, f32::max);
        for kind in [TermKind::Word, TermKind::Piece] {
            let first = vector.features.len();
            let mut square = 0.0_f32;
            for term in bag.terms().iter().filter(|it| it.kind == kind) {
                let frequency = if term.count == 1 { 1.0 } else { 1.0 + libm::logf(term.count as f32) };
                let column = self.hashes.binary_search(&term.hash).ok();
                let rarity = column.and_then(|it| self.rarity.get(it)).copied();
                let value = frequency * rarity.unwrap_or(unknown_rarity) * if term.is_function { self.function_weight } else { 1.0 };
                let counts = only_function || !term.is_function;
                if counts {
                    all += value * value;
                }
                if let Some(column) = column.filter(|_| rarity.is_some()) {
                    square += value * value;
                    if counts {
                        known += value * value;
                    }
                    vector.features.push((column as u32, value));
                }
            }
            let scale = if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 };
            vector.features.iter_mut().skip(first).for_each(|it| it.1 *= scale);
        }
        vector.known = if all > 0.0 { known / all } else { 0.0 };
        vector
    }
}

/// Half of that of other words, rising to the same between 50 and 400 phrases.
fn function_weight(examples: usize) -> f32 {
    (0.5 + (examples as f32 - 50.0) / 700.0).clamp(0.5, 1.0)
}

fn rarity(examples: usize, with_term: usize) -> f32 {
    (libm::log((1.0 + examples as f64) / (1.0 + with_term as f64)) + 1.0) as f32
}
