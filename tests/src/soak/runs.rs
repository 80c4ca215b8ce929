//! Runs of chains under load: how many a server finishes in a minute, and what thousands that sleep cost it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use convengine_host_base::tls::client_for;
use convengine_host_base::{clock, pack_file};
use convengine_player::{PackServer, ServerOptions};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::database::{Database, DatabaseKind};
use super::pack_path;
use super::process_stats::{cpu_us, resident_kb};

/// The pack with the chains.
const PACK: &str = "chain/errands";

/// How long runs are waited for.
const TIMEOUT: Duration = Duration::from_secs(600);

/// How many runs are started, and how long they sleep.
#[derive(Debug, Clone, Copy)]
pub struct RunLoad {
    /// Runs with five steps that are started together.
    pub runs: usize,
    /// Runs that sleep.
    pub sleepers: usize,
    /// The number of clients.
    pub connections: usize,
    /// The time between the start of the last sleeping run and the first wake-up.
    pub sleep: Duration,
    /// The time within which they wake up, one after the other.
    pub spread: Duration,
    /// How long the processor time of a server with sleeping runs is measured.
    pub idle: Duration,
}

impl RunLoad {
    /// Creates a load whose runs sleep long enough for a measurement.
    pub fn new(runs: usize, sleepers: usize, connections: usize) -> RunLoad {
        let [sleep, spread, idle] = [20, 30, 10].map(Duration::from_secs);
        RunLoad { runs, sleepers, connections, sleep, spread, idle }
    }
}

/// What was measured.
#[derive(Debug, Clone, Default)]
pub struct RunReport {
    /// Runs with five steps that were started together.
    pub runs: usize,
    /// How many of them were finished in a minute.
    pub per_minute: u64,
    /// The processor time of the server for one of them, in microseconds.
    pub cpu_us: u64,
    /// The duration of a run from start to end in milliseconds: median, and the 99th percentile.
    pub duration_ms: [u64; 2],
    /// Runs that slept.
    pub sleepers: usize,
    /// The memory of the server without and with them, in KB.
    pub memory_kb: [u64; 2],
    /// The share of one processor that the server took while all slept, in percent.
    pub idle_percent: f64,
    /// How late they woke up in milliseconds: median, the 99th percentile and the longest.
    pub lag_ms: [u64; 3],
    /// Runs that did not succeed, and calls that were missing or made twice.
    pub failures: Vec<String>,
}

/// A server with both chains.
struct RunServer {
    server: PackServer,
    runtime: Runtime,
    // Dropped after the server.
    _database: Database,
}

/// Starts runs over several connections and waits for their end, then lets others sleep.
///
/// # Errors
/// If a server does not start, or the runs do not end in time.
pub fn measure_runs(binary: &Path, kind: &DatabaseKind, load: &RunLoad) -> Result<RunReport> {
    let RunLoad { runs, sleepers, connections, sleep, spread, idle } = *load;
    let served = RunServer::start(binary, kind)?;
    let process = served.server.process_id();
    let mut report = RunReport { runs, sleepers, ..RunReport::default() };

    let (begin, cpu) = (Instant::now(), cpu_us(process)?);
    served.start_runs("errand", runs, connections, |number| json!({"number": number}))?;
    served.wait_for_end("errand")?;
    let taken = begin.elapsed();
    report.per_minute = (runs as f64 * 60.0 / taken.as_secs_f64()) as u64;
    report.cpu_us = (cpu_us(process)? - cpu) / runs.max(1) as u64;
    let ended = served.list_ended("errand")?;
    report.failures = find_failures(&ended, runs);
    report.duration_ms = [50, 99].map(|percent| percentile(ended.iter().filter_map(|run| run["duration_ms"].as_u64()), percent));

    report.memory_kb[0] = resident_kb(process)?;
    // All of them have to sleep before the first one wakes up.
    let needed = Duration::from_secs_f64(taken.as_secs_f64() / runs.max(1) as f64 * sleepers as f64 * 1.5);
    let wake = SystemTime::now() + needed + sleep;
    let until = i64::try_from(wake.duration_since(SystemTime::UNIX_EPOCH)?.as_millis())?;
    let spread_ms = usize::try_from(spread.as_millis())?;
    served.start_runs(
        "nap",
        sleepers,
        connections,
        move |number| json!({"until": clock::format_iso(until + i64::try_from(number * spread_ms / sleepers.max(1)).unwrap_or_default())}),
    )?;
    served.wait_until_all_sleep()?;
    report.memory_kb[1] = resident_kb(process)?;
    ensure!(SystemTime::now() + idle < wake, "the server was too slow to let {sleepers} runs sleep");
    let cpu = cpu_us(process)?;
    std::thread::sleep(idle);
    report.idle_percent = (cpu_us(process)? - cpu) as f64 / idle.as_micros() as f64 * 100.0;
    std::thread::sleep((wake + spread).duration_since(SystemTime::now()).unwrap_or_default());
    served.wait_for_end("nap")?;
    let ended = served.list_ended("nap")?;
    report.failures.extend(find_failures(&ended, sleepers));
    let lags: Vec<u64> = ended.iter().filter_map(lag_ms).collect();
    report.lag_ms = [50, 99, 100].map(|percent| percentile(lags.iter().copied(), percent));
    Ok(report)
}

