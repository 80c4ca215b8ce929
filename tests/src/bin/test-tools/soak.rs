//! Runs the long tests and prints their results as JSON, which `cargo xtask soak` turns into tables.
//!
//! DATABASE is `sqlite` or the URL of a PostgreSQL server; UNTIL is `seconds:S` or `conversations:N`.
//!
//! - `test-tools soak crash DATABASE EVERY [PACK…]` kills a server at every EVERY-th crash point.
//! - `test-tools soak load DATABASE CONNECTIONS UNTIL [KEY=VALUE…]` runs the mixed load.
//! - `test-tools soak ceiling DATABASE CONNECTIONS UNTIL` runs it on servers that store the same rows without an engine.
//! - `test-tools soak outage DATABASE CONNECTIONS` prints `steady` when the database may be stopped, and waits for the line `restored`.
//! - `test-tools soak size DATABASE PACK [KEY=VALUE…]` measures the bytes per turn.
//! - `test-tools soak runs DATABASE RUNS SLEEPERS CONNECTIONS` measures runs of chains, and runs that sleep.
//! - `test-tools soak background DATABASE TIMERS CHAINS CHUNKS` measures users' turns beside background work; only on PostgreSQL.
//! - `test-tools soak streams DATABASE STREAMS ROUNDS` opens many streams on one server.
//! - `test-tools soak storm DATABASE TURNS DELAY_S` kills one of three servers while TURNS turns run; only on PostgreSQL.
//! - `test-tools soak cluster-outage DATABASE TURNS DELAY_S` prints `steady` when TURNS turns run on three servers and the database may be stopped, and
//!   waits for the line `restored`; only on PostgreSQL.
//! - `test-tools soak kills DATABASE CONNECTIONS SECONDS INTERVAL_S` kills a server after each interval; only on PostgreSQL.
//! - `test-tools soak restate DATABASE CONNECTIONS SECONDS INTERVAL_S [SEED]` kills workers, servers and nodes of a Restate cluster, adds a node and
//!   removes one; only on PostgreSQL.
//! - `test-tools soak fuzz LIMIT [TARGET…]` fuzzes; LIMIT is `seconds:S` or `inputs:N` for each target; it runs itself with `fuzz-one` and `fuzz-try`.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow, bail, ensure};
use convengine_tests::fuzz::{self, FuzzLimit, Target};
use convengine_tests::soak::background::{self, BackgroundLoad};
use convengine_tests::soak::crash;
use convengine_tests::soak::database::DatabaseKind;
use convengine_tests::soak::load::{Until, run_load};
use convengine_tests::soak::outage::{self, Signals};
use convengine_tests::soak::restate::{self, RestateSoak};
use convengine_tests::soak::runs::RunLoad;
use convengine_tests::soak::{Mix, runs, size, storm, streams};
use convengine_tests::{restate_binary, sibling_program};
use serde_json::{Value, json};

