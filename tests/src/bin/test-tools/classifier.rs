//! Times the classifier of a generated set: `test-tools classifier INTENTS PHRASES`; prints JSON.

use std::time::Instant;

use anyhow::{Context, Result};
use convengine_core::lexical::LexicalClassifier;
use convengine_tests::nlu;
use convengine_tests::soak::process_stats::resident_kb;
use serde_json::json;

/// Runs the command.
pub fn run(words: &[&str]) -> Result<()> {
    let numbers: Vec<usize> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let [intents, phrases] = numbers[..] else { anyhow::bail!("usage: test-tools classifier INTENTS PHRASES") };
    let set = nlu::generate(&nlu::words()?, intents, phrases, 1);
    let training_set = set.training_set(phrases);
    let started = Instant::now();
    let classifier = LexicalClassifier::train(&training_set);
    let training_ms = started.elapsed().as_millis() as u64;
    let bytes = classifier.to_bytes();
    drop(classifier);
    let before = resident_kb(std::process::id())?;
    let started = Instant::now();
    let classifier = LexicalClassifier::from_bytes(&bytes).context("the bytes cannot be read")?;
    let decoding_us = started.elapsed().as_micros() as u64;
    let resident = resident_kb(std::process::id())?.saturating_sub(before);
    let mut times: Vec<u128> = Vec::new();
    for text in set.tests.iter().cycle().take(set.tests.len().max(2_000)) {
        let started = Instant::now();
        std::hint::black_box(classifier.rank(&text.text));
        times.push(started.elapsed().as_nanos());
    }
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).map_or(0, |duration| duration / 1_000) as u64;
    println!(
        "{}",
        json!({
            "intents": intents, "phrases": phrases, "training_ms": training_ms, "bytes": bytes.len(), "decoding_us": decoding_us,
            "resident_kb": resident, "p50_us": at(50), "p99_us": at(99),
        })
    );
    Ok(())
}
