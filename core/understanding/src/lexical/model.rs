//! Trained weights: the score of each class for a text.

use super::bag::Bag;
use super::solver::{BIAS, BLOCK, Label, train_block};
use super::vocabulary::{Vector, Vocabulary};

/// An example to train with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Labeled<'a> {
    pub bag: &'a Bag,
    pub label: Label,
}

/// A vocabulary and the weights of its terms.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Model {
    pub vocabulary: Vocabulary,
    /// Number of classes.
    pub classes: usize,
    /// By column and class: 1/127 of the scale of the class.
    pub weights: Vec<i8>,
    /// The largest weight of each class.
    pub scales: Vec<f32>,
}

impl Model {
    /// Trains with examples; no order matters but theirs.
    pub fn train(examples: &[Labeled<'_>], classes: usize) -> Model {
        let vocabulary = Vocabulary::collect(examples.iter().map(|it| it.bag));
        let vectors: Vec<Vector> = examples.iter().map(|it| vocabulary.weigh(it.bag)).collect();
        let labeled: Vec<(&Vector, Label)> = vectors.iter().zip(examples).map(|(vector, it)| (vector, it.label)).collect();
        let columns = vocabulary.hashes.len();
        let mut model = Model { vocabulary, classes, weights: vec![0; columns * classes], scales: vec![0.0; classes] };
        for first in (0..classes).step_by(BLOCK) {
            model.store_block(&train_block(&labeled, columns, first), first);
        }
        model
    }

    /// Rounds the weights of a block to a byte each.
    fn store_block(&mut self, block: &[[f32; BLOCK]], first: usize) {
        let mut largest = [0.0_f32; BLOCK];
        for weights in block {
            largest.iter_mut().zip(weights).for_each(|(most, weight)| *most = most.max(weight.abs()));
        }
        self.scales.iter_mut().skip(first).zip(&largest).for_each(|(scale, most)| *scale = *most);
        for (row, weights) in self.weights.chunks_exact_mut(self.classes.max(1)).zip(block) {
            for ((stored, weight), most) in row.iter_mut().skip(first).zip(weights).zip(&largest) {
                // `as` saturates, and rounds towards zero.
                *stored = if *most > 0.0 { libm::roundf(weight / most * 127.0) as i8 } else { 0 };
            }
        }
    }

    /// The weights of a column.
    pub fn weights_of(&self, column: u32) -> &[i8] {
        let first = column as usize * self.classes;
        self.weights.get(first..first + self.classes).unwrap_or_default()
    }

    /// The score of each class: 1 and more for what is like its examples, -1 and less for what is not.
    pub fn score(&self, vector: &Vector) -> Vec<f32> {
        let mut scores = vec![0.0_f32; self.classes];
        for &(column, value) in &vector.features {
            scores.iter_mut().zip(self.weights_of(column)).for_each(|(score, weight)| *score += value * f32::from(*weight));
        }
        scores.iter_mut().zip(&self.scales).for_each(|(score, scale)| *score = *score * scale / 127.0 + BIAS);
        scores
    }
}
