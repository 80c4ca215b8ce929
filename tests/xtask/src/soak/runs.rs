//! Runs of chains: how many a server finishes in a minute, and what 10,000 that sleep cost.

use anyhow::Result;

use super::Soak;

/// The number of runs that are started together.
const RUNS: &str = "2000";
/// The number of runs that sleep, and wake up within half a minute.
const SLEEPERS: &str = "10000";
/// The number of clients.
const CONNECTIONS: &str = "8";
/// The fewest runs per minute.
const MIN_PER_MINUTE: f64 = 1000.0;

/// Runs the test on both databases and prints a line for each; returns what failed.
pub fn run(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    let mut failures = Vec::new();
    println!(
        "| database | runs | per minute | CPU µs per run | p50 ms | p99 ms | asleep | memory before KB | with them KB | CPU asleep % | \
         late p50 ms | p99 ms | at most ms | failures |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for (name, database) in soak.databases() {
        let seen = soak.run_program(&["runs", &database, RUNS, SLEEPERS, CONNECTIONS])?;
        let number = |path: &str| seen.number(path);
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {:.2} | {} | {} | {} | {} |",
            number("/runs")?,
            number("/per_minute")?,
            number("/cpu_us")?,
            number("/p50_ms")?,
            number("/p99_ms")?,
            number("/sleepers")?,
            number("/memory_before_kb")?,
            number("/memory_kb")?,
            number("/idle_percent")?,
            number("/lag_p50_ms")?,
            number("/lag_p99_ms")?,
            number("/lag_max_ms")?,
            number("/failures")?
        );
        failures.extend(seen.failures(&format!("runs on {name}"))?);
        let rate = number("/per_minute")?;
        if rate < MIN_PER_MINUTE {
            failures.push(format!("runs on {name}: {rate} per minute, expected {MIN_PER_MINUTE}"));
        }
    }
    Ok(failures)
}
