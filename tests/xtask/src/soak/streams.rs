//! Thousands of open streams on one server while turns go on.

use anyhow::Result;

use super::Soak;

/// Streams, and how often the pack's conversation is held over each ten of them.
const STREAMS: &str = "5000";
const ROUNDS: &str = "2";

/// Opens them on both databases, and prints a line for each.
pub fn run(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    println!("| database | streams | by STOMP | gone on after a break | turns | events | p50 ms | p99 ms | bytes a stream | failures |");
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (name, database) in soak.databases() {
        let seen = soak.talk(&["streams", &database, STREAMS, ROUNDS])?;
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
        broken.extend(seen.failures(&format!("streams on {name}"))?);
    }
    Ok(broken)
}
