//! Users' turns beside background work, on three servers of two tenants: timers that are due at once, chains, indexing, and a lost database.

use anyhow::Result;

use super::Soak;
use crate::sh;

/// The timers that are due at once.
const TIMERS: &str = "5000";

/// The chains that run at a time.
const CHAINS: &str = "50";

/// The chunks of knowledge that are indexed.
const CHUNKS: &str = "10000";

/// How many times as long users' turns may take beside background work, at the 99th percentile.
const MAX_SLOWDOWN: f64 = 1.5;

/// The maximum memory of a server, in KB.
const MAX_MEMORY_KB: f64 = 120.0 * 1024.0;

/// Runs the load and prints its figures; returns what failed.
pub fn run(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    sh::print_progress(&format!(
        "{TIMERS} timers due at once, {CHAINS} running chains, {CHUNKS} chunks and a lost database beside users' turns"
    ));
    let seen = soak.run_program(&["background", &soak.postgres.url(), TIMERS, CHAINS, CHUNKS])?;
    println!("\n| | turns | p50 ms | p99 ms | memory KB |\n|---|---|---|---|---|");
    for (index, phase) in ["calm", "beside background work"].iter().enumerate() {
        let figure = |name: &str| seen.number(&format!("/{name}/{index}"));
        println!("| {phase} | {} | {:.1} | {:.1} | {} |", figure("turns")?, figure("p50_ms")?, figure("p99_ms")?, figure("memory_kb")?);
    }
    println!(
        "\n{} refused; all timers had fired after {:.1} s, all chunks were searchable after {:.1} s, {} chains succeeded",
        seen.number("/refused")?,
        seen.number("/timers_ms")? / 1000.0,
        seen.number("/indexing_ms")? / 1000.0,
        seen.number("/chains")?
    );
    let mut failures = seen.failures("background work")?;
    let slowdown = seen.number("/p99_ms/1")? / seen.number("/p99_ms/0")?;
    failures
        .extend((slowdown > MAX_SLOWDOWN).then(|| format!("users' turns take {slowdown:.2} times as long, the limit is {MAX_SLOWDOWN}")));
    let memory = seen.number("/memory_kb/1")?;
    failures.extend((memory > MAX_MEMORY_KB).then(|| format!("a server takes {memory} KB, the limit is {MAX_MEMORY_KB}")));
    Ok(failures)
}
