//! Thousands of open streams on one server during turns.

use anyhow::Result;

use super::Soak;

/// The number of streams.
const STREAMS: &str = "5000";
/// How often each conversation is run; ten streams belong to one conversation.
const ROUNDS: &str = "2";

/// Runs the test on both databases and prints a line for each; returns what failed.
pub fn run(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    let mut failures = Vec::new();
    println!("| database | streams | over STOMP | reconnects | turns | events | p50 ms | p99 ms | bytes per stream | failures |");
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (name, database) in soak.databases() {
        let seen = soak.run_program(&["streams", &database, STREAMS, ROUNDS])?;
        let number = |path: &str| seen.number(path);
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            number("/streams")?,
            number("/stomp")?,
            number("/resumed")?,
            number("/turns")?,
            number("/events")?,
            number("/p50_ms")?,
            number("/p99_ms")?,
            number("/bytes_a_stream")?,
            number("/failures")?
        );
        failures.extend(seen.failures(&format!("streams on {name}"))?);
    }
    Ok(failures)
}
