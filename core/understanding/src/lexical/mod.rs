//! Intents without a model: a classifier that learns from phrases.
//!
//! Each class has a linear support vector machine against all others, over stemmed words, pairs of words and pieces of words, weighted by
//! rarity. The confidence comes from examples that were held out, and so does the threshold. Everything is basic arithmetic in a fixed
//! order: the server and the page train the same bits. Documentation: docs/spec/classifier.md
//!
//! ```
//! use convengine_understanding::lexical::{Acceptance, Decision, Label, LexicalClassifier, TrainingPhrase, TrainingSet};
//!
//! let phrase = |class: usize, text: &str| TrainingPhrase { text: text.to_owned(), label: Label::Class(class) };
//! let set = TrainingSet {
//!     locale: "en-US".to_owned(),
//!     classes: vec!["pay".to_owned(), "cancel".to_owned()],
//!     phrases: vec![
//!         phrase(0, "pay a bill"), phrase(0, "I want to pay my bill"), phrase(0, "how can I pay"),
//!         phrase(1, "cancel my order"), phrase(1, "please cancel it"), phrase(1, "I want to cancel"),
//!     ],
//! };
//! let classifier = LexicalClassifier::train(&set);
//! let ranking = classifier.rank("can I pay the bill?");
//! assert_eq!(set.classes[ranking.classes[0].class], "pay");
//! // Nothing is accepted above a confidence of 1.
//! let never = Acceptance { threshold: Some(1.1), margin: 0.0 };
//! assert_eq!(classifier.decide(&ranking, never), Decision::Refused);
//! ```

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
