//! What records and explanations say of a ranking.

use serde_json::{Map, Value, json};

use super::classifier::{Influence, LexicalClassifier, RankedClass};

/// Number of classes in records and explanations.
pub const NEAREST: usize = 5;

/// Number of terms for a class, and as many against it.
const TERMS: usize = 5;

/// Returns the score of a class, its margin, its similarity if there is one, and the terms of the text that speak for it and against it.
pub fn explain_class(classifier: &LexicalClassifier, text: &str, ranked: &RankedClass) -> Map<String, Value> {
    let terms = classifier.explain(text, ranked.class, TERMS);
    let weights = |is_for: bool| {
        let of_side = terms.iter().filter(|influence| (influence.weight > 0.0) == is_for);
        of_side.map(|influence: &Influence| (influence.term.clone(), json!(round(influence.weight)))).collect::<Map<String, Value>>()
    };
    let similarity = ranked.similarity.map(|similarity| ("similarity".to_owned(), json!(round(similarity))));
    let words = [
        ("score".to_owned(), json!(round(ranked.score))),
        ("margin".to_owned(), json!(round(ranked.margin))),
        ("for".to_owned(), Value::Object(weights(true))),
        ("against".to_owned(), Value::Object(weights(false))),
    ];
    words.into_iter().chain(similarity).collect()
}

/// Rounds a number of a record to three digits.
pub fn round(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}