/// Runs the command.
pub fn run(words: &[&str]) -> Result<()> {
    let found = match words {
        ["crash", database, every, packs @ ..] => report_crash(&DatabaseKind::parse(database)?, every.parse()?, packs)?,
        ["load", database, connections, until, settings @ ..] => report_load(
            Mix::start(&sibling_program("convengine")?, &DatabaseKind::parse(database)?, &to_strings(settings))?,
            connections.parse()?,
            parse_until(until)?,
        )?,
        ["ceiling", database, connections, until] => report_load(
            Mix::start_ceiling(&sibling_program("ceiling")?, &DatabaseKind::parse(database)?)?,
            connections.parse()?,
            parse_until(until)?,
        )?,
        ["outage", database, connections] => report_outage(&DatabaseKind::parse(database)?, connections.parse()?)?,
        ["size", database, pack, settings @ ..] => {
            let seen = size::measure_turn(&sibling_program("convengine")?, &DatabaseKind::parse(database)?, pack, &to_strings(settings))?;
            json!({"turns": seen.turns, "bytes": seen.bytes, "rows": seen.rows})
        }
        ["runs", database, runs, sleepers, connections] => {
            report_runs(&DatabaseKind::parse(database)?, runs.parse()?, sleepers.parse()?, connections.parse()?)?
        }
        ["storm", database, turns, delay] => report_storm(&DatabaseKind::parse(database)?, turns.parse()?, delay.parse()?)?,
        ["cluster-outage", database, turns, delay] => {
            report_cluster_outage(&DatabaseKind::parse(database)?, turns.parse()?, delay.parse()?)?
        }
        ["kills", database, connections, seconds, interval] => {
            report_kills(&DatabaseKind::parse(database)?, connections.parse()?, seconds.parse()?, interval.parse()?)?
        }
        ["restate", database, connections, seconds, interval, seed @ ..] => {
            let seed = seed.first().map_or_else(now_ms, |text| text.parse().context("SEED is not a number"))?;
            report_restate(&DatabaseKind::parse(database)?, connections.parse()?, seconds.parse()?, interval.parse()?, seed)?
        }
        ["background", database, timers, chains, chunks] => {
            report_background(&DatabaseKind::parse(database)?, timers.parse()?, chains.parse()?, chunks.parse()?)?
        }
        ["streams", database, count, rounds] => report_streams(&DatabaseKind::parse(database)?, count.parse()?, rounds.parse()?)?,
        ["fuzz", limit, targets @ ..] => return run_fuzz(FuzzLimit::parse(limit)?, targets),
        ["fuzz-one", target, seed, limit, note] => {
            fuzz::capture_panics();
            let seen = fuzz::run(Target::find(target)?, seed.parse()?, FuzzLimit::parse(limit)?, Path::new(note))?;
            json!({"inputs": seen.inputs, "kinds": seen.kinds})
        }
        ["fuzz-try", target, file] => {
            fuzz::capture_panics();
            let (target, input) = (Target::find(target)?, std::fs::read(file)?);
            json!(fuzz::with_server_stack(|| target.check(&input).map_err(|message| anyhow!(message)))?)
        }
        _ => bail!(
            "usage: test-tools soak fuzz LIMIT [TARGET…] | crash DATABASE EVERY [PACK…] | load DATABASE CONNECTIONS UNTIL [KEY=VALUE…] | ceiling DATABASE CONNECTIONS UNTIL | outage DATABASE CONNECTIONS | size DATABASE PACK [KEY=VALUE…] | runs DATABASE RUNS SLEEPERS CONNECTIONS | background DATABASE TIMERS CHAINS CHUNKS | streams DATABASE STREAMS ROUNDS | storm DATABASE TURNS DELAY_S | cluster-outage DATABASE TURNS DELAY_S | kills DATABASE CONNECTIONS SECONDS INTERVAL_S | restate DATABASE CONNECTIONS SECONDS INTERVAL_S [SEED]"
        ),
    };
    println!("{found}");
    Ok(())
}

/// Fuzzes, prints a line per target, and fails if there is a finding.
fn run_fuzz(limit: FuzzLimit, names: &[&str]) -> Result<()> {
    let named: Vec<&Target> = names.iter().map(|it| Target::find(it)).collect::<Result<_>>()?;
    let targets = if named.is_empty() { fuzz::TARGETS.iter().collect() } else { named };
    let seed = now_ms()?;
    let reports = fuzz::supervise::run_targets(&std::env::current_exe()?, &targets, seed, limit)?;
    reports.iter().for_each(|it| println!("{it}"));
    ensure!(reports.iter().all(|it| it.finding.is_none()), "fuzzing has findings");
    Ok(())
}

fn report_crash(kind: &DatabaseKind, every: u32, packs: &[&str]) -> Result<Value> {
    let packs = if packs.is_empty() { &crash::PACKS } else { packs };
    let mut rows = Vec::new();
    for name in packs {
        let found = crash::run(&sibling_program("convengine")?, kind, name, 1, every)?;
        rows.push(json!({
            "pack": found.pack, "crossings": found.crossings, "kills": found.kills, "equal": found.equal, "in_doubt": found.in_doubt.len(), "in_doubt_at": found.in_doubt,
            "violations": found.violations,
        }));
    }
    Ok(json!(rows))
}

