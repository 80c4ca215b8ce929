//! How far a score can be trusted: learned from examples that were held out.

/// What the confidence in a class depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Evidence {
    /// The score of the class.
    pub score: f32,
    /// By how much it is above the best score of the other classes.
    pub margin: f32,
    /// How much of the text is known, from 0 to 1.
    pub known: f32,
}

/// What became of a held-out example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outcome {
    /// The evidence for the best class.
    pub evidence: Evidence,
    /// Whether its class is the best one.
    pub is_correct: bool,
    /// Whether its class was held out, too, so that no class is correct.
    pub is_foreign: bool,
}

/// A logistic regression of [`Evidence`], and the confidence from which on a class is accepted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Calibration {
    /// Factors of 1, the score, the margin, and the known part.
    pub factors: [f64; INPUTS],
    /// From 0 to 1.
    pub threshold: f64,
}

/// Number of inputs of the regression.
pub(super) const INPUTS: usize = 4;

/// Factors as they are without outcomes.
const USUAL_FACTORS: [f64; INPUTS] = [-1.6, 2.5, 1.0, 2.2];

/// How many outcomes it takes, roughly, to depart from the usual factors.
const STRENGTH: f64 = 2.0;

/// Steps of Newton's method; it has converged long before.
const STEPS: usize = 15;

/// How often a step is halved at most.
const HALVINGS: usize = 8;

/// Share of examples that may be refused although their class was correct.
const LOSS: f64 = 0.022;

/// With fewer examples per class than this, more may be refused: held-out examples then tell less.
const MANY_PER_CLASS: f64 = 15.0;

/// The threshold as it is without outcomes, and how many outcomes it takes to halve its influence.
const USUAL_THRESHOLD: f64 = 0.7;
const THRESHOLD_STRENGTH: f64 = 20.0;

impl Evidence {
    fn inputs(&self) -> [f64; INPUTS] {
        [1.0, f64::from(self.score), f64::from(self.margin), f64::from(self.known)]
    }
}

impl Calibration {
    /// Learns from held-out examples.
    pub fn fit(outcomes: &[Outcome], examples_per_class: f64) -> Calibration {
        let mut calibration = Calibration { factors: USUAL_FACTORS, threshold: USUAL_THRESHOLD };
        let mut loss = calibration.loss(outcomes);
        for _ in 0..STEPS {
            let mut step = calibration.newton_step(outcomes);
            // Far from the best factors a whole step may lead away from them.
            for _ in 0..HALVINGS {
                let mut next = calibration;
                next.factors.iter_mut().zip(&step).for_each(|(factor, step)| *factor -= step);
                let next_loss = next.loss(outcomes);
                if next_loss < loss {
                    (calibration, loss) = (next, next_loss);
                    break;
                }
                step = step.map(|it| it / 2.0);
            }
        }
        calibration.threshold = calibration.find_threshold(outcomes, examples_per_class);
        calibration
    }

    /// The probability that a class is correct, from 0 to 1.
    pub fn confidence(&self, evidence: &Evidence) -> f64 {
        self.confidence_with(evidence, 0.0)
    }

    /// The probability that a class is correct when more is known than the evidence; `added` is what that adds to the log-odds.
    pub fn confidence_with(&self, evidence: &Evidence, added: f64) -> f64 {
        let sum: f64 = evidence.inputs().iter().zip(&self.factors).map(|(input, factor)| input * factor).sum();
        1.0 / (1.0 + libm::exp(-(sum + added)))
    }

    /// What the factors are to minimise: the improbability of the outcomes, and the distance from the usual factors.
    fn loss(&self, outcomes: &[Outcome]) -> f64 {
        let distance: f64 = self.factors.iter().zip(&USUAL_FACTORS).map(|(factor, usual)| (factor - usual) * (factor - usual)).sum();
        let improbability = |outcome: &Outcome| {
            let confidence = self.confidence(&outcome.evidence);
            -libm::log(if outcome.is_correct { confidence } else { 1.0 - confidence }.max(f64::MIN_POSITIVE))
        };
        STRENGTH / 2.0 * distance + outcomes.iter().map(improbability).sum::<f64>()
    }

    fn newton_step(&self, outcomes: &[Outcome]) -> [f64; INPUTS] {
        let mut gradient = [0.0; INPUTS];
        let mut curvature = [[0.0; INPUTS]; INPUTS];
        for (at, (((slope, row), factor), usual)) in
            gradient.iter_mut().zip(&mut curvature).zip(&self.factors).zip(&USUAL_FACTORS).enumerate()
        {
            *slope = STRENGTH * (factor - usual);
            if let Some(diagonal) = row.get_mut(at) {
                *diagonal = STRENGTH;
            }
        }
        for outcome in outcomes {
            let inputs = outcome.evidence.inputs();
            let confidence = self.confidence(&outcome.evidence);
            let error = confidence - f64::from(u8::from(outcome.is_correct));
            let weight = confidence * (1.0 - confidence);
            for ((slope, row), input) in gradient.iter_mut().zip(&mut curvature).zip(&inputs) {
                *slope += error * input;
                row.iter_mut().zip(&inputs).for_each(|(entry, other)| *entry += weight * input * other);
            }
        }
        solve(curvature, gradient)
    }

