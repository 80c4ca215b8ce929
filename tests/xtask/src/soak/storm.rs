//! Storms on PostgreSQL: one of three servers is killed while 900 turns run, PostgreSQL stops while 300 do, and an hour of load with a kill
//! after every 20 s.

use anyhow::Result;

use super::Soak;
use super::load::OUTAGE;
use crate::sh;

/// The turns that run when a server is killed.
const TURNS: u32 = 900;

/// How long a turn takes at least, in seconds: long enough for all of them to run at once.
const DELAY: u32 = 60;

/// The turns that run when PostgreSQL stops.
const OUTAGE_TURNS: u32 = 300;

/// The concurrent conversations of the load with kills.
const CONNECTIONS: u32 = 16;

/// The duration of the load with kills, in seconds.
const SECONDS: u32 = 3600;

/// The time between two kills, in seconds.
const INTERVAL: u32 = 20;

/// The maximum memory growth of a server over the second half of the load, in KB.
const MAX_GROWTH_KB: f64 = 4096.0;

/// The maximum time that others wait for a turn while the turns of a killed server are taken over, at the 99th percentile.
const MAX_BYSTANDER_MS: f64 = 250.0;

/// Runs all; returns what failed.
pub fn run(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    sh::print_progress(&format!("killing one of three servers while {TURNS} turns run"));
    let seen = soak.run_program(&["storm", &soak.postgres.url(), &TURNS.to_string(), &DELAY.to_string()])?;
    println!(
        "\n{} turns ran, {} on the killed server, {} taken over; the last was answered {:.1} s after the kill",
        seen.number("/turns")?,
        seen.number("/of_killed")?,
        seen.number("/recovered")?,
        seen.number("/recovery_ms")? / 1000.0
    );
    println!(
        "others: {:.0} ms at the 99th percentile before, {:.0} ms until the end; database transactions/s: {:.0} before, {:.0} until the end",
        seen.number("/bystander_p99_ms/0")?,
        seen.number("/bystander_p99_ms/1")?,
        seen.number("/transactions/0")?,
        seen.number("/transactions/1")?
    );
    let mut failures = seen.failures("storm")?;
    let p99 = seen.number("/bystander_p99_ms/1")?;
    failures.extend(
        (p99 > MAX_BYSTANDER_MS).then(|| format!("others wait {p99:.0} ms at the 99th percentile, the limit is {MAX_BYSTANDER_MS} ms")),
    );
    sh::print_progress(&format!("stopping PostgreSQL for {} s while {OUTAGE_TURNS} turns run on three servers", OUTAGE.as_secs()));
    let url = soak.postgres.url();
    let seen = soak.run_during_outage(&["cluster-outage", &url, &OUTAGE_TURNS.to_string(), &DELAY.to_string()], OUTAGE)?;
    println!(
        "\n{} turns ran, {} were taken from a server that lives; the last was answered {:.1} s after PostgreSQL stopped",
        seen.number("/turns")?,
        seen.number("/recovered")?,
        seen.number("/duration_ms")? / 1000.0
    );
    failures.extend(seen.failures("outage")?);
    sh::print_progress(&format!("killing servers under load for {SECONDS} s"));
    let arguments = ["kills", &soak.postgres.url(), &CONNECTIONS.to_string(), &SECONDS.to_string(), &INTERVAL.to_string()];
    let seen = soak.run_program(&arguments)?;
    let growth = seen.number("/growth_kb")?;
    println!(
        "\n{} turns acknowledged, {} messages sent again, {} kills; {:.0} KB resident at the start, {:.0} KB at the end, {growth:.0} KB growth in the second half",
        seen.number("/acknowledged")?,
        seen.number("/repeated")?,
        seen.number("/kills")?,
        seen.number("/memory_kb/0")?,
        seen.number("/memory_kb/1")?
    );
    failures.extend(seen.failures("kills")?);
    failures.extend((growth > MAX_GROWTH_KB).then(|| format!("memory grows by {growth:.0} KB, the limit is {MAX_GROWTH_KB} KB")));
    Ok(failures)
}