fn report_load(mix: Mix, connections: usize, until: Until) -> Result<Value> {
    let seen = run_load(&Rc::new(mix), connections, until)?;
    Ok(json!({
        "turns": seen.micros.len(), "conversations": seen.conversations, "failures": seen.failures, "failed": seen.failure_examples,
        "rate": seen.rate(), "p50_ms": seen.percentile_ms(50), "p99_ms": seen.percentile_ms(99),
        "cpu_us": seen.per_turn(seen.cpu_us), "bytes": seen.per_turn(seen.bytes),
        "memory_mb": seen.memory_mb(), "growth_mb": seen.growth_mb(),
    }))
}

fn report_runs(kind: &DatabaseKind, runs: usize, sleepers: usize, connections: usize) -> Result<Value> {
    let seen = runs::measure_runs(&sibling_program("convengine")?, kind, &RunLoad::new(runs, sleepers, connections))?;
    let [p50, p99] = seen.duration_ms;
    let [lag_p50, lag_p99, lag_max] = seen.lag_ms;
    Ok(json!({
        "runs": seen.runs, "per_minute": seen.per_minute, "cpu_us": seen.cpu_us, "p50_ms": p50, "p99_ms": p99, "sleepers": seen.sleepers,
        "memory_before_kb": seen.memory_kb[0], "memory_kb": seen.memory_kb[1], "idle_percent": seen.idle_percent, "lag_p50_ms": lag_p50,
        "lag_p99_ms": lag_p99, "lag_max_ms": lag_max, "failures": seen.failures.len(), "failed": seen.failures,
    }))
}

fn report_background(kind: &DatabaseKind, timers: usize, chains: usize, chunks: usize) -> Result<Value> {
    let load = BackgroundLoad { timers, chains, chunks, start: Duration::from_secs(45), calm: Duration::from_secs(30) };
    let seen = background::run_background(&sibling_program("convengine")?, kind, load)?;
    Ok(json!({
        "turns": seen.turns, "p50_ms": seen.p50_ms, "p99_ms": seen.p99_ms, "memory_kb": seen.memory_kb, "refused": seen.refused,
        "timers_ms": seen.timers.as_millis() as u64, "indexing_ms": seen.indexing.as_millis() as u64, "chains": seen.chains,
        "failures": seen.failures.len(), "failed": seen.failures,
    }))
}

fn report_streams(kind: &DatabaseKind, count: usize, rounds: usize) -> Result<Value> {
    let seen = streams::run_streams(&sibling_program("convengine")?, kind, count, rounds)?;
    Ok(json!({
        "streams": seen.streams, "stomp": seen.stomp, "resumed": seen.resumed, "turns": seen.turns, "events": seen.events,
        "p50_ms": seen.percentile_ms(50), "p99_ms": seen.percentile_ms(99), "bytes_a_stream": seen.bytes_a_stream,
        "failures": seen.failures, "failed": seen.failure_examples,
    }))
}

fn report_storm(kind: &DatabaseKind, turns: usize, delay: u64) -> Result<Value> {
    let seen = storm::run_storm(&sibling_program("convengine")?, kind, turns, Duration::from_secs(delay))?;
    Ok(json!({
        "turns": seen.turns[0], "of_killed": seen.turns[1], "recovered": seen.recovered, "recovery_ms": seen.recovery.as_millis() as u64,
        "transactions": seen.transactions, "bystander_p99_ms": seen.bystander_ms, "failures": seen.failures.len(), "failed": seen.failures,
    }))
}

fn report_kills(kind: &DatabaseKind, connections: usize, seconds: u64, interval: u64) -> Result<Value> {
    let (time, interval) = (Duration::from_secs(seconds), Duration::from_secs(interval));
    let seen = storm::run_kills(&sibling_program("convengine")?, kind, connections, time, interval)?;
    Ok(json!({
        "acknowledged": seen.acknowledged, "repeated": seen.repeated, "kills": seen.kills, "memory_kb": seen.memory_kb,
        "growth_kb": seen.growth_kb, "failures": seen.failures.len(), "failed": seen.failures.iter().take(5).collect::<Vec<_>>(),
    }))
}

