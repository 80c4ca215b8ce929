//! Retrieval on the collection in `tests/retrieval`: the figures only rise.

use convengine_corpus::retrieval::{Figures, Mode, Searcher, read_collection};

/// Lower bounds; `cargo run -p convengine-tests --bin test-tools retrieval` prints the figures.
const BOUNDS: [(Mode, Figures); 3] = [
    (Mode::Keyword, Figures { recall_at_5: 0.77, ndcg_at_10: 0.75 }),
    (Mode::Vector, Figures { recall_at_5: 0.84, ndcg_at_10: 0.76 }),
    (Mode::Hybrid, Figures { recall_at_5: 0.86, ndcg_at_10: 0.80 }),
];

#[test]
fn figures_only_rise() {
    let collection = read_collection().unwrap();
    assert!(collection.passages.len() >= 40 && collection.questions.len() >= 60);
    let searcher = Searcher::new(&collection);
    for (mode, bound) in BOUNDS {
        let figures = searcher.measure(&collection.questions, mode);
        assert!(figures.recall_at_5 >= bound.recall_at_5 && figures.ndcg_at_10 >= bound.ndcg_at_10, "{}: {figures:?}", mode.name());
    }
}

#[test]
fn both_lists_together_are_better_than_either() {
    let collection = read_collection().unwrap();
    let searcher = Searcher::new(&collection);
    let [keyword, vector, hybrid] = Mode::ALL.map(|mode| searcher.measure(&collection.questions, mode));
    assert!(hybrid.recall_at_5 >= keyword.recall_at_5.max(vector.recall_at_5), "{keyword:?} {vector:?} {hybrid:?}");
    assert!(hybrid.ndcg_at_10 >= keyword.ndcg_at_10.max(vector.ndcg_at_10), "{keyword:?} {vector:?} {hybrid:?}");
}
