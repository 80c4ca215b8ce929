//! Timings of searches in knowledge bases of two sizes, on both databases.

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Bench, Target, number};
use crate::postgres::{Durability, Postgres};
use crate::sh;

/// The sizes in chunks; the smaller one is the baseline.
const SIZES: [u64; 2] = [1_000, 10_000];

/// The target for 99 of 100 searches of the larger size, in microseconds.
const P99_TARGET_US: u64 = 20_000;

/// The timings of each database and size.
pub struct Knowledge(Vec<(&'static str, Value)>);

impl Knowledge {
    /// Indexes generated articles in empty databases and searches them.
    pub fn measure(bench: &Bench<'_>, searches: u64) -> Result<Self> {
        sh::print_progress(&format!("timing {searches} searches in knowledge bases"));
        let mut measured = Vec::new();
        for size in SIZES {
            let file = bench.folder.join(format!("knowledge-{size}.db"));
            measured.push(("SQLite", time(bench, &format!("sqlite:{}", file.display()), size, searches)?));
            let server = Postgres::start(Durability::Durable)?;
            measured.push(("PostgreSQL", time(bench, &format!("{}/postgres", server.url()), size, searches)?));
        }
        Ok(Self(measured))
    }

    /// Prints the table.
    pub fn print(&self) {
        println!("\n{:<20}{:>10}{:>14}{:>14}{:>14}{:>14}", "knowledge base", "chunks", "indexed, ms", "text, bytes", "p50, µs", "p99, µs");
        for (database, run) in &self.0 {
            let [chunks, indexed, bytes, median, p99] =
                ["chunks", "indexed_ms", "text_bytes", "p50_us", "p99_us"].map(|name| number(run, name));
            println!("{database:<20}{chunks:>10}{indexed:>14}{bytes:>14}{median:>14}{p99:>14}");
        }
    }

    /// Returns the targets.
    pub fn targets(&self) -> Vec<Target> {
        let largest = self.0.iter().filter(|run| Some(&number(&run.1, "chunks")) == SIZES.last());
        let target = |(database, run): &(&str, Value)| {
            let p99 = number(run, "p99_us");
            Target {
                label: format!("99 of 100 searches in {} chunks, {database}: at most {} ms", number(run, "chunks"), P99_TARGET_US / 1000),
                measured: format!("{:.1} ms", p99 as f64 / 1000.0),
                met: Some(p99 <= P99_TARGET_US),
            }
        };
        largest.map(target).collect()
    }
}

fn time(bench: &Bench<'_>, url: &str, chunks: u64, searches: u64) -> Result<Value> {
    let mut command = bench.project.command(bench.release_binary("test-tools"));
    let printed =
        sh::output(command.arg("knowledge").args([url, &chunks.to_string(), &searches.to_string()])).context("`knowledge` failed")?;
    Ok(serde_json::from_str(&printed)?)
}
