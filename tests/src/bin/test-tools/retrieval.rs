//! Prints how good retrieval is on the collection in `tests/retrieval`, and with `--list` the questions that are not answered first.

use anyhow::Result;
use convengine_tests::retrieval::{Figures, Mode, Searcher, read_collection};

/// Runs the command.
pub fn run(words: &[&str]) -> Result<()> {
    let collection = read_collection()?;
    let searcher = Searcher::new(&collection);
    println!(
        "{} passages, {} questions; the embeddings are a stand-in, not a model",
        collection.passages.len(),
        collection.questions.len()
    );
    println!("mode      recall@5  nDCG@10");
    for mode in Mode::ALL {
        let figures = searcher.measure(&collection.questions, mode);
        println!("{:<8}  {:>8.3}  {:>7.3}", mode.name(), figures.recall_at_5, figures.ndcg_at_10);
    }
    if words.contains(&"--list") {
        for question in &collection.questions {
            let ndcg = Mode::ALL.map(|mode| Figures::new(&searcher.search(&question.text, mode), &question.relevant).ndcg_at_10);
            if ndcg.iter().any(|it| *it < 1.0) {
                println!("{:.2} {:.2} {:.2}  {}", ndcg[0], ndcg[1], ndcg[2], question.text);
            }
        }
    }
    Ok(())
}
