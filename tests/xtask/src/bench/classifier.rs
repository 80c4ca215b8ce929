//! Timings of the classifier of intents, of a small set and of a large one.

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Bench, Target, number};
use crate::sh;

/// Intents and phrases of each; the smaller set is the baseline.
const SIZES: [[u64; 2]; 2] = [[25, 20], [150, 100]];

/// The targets for the larger set.
const TRAINING_TARGET_MS: u64 = 5_000;
const P99_TARGET_US: u64 = 500;
const BYTES_TARGET: u64 = 30 << 20;

/// The timings of each size.
pub struct Classifier(Vec<Value>);

impl Classifier {
    /// Trains generated sets and classifies texts.
    pub fn measure(bench: &Bench<'_>) -> Result<Self> {
        sh::print_progress("timing the classifier of intents");
        let time = |size: &[u64; 2]| {
            let mut command = bench.project.command(bench.release_binary("test-tools"));
            let printed = sh::output(command.arg("classifier").args(size.map(|it| it.to_string()))).context("`classifier` failed")?;
            Ok(serde_json::from_str(&printed)?)
        };
        Ok(Self(SIZES.iter().map(time).collect::<Result<_>>()?))
    }

    /// Prints the table.
    pub fn print(&self) {
        println!(
            "\n{:<12}{:>10}{:>14}{:>14}{:>14}{:>14}{:>10}{:>10}",
            "classifier", "phrases", "training, ms", "bytes", "loading, µs", "resident, KB", "p50, µs", "p99, µs"
        );
        for row in &self.0 {
            let names = ["phrases", "training_ms", "bytes", "decoding_us", "resident_kb", "p50_us", "p99_us"];
            let [phrases, training, bytes, loading, resident, median, p99] = names.map(|name| number(row, name));
            let intents = number(row, "intents");
            println!("{intents:<12}{phrases:>10}{training:>14}{bytes:>14}{loading:>14}{resident:>14}{median:>10}{p99:>10}");
        }
    }

    /// Returns the targets.
    pub fn targets(&self) -> Vec<Target> {
        let Some(largest) = self.0.last() else { return Vec::new() };
        let target = |what: &str, name: &str, most: u64, unit: &str| {
            let measured = number(largest, name);
            Target {
                label: format!("150 intents with 100 phrases, {what}: at most {most} {unit}"),
                measured: format!("{measured} {unit}"),
                met: Some(measured <= most),
            }
        };
        vec![
            target("training", "training_ms", TRAINING_TARGET_MS, "ms"),
            target("99 of 100 matches", "p99_us", P99_TARGET_US, "µs"),
            target("the classifier", "bytes", BYTES_TARGET, "bytes"),
        ]
    }
}