    /// The confidence below which only the allowed share of correct examples stays.
    fn find_threshold(&self, outcomes: &[Outcome], examples_per_class: f64) -> f64 {
        let mut correct: Vec<f64> = outcomes.iter().filter(|it| it.is_correct).map(|it| self.confidence(&it.evidence)).collect();
        correct.sort_by(f64::total_cmp);
        let known = outcomes.iter().filter(|it| !it.is_foreign).count() as f64;
        let allowed = known * LOSS * (MANY_PER_CLASS / examples_per_class.max(1.0)).max(1.0);
        let found = correct.get(allowed as usize).copied().unwrap_or(USUAL_THRESHOLD);
        let count = correct.len() as f64;
        (count * found + THRESHOLD_STRENGTH * USUAL_THRESHOLD) / (count + THRESHOLD_STRENGTH)
    }
}

/// Solves a system of linear equations whose matrix is symmetric and positive: Gaussian elimination.
fn solve(mut matrix: [[f64; INPUTS]; INPUTS], mut right: [f64; INPUTS]) -> [f64; INPUTS] {
    for at in 0..INPUTS {
        let (Some(pivot), Some(value)) = (matrix.get(at).copied(), right.get(at).copied()) else { continue };
        let Some(diagonal) = pivot.get(at).copied() else { continue };
        for (row, other) in matrix.iter_mut().zip(&mut right).skip(at + 1) {
            let factor = row.get(at).copied().unwrap_or(0.0) / diagonal;
            row.iter_mut().zip(&pivot).for_each(|(entry, pivot)| *entry -= factor * pivot);
            *other -= factor * value;
        }
    }
    let mut solution = [0.0; INPUTS];
    for at in (0..INPUTS).rev() {
        let (Some(row), Some(value)) = (matrix.get(at), right.get(at)) else { continue };
        let solved: f64 = row.iter().zip(&solution).skip(at + 1).map(|(factor, known)| factor * known).sum();
        if let (Some(unknown), Some(diagonal)) = (solution.get_mut(at), row.get(at)) {
            *unknown = (value - solved) / diagonal;
        }
    }
    solution
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(score: f32, is_correct: bool) -> Outcome {
        Outcome { evidence: Evidence { score, margin: score + 0.5, known: 0.5 }, is_correct, is_foreign: false }
    }

    #[test]
    fn equations_are_solved() {
        let matrix = [[4.0, 1.0, 0.0, 0.0], [1.0, 3.0, 1.0, 0.0], [0.0, 1.0, 2.0, 0.5], [0.0, 0.0, 0.5, 5.0]];
        let solution = solve(matrix, [6.0, 10.0, 10.0, 21.5]);
        for (found, expected) in solution.iter().zip([1.0, 2.0, 3.0, 4.0]) {
            assert!((found - expected).abs() < 1e-12, "{solution:?}");
        }
    }

    #[test]
    fn without_outcomes_the_usual_values_apply() {
        let calibration = Calibration::fit(&[], 0.0);
        assert_eq!((calibration.factors, calibration.threshold), (USUAL_FACTORS, USUAL_THRESHOLD));
    }

    #[test]
    fn confidence_is_the_share_of_correct_outcomes() {
        let outcomes: Vec<Outcome> =
            (0..2_000_u16).map(|at| outcome(if at % 2 == 0 { 0.2 } else { 0.8 }, at % 10 < 5 || at % 4 == 1)).collect();
        let calibration = Calibration::fit(&outcomes, 100.0);
        for score in [0.2, 0.8] {
            let alike: Vec<&Outcome> = outcomes.iter().filter(|it| it.evidence.score == score).collect();
            let share = alike.iter().filter(|it| it.is_correct).count() as f64 / alike.len() as f64;
            let confidence = calibration.confidence(&outcome(score, true).evidence);
            assert!((confidence - share).abs() < 0.02, "{score}: {confidence} for {share}");
        }
    }

    #[test]
    fn the_threshold_refuses_few_correct_outcomes() {
        let outcomes: Vec<Outcome> = (0..1_000_u16).map(|at| outcome(f32::from(at) / 500.0 - 1.0, at >= 500)).collect();
        let calibration = Calibration::fit(&outcomes, 100.0);
        let refused = |outcome: &&Outcome| outcome.is_correct && calibration.confidence(&outcome.evidence) < calibration.threshold;
        let share = outcomes.iter().filter(refused).count() as f64 / 1_000.0;
        assert!((0.01..=0.04).contains(&share), "{share}");
    }
}
