//! Intents without a model: a classifier that learns from phrases.
//!
//! Each class has a linear support vector machine against all others, over stemmed words, pairs of words and pieces of words, weighted by
//! rarity. The confidence comes from examples that were held out, and so does the threshold. Everything is basic arithmetic in a fixed
//! order: the server and the page train the same bits. Documentation: docs/spec/classifier.md

mod bag;
mod calibration;
mod classifier;
mod facts;
mod format;
mod fusion;
mod hold_out;
mod lazy;
mod model;
mod report;
mod solver;
mod terms;
mod training_set;
mod vocabulary;

pub use classifier::{Acceptance, Decision, Influence, LexicalClassifier, RankedClass, Ranking};
pub use facts::{NEAREST, explain_class, round};
pub use format::FormatError;
pub use lazy::LazyClassifier;
pub use report::{ClassReport, Confusion, Misleading, TestCase, TestReport, ValidationReport, test, validate};
pub use solver::Label;
pub use training_set::{TrainingPhrase, TrainingSet};

#[cfg(test)]
mod tests;
