//! The mixed load of five packs on both databases: throughput, cost, memory, and a PostgreSQL outage.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::{Soak, SoakResults};
use crate::sh;

/// The numbers of concurrent conversations.
const CONNECTIONS: [usize; 2] = [8, 64];

/// The duration of each load.
const SECONDS: u64 = 60;

/// The duration of each load of [`measure_modes`].
const SECONDS_PER_MODE: u64 = 30;

/// The number of conversations over which memory is measured.
const CONVERSATIONS: usize = 20_000;

/// The maximum memory of a server, in MB.
const MAX_MEMORY_MB: f64 = 80.0;

/// The maximum memory growth of all servers together over the second half of the conversations, in MB.
const MAX_GROWTH_MB: f64 = 1.0;

/// The duration of a PostgreSQL outage.
pub const OUTAGE: Duration = Duration::from_secs(30);

/// Runs all loads; returns what failed.
pub fn run(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    let mut failures = measure_rates(soak)?;
    failures.extend(measure_modes(soak)?);
    failures.extend(measure_memory(soak)?);
    failures.extend(run_outage(soak)?);
    Ok(failures)
}

fn measure_rates(soak: &Soak<'_>) -> Result<Vec<String>> {
    let mut failures = Vec::new();
    print_header("five packs, audit ALL");
    for (name, database) in soak.databases() {
        for connections in CONNECTIONS {
            // Ceiling and engine run back to back, so that they see the same machine.
            for (server, command) in [("ceiling", "ceiling"), ("engine", "load")] {
                let arguments = [command, &database, &connections.to_string(), &format!("seconds:{SECONDS}")];
                failures.extend(run_and_print(soak, &format!("{name}, {connections} connections, {server}"), &arguments)?);
            }
        }
    }
    Ok(failures)
}

/// Measures each way of storing audit rows.
fn measure_modes(soak: &Soak<'_>) -> Result<Vec<String>> {
    let mut failures = Vec::new();
    print_header("audit ALL, 8 connections");
    for (name, database) in soak.databases() {
        for mode in ["DEFERRED_BULK", "IMMEDIATE", "DERIVED"] {
            let set = format!("convengine.audit.persistence.mode={mode}");
            let arguments = ["load", &database, "8", &format!("seconds:{SECONDS_PER_MODE}"), &set];
            failures.extend(run_and_print(soak, &format!("{name}, {mode}"), &arguments)?);
        }
    }
    Ok(failures)
}

fn print_header(what: &str) {
    println!(
        "\n{what:<40}{:>10}{:>10}{:>10}{:>12}{:>14}{:>26}",
        "turns/s", "p50 ms", "p99 ms", "CPU µs/turn", "bytes/turn", "MB start / middle / end"
    );
}

/// Runs a load and prints a line of the table; returns what failed.
fn run_and_print(soak: &Soak<'_>, what: &str, arguments: &[&str]) -> Result<Vec<String>> {
    let seen = soak.run_program(arguments)?;
    println!(
        "{what:<40}{:>10.0}{:>10.1}{:>10.1}{:>12.0}{:>14.0}{:>26}",
        seen.number("/rate")?,
        seen.number("/p50_ms")?,
        seen.number("/p99_ms")?,
        seen.number("/cpu_us")?,
        seen.number("/bytes")?,
        format_memory(&seen)?
    );
    seen.failures(what)
}

fn measure_memory(soak: &Soak<'_>) -> Result<Vec<String>> {
    let mut failures = Vec::new();
    println!("\n{:<28}{:>26}{:>34}", format!("{CONVERSATIONS} conversations"), "MB start / middle / end", "MB growth in the second half");
    for (name, database) in soak.databases() {
        let seen = soak.run_program(&["load", &database, "8", &format!("conversations:{CONVERSATIONS}")])?;
        let growth = seen.number("/growth_mb")?;
        println!("{name:<28}{:>26}{growth:>34.2}", format_memory(&seen)?);
        failures.extend(seen.failures(&format!("{name}, memory"))?);
        let largest = seen.number("/memory_mb/2")?;
        failures.extend((largest > MAX_MEMORY_MB).then(|| format!("{name}: {largest:.1} MB resident, the limit is {MAX_MEMORY_MB} MB")));
        failures
            .extend((growth > MAX_GROWTH_MB).then(|| format!("{name}: memory grows by {growth:.2} MB, the limit is {MAX_GROWTH_MB} MB")));
    }
    Ok(failures)
}

/// Stops PostgreSQL under load and starts it again.
fn run_outage(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    sh::print_progress(&format!("stopping PostgreSQL for {} s under load", OUTAGE.as_secs()));
    let seen = soak.run_during_outage(&["outage", &soak.postgres.url(), "8"], OUTAGE)?;
    println!(
        "\nPostgreSQL stopped for {} s: {} turns acknowledged, {} messages retried, {:.2} s without an answer, the first answer {:.2} s \
         after PostgreSQL was back",
        OUTAGE.as_secs(),
        seen.number("/acknowledged")?,
        seen.number("/repeated")?,
        seen.number("/silence_ms")? / 1000.0,
        seen.number("/service_returned_ms")? / 1000.0
    );
    ensure!(seen.number("/silence_ms")? >= OUTAGE.as_millis() as f64, "messages were answered while PostgreSQL was stopped");
    seen.failures("outage")
}

fn format_memory(seen: &SoakResults) -> Result<String> {
    Ok(format!("{:.1} / {:.1} / {:.1}", seen.number("/memory_mb/0")?, seen.number("/memory_mb/1")?, seen.number("/memory_mb/2")?))
}