fn report_restate(kind: &DatabaseKind, connections: usize, seconds: u64, interval: u64, seed: u64) -> Result<Value> {
    eprintln!("seed {seed}");
    let (convengine, server) = (sibling_program("convengine")?, restate_binary()?);
    let (time, interval) = (Duration::from_secs(seconds), Duration::from_secs(interval));
    let soak = RestateSoak { convengine: &convengine, restate: &server, database: kind, connections, time, interval, seed };
    let seen = restate::run(&soak)?;
    let [workers, servers, nodes] = seen.chaos.kills;
    Ok(json!({
        "seed": seed, "acknowledged": seen.acknowledged, "conversations": seen.conversations, "repeated": seen.repeated,
        "killed_workers": workers, "killed_servers": servers, "killed_nodes": nodes,
        "adding_ms": seen.chaos.adding.as_millis() as u64, "removing_ms": seen.chaos.removing.as_millis() as u64,
        "longest_start_ms": seen.chaos.longest_start.as_millis() as u64, "longest_wait_ms": seen.longest_wait.as_millis() as u64,
        "longest_run_ms": seen.longest_run.as_millis() as u64, "calls": seen.calls[0], "repeated_calls": seen.calls[1], "in_doubt": seen.in_doubt, "in_doubt_made": seen.in_doubt_made,
        "logs": seen.logs, "failures": seen.failures.len(), "failed": seen.failures.iter().take(20).collect::<Vec<_>>(),
    }))
}

fn report_outage(kind: &DatabaseKind, connections: usize) -> Result<Value> {
    let mix = Rc::new(Mix::start(&sibling_program("convengine")?, kind, &[])?);
    let signals = read_signals();
    let found = outage::run_outage(&mix, connections, &signals, || println!("steady"))?;
    Ok(json!({
        "acknowledged": found.acknowledged, "repeated": found.repeated, "failures": found.failures.len(),
        "failed": found.failures.iter().take(5).collect::<Vec<_>>(),
        "silence_ms": found.longest_silence.as_millis() as u64,
        "service_returned_ms": found.recovery_time.map(|it| it.as_millis() as u64),
    }))
}

fn report_cluster_outage(kind: &DatabaseKind, turns: usize, delay: u64) -> Result<Value> {
    let (binary, delay) = (sibling_program("convengine")?, Duration::from_secs(delay));
    let seen = storm::run_cluster_outage(&binary, kind, turns, delay, &read_signals(), || println!("steady"))?;
    Ok(json!({
        "turns": seen.turns[0], "recovered": seen.recovered, "duration_ms": seen.recovery.as_millis() as u64,
        "failures": seen.failures.len(), "failed": seen.failures,
    }))
}

/// The signals that arrive as lines.
fn read_signals() -> Arc<Signals> {
    let signals = Arc::new(Signals::default());
    let restored = Arc::clone(&signals);
    std::thread::spawn(move || {
        let mut line = String::new();
        if std::io::stdin().read_line(&mut line).is_ok_and(|length| length > 0) {
            restored.restored.store(true, Ordering::Release);
        }
    });
    signals
}

/// The time, from which seeds are taken.
fn now_ms() -> Result<u64> {
    Ok(u64::try_from(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_millis())?)
}

fn to_strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|it| (*it).to_owned()).collect()
}

fn parse_until(until: &str) -> Result<Until> {
    let (unit, number) = until.split_once(':').context("expected seconds:S or conversations:N")?;
    let number: usize = number.parse()?;
    match unit {
        "seconds" => Ok(Until::Time(Duration::from_secs(number as u64))),
        "conversations" => Ok(Until::Conversations(number)),
        _ => bail!("expected seconds:S or conversations:N, not '{until}'"),
    }
}
