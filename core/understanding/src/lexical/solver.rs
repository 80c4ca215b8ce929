//! Trains linear classifiers, one for each class against the rest: support vector machines with squared hinge loss, by coordinate descent
//! in the dual.
//!
//! After Hsieh et al., *A Dual Coordinate Descent Method for Large-scale Linear SVM* (2008). The order of the examples is fixed, and each
//! sum has one order, so that every machine computes the same bits.

use super::vocabulary::Vector;

/// The weight of errors against that of a wide margin.
const COST: f32 = 1.0;

/// Maximum number of passes over the examples.
const MAX_PASSES: usize = 12;

/// After a pass that changes no dual variable by more than this, training ends.
const TOLERANCE: f32 = 0.02;

/// The score of a text without a known term. It is not trained, so that such a text belongs to no class, however few the examples are.
pub(super) const BIAS: f32 = -1.0;

/// Number of classes that are trained at a time: their weights fit the cache of a processor.
pub(super) const BLOCK: usize = 32;

/// What an example is to a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// An example of one class, and of none of the others.
    Class(usize),
    /// An example of no class.
    NoClass,
    /// No example of one class; nothing is known of the others.
    Not(usize),
}

/// Returns the weights of the [`BLOCK`] classes from `first` on, by column.
pub(super) fn train_block(examples: &[(&Vector, Label)], columns: usize, first: usize) -> Vec<[f32; BLOCK]> {
    let mut weights = vec![[0.0_f32; BLOCK]; columns];
    let mut states: Vec<State> = examples.iter().map(|it| State::new(it.0)).collect();
    let mut order: Vec<usize> = (0..examples.len()).collect();
    let mut random = 0x2545_f491_u32;
    for pass in 0..MAX_PASSES {
        shuffle(&mut order, &mut random);
        // Those that have been without influence are looked at in every fourth pass.
        let looks_at_all = pass % 4 == 3 || pass + 1 == MAX_PASSES;
        let mut largest = 0.0_f32;
        for &at in &order {
            let (Some((vector, label)), Some(state)) = (examples.get(at), states.get_mut(at)) else { continue };
            if state.unchanged >= 2 && !looks_at_all {
                continue;
            }
            let step = state.descend(&score(vector, &weights), &signs(*label, first));
            let change = step.iter().fold(0.0_f32, |most, entry| most.max(entry.abs()));
            largest = largest.max(change);
            if change == 0.0 {
                state.unchanged = state.unchanged.saturating_add(1);
                continue;
            }
            state.unchanged = 0;
            for &(column, value) in &vector.features {
                if let Some(weights) = weights.get_mut(column as usize) {
                    weights.iter_mut().zip(&step).for_each(|(weight, step)| *weight += value * step);
                }
            }
        }
        if largest < TOLERANCE {
            break;
        }
    }
    weights
}

/// The training state of an example.
struct State {
    /// Its dual variables.
    duals: [f32; BLOCK],
    /// The second derivative along each.
    curvature: f32,
    /// The number of passes since one of them has changed.
    unchanged: u8,
}

impl State {
    fn new(vector: &Vector) -> State {
        let square = vector.features.iter().map(|it| it.1 * it.1).sum::<f32>();
        State { duals: [0.0; BLOCK], curvature: square + SOFTNESS, unchanged: 0 }
    }

    /// Moves the dual variables to their best values; returns by how much the weights move along the example.
    fn descend(&mut self, scores: &[f32; BLOCK], signs: &[f32; BLOCK]) -> [f32; BLOCK] {
        let mut step = [0.0_f32; BLOCK];
        for (((step, score), sign), dual) in step.iter_mut().zip(scores).zip(signs).zip(&mut self.duals) {
            let gradient = sign * score - 1.0 + *dual * SOFTNESS;
            let next = (*dual - gradient / self.curvature).max(0.0) * sign.abs();
            *step = (next - *dual) * sign;
            *dual = next;
        }
        step
    }
}

/// What a squared loss adds to the curvature.
const SOFTNESS: f32 = 1.0 / (2.0 * COST);

fn score(vector: &Vector, weights: &[[f32; BLOCK]]) -> [f32; BLOCK] {
    let mut scores = [BIAS; BLOCK];
    for &(column, value) in &vector.features {
        if let Some(weights) = weights.get(column as usize) {
            scores.iter_mut().zip(weights).for_each(|(score, weight)| *score += value * weight);
        }
    }
    scores
}

/// 1 for the class of an example, -1 for the others, 0 for those of which nothing is known.
fn signs(label: Label, first: usize) -> [f32; BLOCK] {
    let (class, own, other) = match label {
        Label::Class(class) => (Some(class), 1.0, -1.0),
        Label::NoClass => (None, -1.0, -1.0),
        Label::Not(class) => (Some(class), -1.0, 0.0),
    };
    let mut signs = [other; BLOCK];
    if let Some(sign) = class.and_then(|it| it.checked_sub(first)).and_then(|it| signs.get_mut(it)) {
        *sign = own;
    }
    signs
}

/// Shuffles in an order that is always the same.
fn shuffle(order: &mut [usize], random: &mut u32) {
    for at in (1..order.len()).rev() {
        *random ^= *random << 13;
        *random ^= *random >> 17;
        *random ^= *random << 5;
        // A number from 0 to `at`; 64 bits, because `usize` has 32 in a browser.
        let other = (u64::from(*random) * (at as u64 + 1)) >> 32;
        order.swap(at, other as usize);
    }
}
