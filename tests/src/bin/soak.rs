//! Runs the long tests and prints their results as JSON, which `cargo xtask soak` turns into tables.
//!
//! DATABASE is `sqlite` or the URL of a PostgreSQL server; UNTIL is `seconds:S` or `conversations:N`.
//!
//! - `soak crash DATABASE EVERY [PACK…]` kills a server at every EVERY-th crash point.
//! - `soak load DATABASE CONNECTIONS UNTIL [KEY=VALUE…]` runs the mixed load.
//! - `soak ceiling DATABASE CONNECTIONS UNTIL` runs it on servers that store the same rows without an engine.
//! - `soak outage DATABASE CONNECTIONS` prints `steady` when the database may be stopped, and waits for the line `restored`.
//! - `soak size DATABASE PACK [KEY=VALUE…]` measures the bytes per turn.
//! - `soak streams DATABASE STREAMS ROUNDS` opens many streams on one server.
//! - `soak fuzz SECONDS [TARGET…]` fuzzes; it runs itself with `fuzz-one` and `fuzz-try`.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow, bail, ensure};
use convengine_tests::fuzz::{self, Target};
use convengine_tests::soak::crash;
use convengine_tests::soak::database::Kind;
use convengine_tests::soak::load::{Until, hold};
use convengine_tests::soak::outage::{self, Signals};
use convengine_tests::soak::{Mix, size, streams};
use serde_json::{Value, json};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let found = match words.as_slice() {
        ["crash", database, every, packs @ ..] => crash(&Kind::parse(database)?, every.parse()?, packs)?,
        ["load", database, connections, until, settings @ ..] => {
            load(Mix::start(&beside("convengine")?, &Kind::parse(database)?, &owned(settings))?, connections.parse()?, parse(until)?)?
        }
        ["ceiling", database, connections, until] => {
            load(Mix::ceiling(&beside("ceiling")?, &Kind::parse(database)?)?, connections.parse()?, parse(until)?)?
        }
        ["outage", database, connections] => outage(&Kind::parse(database)?, connections.parse()?)?,
        ["size", database, pack, settings @ ..] => {
            let seen = size::of_a_turn(&beside("convengine")?, &Kind::parse(database)?, pack, &owned(settings))?;
            json!({"turns": seen.turns, "bytes": seen.bytes, "rows": seen.rows})
        }
        ["streams", database, count, rounds] => open(&Kind::parse(database)?, count.parse()?, rounds.parse()?)?,
        ["fuzz", seconds, targets @ ..] => return fuzz(Duration::from_secs(seconds.parse()?), targets),
        ["fuzz-one", target, seed, seconds, note] => {
            fuzz::listen_to_panics();
            let seen = fuzz::run(Target::named(target)?, seed.parse()?, Duration::from_secs(seconds.parse()?), Path::new(note))?;
            json!({"inputs": seen.inputs, "kinds": seen.kinds})
        }
        ["fuzz-try", target, file] => {
            fuzz::listen_to_panics();
            let (target, input) = (Target::named(target)?, std::fs::read(file)?);
            json!(fuzz::on_a_small_stack(|| target.hold(&input).map_err(|it| anyhow!(it)))?)
        }
        _ => bail!(
            "usage: soak fuzz SECONDS [TARGET…] | crash DATABASE EVERY [PACK…] | load DATABASE CONNECTIONS UNTIL [KEY=VALUE…] | ceiling DATABASE CONNECTIONS UNTIL | outage DATABASE CONNECTIONS | size DATABASE PACK [KEY=VALUE…] | streams DATABASE STREAMS ROUNDS"
        ),
    };
    println!("{found}");
    Ok(())
}

/// Fuzzes, prints a line per target, and fails if there is a finding.
fn fuzz(time: Duration, names: &[&str]) -> Result<()> {
    let named: Vec<&Target> = names.iter().map(|it| Target::named(it)).collect::<Result<_>>()?;
    let targets = if named.is_empty() { fuzz::TARGETS.iter().collect() } else { named };
    let seed = u64::try_from(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_millis())?;
    let reports = fuzz::supervise::hold(&std::env::current_exe()?, &targets, seed, time)?;
    reports.iter().for_each(|it| println!("{it}"));
    ensure!(reports.iter().all(|it| it.finding.is_none()), "fuzzing has findings");
    Ok(())
}

fn crash(kind: &Kind, every: u32, packs: &[&str]) -> Result<Value> {
    let packs = if packs.is_empty() { &crash::PACKS } else { packs };
    let mut rows = Vec::new();
    for name in packs {
        let found = crash::run(&beside("convengine")?, kind, name, 1, every)?;
        rows.push(json!({
            "pack": found.pack, "crossings": found.crossings, "kills": found.kills, "equal": found.equal, "in_doubt": found.in_doubt.len(), "in_doubt_at": found.in_doubt,
            "violations": found.violations,
        }));
    }
    Ok(json!(rows))
}

fn load(mix: Mix, connections: usize, until: Until) -> Result<Value> {
    let seen = hold(&Rc::new(mix), connections, until)?;
    Ok(json!({
        "turns": seen.micros.len(), "conversations": seen.conversations, "failures": seen.failures, "failed": seen.failed,
        "rate": seen.rate(), "p50_ms": seen.percentile_ms(50), "p99_ms": seen.percentile_ms(99),
        "cpu_us": seen.a_turn(seen.cpu_us), "bytes": seen.a_turn(seen.bytes),
        "memory_mb": seen.memory_mb(), "growth_mb": seen.growth_mb(),
    }))
}

fn open(kind: &Kind, count: usize, rounds: usize) -> Result<Value> {
    let seen = streams::hold(&beside("convengine")?, kind, count, rounds)?;
    Ok(json!({
        "streams": seen.streams, "stomp": seen.stomp, "resumed": seen.resumed, "turns": seen.turns, "events": seen.events,
        "p50_ms": seen.percentile_ms(50), "p99_ms": seen.percentile_ms(99), "bytes_a_stream": seen.bytes_a_stream,
        "failures": seen.failures, "failed": seen.failed,
    }))
}

fn outage(kind: &Kind, connections: usize) -> Result<Value> {
    let mix = Rc::new(Mix::start(&beside("convengine")?, kind, &[])?);
    let signals = Arc::new(Signals::default());
    let restored = Arc::clone(&signals);
    std::thread::spawn(move || {
        let mut line = String::new();
        if std::io::stdin().read_line(&mut line).is_ok_and(|length| length > 0) {
            restored.restored.store(true, Ordering::Release);
        }
    });
    let found = outage::hold(&mix, connections, &signals, || println!("steady"))?;
    Ok(json!({
        "acknowledged": found.acknowledged, "repeated": found.repeated, "failures": found.failed.len(),
        "failed": found.failed.iter().take(5).collect::<Vec<_>>(),
        "silence_ms": found.silence.as_millis() as u64,
        "service_returned_ms": found.service_returned.map(|it| it.as_millis() as u64),
    }))
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|it| (*it).to_owned()).collect()
}

/// Returns the path of a program that was built into the same folder.
fn beside(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    Ok(own.parent().context("cannot find the folder of this program")?.join(name))
}

fn parse(until: &str) -> Result<Until> {
    let (unit, number) = until.split_once(':').context("expected seconds:S or conversations:N")?;
    let number: usize = number.parse()?;
    match unit {
        "seconds" => Ok(Until::Time(Duration::from_secs(number as u64))),
        "conversations" => Ok(Until::Conversations(number)),
        _ => bail!("expected seconds:S or conversations:N, not '{until}'"),
    }
}