impl RunServer {
    fn start(binary: &Path, kind: &DatabaseKind) -> Result<RunServer> {
        let path = pack_path(PACK);
        let pack = pack_file::read(&path)?;
        let database = kind.create_database()?;
        let settings = ["convengine.assistants.timers=true", "convengine.assistants.simulator-rpm=0"].map(str::to_owned).to_vec();
        let program = Some(binary.to_owned());
        let options = ServerOptions { database: Some(database.url().to_owned()), settings, program, ..ServerOptions::default() };
        let server = PackServer::start(&pack, &path, &options)?;
        let served = RunServer { server, runtime: Runtime::new()?, _database: database };
        for slug in ["errand", "nap"] {
            let (status, body) = served.call("POST", &format!("/v1/workflow-chains/{slug}/publish"), &json!({}))?;
            ensure!(status == 201, "cannot publish: {status} {body}");
        }
        Ok(served)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Result<(u16, Value)> {
        let call = client_for("http:").build()?.request(method.parse()?, format!("{}{path}", self.server.address()));
        let call = if body.is_null() { call } else { call.header("Content-Type", "application/json").body(body.to_string()) };
        self.runtime.block_on(async {
            let response = call.send().await?;
            let status = response.status().as_u16();
            Ok((status, serde_json::from_str(&response.text().await?)?))
        })
    }

    fn start_runs(
        &self,
        slug: &str,
        count: usize,
        connections: usize,
        input: impl Fn(usize) -> Value + Copy + Send + 'static,
    ) -> Result<()> {
        let (next, path) = (Arc::new(AtomicUsize::new(0)), format!("{}/v1/workflow-chains/{slug}/run", self.server.address()));
        self.runtime.block_on(async {
            let client = client_for("http:").build()?;
            let mut tasks = JoinSet::new();
            for _ in 0..connections {
                let (client, next, path) = (client.clone(), Arc::clone(&next), path.clone());
                tasks.spawn(async move {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= count {
                            return Ok::<_, anyhow::Error>(());
                        }
                        let body = json!({"input": input(number)}).to_string();
                        let sent = client.post(&path).header("Content-Type", "application/json").body(body).send().await?;
                        ensure!(sent.status().as_u16() == 202, "a run was not started: {}", sent.text().await?);
                    }
                });
            }
            while let Some(ended) = tasks.join_next().await {
                ended??;
            }
            Ok(())
        })
    }

    /// Waits until no run of a chain is under way.
    fn wait_for_end(&self, slug: &str) -> Result<()> {
        self.wait_until_none(slug, "queued,running,sleeping,awaiting_event,awaiting_human")
    }

    fn wait_until_all_sleep(&self) -> Result<()> {
        self.wait_until_none("nap", "queued,running")
    }

    fn wait_until_none(&self, slug: &str, statuses: &str) -> Result<()> {
        let until = Instant::now() + TIMEOUT;
        loop {
            let (_, found) = self.call("GET", &format!("/v1/workflow-chains/{slug}/runs?limit=1&status={statuses}"), &Value::Null)?;
            if found["runs"].as_array().context("no list of runs")?.is_empty() {
                return Ok(());
            }
            ensure!(Instant::now() < until, "runs did not end: {found}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// All runs of a chain, without their traces.
    fn list_ended(&self, slug: &str) -> Result<Vec<Value>> {
        let (mut all, mut cursor) = (Vec::new(), String::new());
        loop {
            let (_, mut page) = self.call("GET", &format!("/v1/workflow-chains/{slug}/runs?limit=200{cursor}"), &Value::Null)?;
            all.extend(page["runs"].as_array_mut().map(std::mem::take).unwrap_or_default());
            let Some(next) = page["next"].as_str() else { return Ok(all) };
            cursor = format!("&cursor={next}");
        }
    }
}

/// Describes runs that did not succeed, or that are missing.
fn find_failures(ended: &[Value], expected: usize) -> Vec<String> {
    let ids: BTreeSet<&str> = ended.iter().filter_map(|it| it["id"].as_str()).collect();
    let mut failures: Vec<String> = ended.iter().filter(|it| it["status"] != "succeeded").map(Value::to_string).take(5).collect();
    if ids.len() != expected || ended.len() != expected {
        failures.push(format!("{} runs are listed, {} of them different, instead of {expected}", ended.len(), ids.len()));
    }
    failures
}

/// How late a run woke up: from the time it slept until to its end, as the step behind takes no time.
fn lag_ms(run: &Value) -> Option<u64> {
    let until = clock::parse(run.pointer("/trigger/body/until")?.as_str()?)?;
    u64::try_from(clock::parse(run["ended_at"].as_str()?)? - until).ok()
}

fn percentile(values: impl Iterator<Item = u64>, percent: usize) -> u64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    let last = values.len().saturating_sub(1);
    values.get(last * percent / 100).copied().unwrap_or_default()
}
