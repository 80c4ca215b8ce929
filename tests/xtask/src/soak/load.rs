//! Five packs at once, on both databases: rates, cost, memory, and a PostgreSQL that goes away for a while.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::{Seen, Soak};
use crate::sh;

/// Conversations that are held at the same time.
const CONNECTIONS: [usize; 2] = [8, 64];

/// How long each load takes.
const SECONDS: u64 = 60;

/// How long each load of [`modes`] takes.
const SECONDS_OF_A_MODE: u64 = 30;

/// Conversations over which memory is watched.
const CONVERSATIONS: usize = 20_000;

/// Most MB that a server may take.
const MEMORY: f64 = 80.0;

/// Most MB by which all servers together may grow over the second half of the conversations.
const GROWTH: f64 = 1.0;

/// How long PostgreSQL is stopped.
const OUTAGE: Duration = Duration::from_secs(20);

/// Runs all of it and answers what is not as it must be.
pub fn run(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    let mut broken = rates(soak)?;
    broken.extend(modes(soak)?);
    broken.extend(memory(soak)?);
    broken.extend(outage(soak)?);
    Ok(broken)
}

fn rates(soak: &Soak<'_>) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    head("five packs, audit ALL");
    for (name, database) in soak.databases() {
        for connections in CONNECTIONS {
            // The ceiling first, and the engine in the same minutes.
            for (who, command) in [("ceiling", "ceiling"), ("engine", "load")] {
                let arguments = [command, &database, &connections.to_string(), &format!("seconds:{SECONDS}")];
                broken.extend(line(soak, &format!("{name}, {connections} connections, {who}"), &arguments)?);
            }
        }
    }
    Ok(broken)
}

/// The ways to store audit rows, one after the other.
fn modes(soak: &Soak<'_>) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    head("audit ALL, 8 connections");
    for (name, database) in soak.databases() {
        for mode in ["DEFERRED_BULK", "IMMEDIATE", "DERIVED"] {
            let set = format!("convengine.audit.persistence.mode={mode}");
            let arguments = ["load", &database, "8", &format!("seconds:{SECONDS_OF_A_MODE}"), &set];
            broken.extend(line(soak, &format!("{name}, {mode}"), &arguments)?);
        }
    }
    Ok(broken)
}

fn head(what: &str) {
    println!(
        "\n{what:<40}{:>10}{:>10}{:>10}{:>12}{:>14}{:>26}",
        "turns/s", "p50 ms", "p99 ms", "CPU µs/turn", "bytes/turn", "MB start / middle / end"
    );
}

/// Talks and prints a line of the table; answers what failed.
fn line(soak: &Soak<'_>, what: &str, arguments: &[&str]) -> Result<Vec<String>> {
    let seen = soak.talk(arguments)?;
    println!(
        "{what:<40}{:>10.0}{:>10.1}{:>10.1}{:>12.0}{:>14.0}{:>26}",
        seen.number("/rate")?,
        seen.number("/p50_ms")?,
        seen.number("/p99_ms")?,
        seen.number("/cpu_us")?,
        seen.number("/bytes")?,
        megabytes(&seen)?
    );
    seen.failures(what)
}

fn memory(soak: &Soak<'_>) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    println!("\n{:<28}{:>26}{:>34}", format!("{CONVERSATIONS} conversations"), "MB start / middle / end", "MB more over the second half");
    for (name, database) in soak.databases() {
        let seen = soak.talk(&["load", &database, "8", &format!("conversations:{CONVERSATIONS}")])?;
        let growth = seen.number("/growth_mb")?;
        println!("{name:<28}{:>26}{growth:>34.2}", megabytes(&seen)?);
        broken.extend(seen.failures(&format!("{name}, memory"))?);
        let most = seen.number("/memory_mb/2")?;
        broken.extend((most > MEMORY).then(|| format!("{name}: {most:.1} MB resident, at most {MEMORY} are allowed")));
        broken.extend((growth > GROWTH).then(|| format!("{name}: memory grows by {growth:.2} MB, at most {GROWTH} is allowed")));
    }
    Ok(broken)
}

/// Stops PostgreSQL under load and starts it again.
fn outage(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    sh::say(&format!("stopping PostgreSQL for {} s under load", OUTAGE.as_secs()));
    let mut command = soak.command(&["outage", &soak.postgres.url(), "8"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start the load")?;
    let mut out = BufReader::new(child.stdout.take().context("the load has no output")?);
    let mut line = String::new();
    out.read_line(&mut line)?;
    ensure!(line.trim() == "steady", "the load does not get under way: {line}");
    soak.postgres.crash()?;
    thread::sleep(OUTAGE);
    soak.postgres.begin()?;
    child.stdin.take().context("the load has no input")?.write_all(b"restored\n")?;
    let mut text = String::new();
    out.read_to_string(&mut text)?;
    ensure!(child.wait()?.success(), "the load failed");
    let seen = Seen::parse(&text)?;
    println!(
        "\nPostgreSQL stopped for {} s: {} turns acknowledged, {} messages sent again, {:.2} s without an answer, the first {:.2} s after \
         PostgreSQL was back",
        OUTAGE.as_secs(),
        seen.number("/acknowledged")?,
        seen.number("/repeated")?,
        seen.number("/silence_ms")? / 1000.0,
        seen.number("/service_returned_ms")? / 1000.0
    );
    ensure!(seen.number("/silence_ms")? >= OUTAGE.as_millis() as f64, "the load went on without PostgreSQL");
    seen.failures("outage")
}

fn megabytes(seen: &Seen) -> Result<String> {
    Ok(format!("{:.1} / {:.1} / {:.1}", seen.number("/memory_mb/0")?, seen.number("/memory_mb/1")?, seen.number("/memory_mb/2")?))
}
