//! Storms: one of three servers is killed while hundreds of turns run, the database of three stops, and a mixed load whose servers are killed
//! again and again.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use convengine_core::pack::Pack;
use convengine_host_base::pack_file;
use hyper::StatusCode;
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio::time::sleep;
use uuid::Uuid;

use super::cluster::{Cluster, ClusterClient, read_counter};
use super::database::{Database, DatabaseKind};
use super::load::find_difference;
use super::outage::Signals;
use super::pack_path;
use super::process_stats::{growth, resident_kb};
use super::stored_turns::AcknowledgedTurns;
use super::talk::Talk;

/// The number of servers.
const SERVERS: usize = 3;

/// The server that is killed while turns run.
const VICTIM: usize = 2;

/// The conversations that measure what others notice.
const BYSTANDERS: usize = 4;

/// How long bystanders are measured before the kill.
const CALM: Duration = Duration::from_secs(5);

/// How long turns are waited for.
const TIMEOUT: Duration = Duration::from_secs(180);

/// The packs of the load with kills. Their effects only read, so a turn that is finished by another server has the same answer.
const PACKS: [&str; 2] = ["demo/help_desk", "demo/model_acts"];

/// The number of turns that run.
const OPEN_TURNS: &str = "select cast(count(*) as text) from ce_turn where status = 'open'";

/// What one kill did.
#[derive(Debug, Clone, Default)]
pub struct StormReport {
    /// Turns that ran when the server was killed, and how many of them were the server's.
    pub turns: [usize; 2],
    /// Turns that the other servers took over.
    pub recovered: u64,
    /// From the kill until the last of all turns was answered.
    pub recovery: Duration,
    /// Database transactions per second, before the kill and until the end.
    pub transactions: [f64; 2],
    /// The 99th percentile of the bystanders' turns in milliseconds, before the kill and until the end.
    pub bystander_ms: [f64; 2],
    /// Turns that were lost, doubled or taken from a healthy server.
    pub failures: Vec<String>,
}

/// What a load with kills did.
#[derive(Debug, Clone, Default)]
pub struct KillsReport {
    /// The number of acknowledged turns.
    pub acknowledged: usize,
    /// The number of messages that were sent more than once.
    pub repeated: usize,
    /// The number of kills.
    pub kills: usize,
    /// The resident memory of the server that is never killed, at the start and at the end, in KB.
    pub memory_kb: [u64; 2],
    /// Its growth over the second half, in KB.
    pub growth_kb: f64,
    /// Answers that differ from the undisturbed run, and turns that are not stored exactly once.
    pub failures: Vec<String>,
}

/// A pack whose model answers the message `slow` after a delay.
fn slow_pack(delay: Duration) -> Value {
    let reply = json!({"dialogueAct": "NEW_REQUEST", "confidence": 0.8, "standaloneQuery": ""});
    let milliseconds = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
    json!({
        "name": "storm",
        "settings": {"flow": {"dialogueAct": {"resolute": "LLM_ONLY"}}},
        "tables": {
            "ce_intent": [{"intent_code": "ANYTHING", "description": "Anything"}],
            "ce_intent_classifier": [{"classifier_id": 1, "rule_type": "REGEX", "pattern": ".", "intent_code": "ANYTHING", "priority": 1}],
            "ce_response": [{"response_id": 1, "intent_code": "ANYTHING", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT", "exact_text": "Done."}],
        },
        "llm": [{"user_text": "slow", "delay_ms": milliseconds, "reply": reply}, {"reply": reply}],
        "turns": [],
    })
}

/// Runs `turns` turns on three servers and kills one of them; each turn takes at least `delay`.
///
/// # Errors
/// If a server does not start, or a turn is never answered.
pub fn run_storm(binary: &Path, kind: &DatabaseKind, turns: usize, delay: Duration) -> Result<StormReport> {
    with_slow_cluster(binary, kind, delay, async |cluster| storm(cluster, turns).await)
}

/// Runs work on three servers whose turns take at least `delay` for the message `slow`.
fn with_slow_cluster(
    binary: &Path,
    kind: &DatabaseKind,
    delay: Duration,
    work: impl AsyncFnOnce(Rc<Cluster>) -> Result<StormReport>,
) -> Result<StormReport> {
    let path = std::env::temp_dir().join(format!("convengine-storm-{}.json", Uuid::new_v4()));
    let text = slow_pack(delay).to_string();
    std::fs::write(&path, &text)?;
    let cluster = Cluster::start(binary, kind, Pack::parse(&text)?, &path, SERVERS)?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(LocalSet::new().run_until(work(Rc::clone(&cluster))));
    std::fs::remove_file(&path)?;
    report
}

async fn storm(cluster: Rc<Cluster>, turns: usize) -> Result<StormReport> {
    let mut report = StormReport::default();
    let latencies: Rc<RefCell<Vec<u64>>> = Rc::default();
    let stopped = Rc::new(Cell::new(false));
    let bystanders: Vec<JoinHandle<Result<()>>> = (0..BYSTANDERS)
        .map(|bystander| spawn_local(stand_by(Rc::clone(&cluster), bystander % VICTIM, Rc::clone(&latencies), Rc::clone(&stopped))))
        .collect();
    let sent = send_all(&cluster, turns).await?;
    let (calm, begun) = (transactions(&cluster.database)?, Instant::now());
    latencies.borrow_mut().clear();
    sleep(CALM).await;
    report.transactions[0] = (transactions(&cluster.database)? - calm) as f64 / begun.elapsed().as_secs_f64();
    report.bystander_ms[0] = percentile_ms(&latencies);
    report.turns = [turns, turns / SERVERS];
    let (killed, before) = (Instant::now(), transactions(&cluster.database)?);
    cluster.kill(VICTIM);
    check_answers(sent, &mut report).await?;
    report.recovery = killed.elapsed();
    report.transactions[1] = (transactions(&cluster.database)? - before) as f64 / killed.elapsed().as_secs_f64();
    report.bystander_ms[1] = percentile_ms(&latencies);
    stopped.set(true);
    for bystander in bystanders {
        bystander.await??;
    }
    check_stored(&cluster, VICTIM, &mut report).await?;
    Ok(report)
}

/// Runs `turns` turns on three servers, of which each takes at least `delay`; `steady` is called when all run and the database may be stopped.
/// No turn may be taken from a server that lives.
///
/// # Errors
/// If a server does not start, or a turn is never answered.
pub fn run_cluster_outage(
    binary: &Path,
    kind: &DatabaseKind,
    turns: usize,
    delay: Duration,
    signals: &Signals,
    steady: impl FnOnce(),
) -> Result<StormReport> {
    with_slow_cluster(binary, kind, delay, async |cluster: Rc<Cluster>| {
        let sent = send_all(&cluster, turns).await?;
        let begun = Instant::now();
        steady();
        wait_until(|| Ok(signals.restored.load(Ordering::Acquire)), "the database does not come back").await?;
        let mut report = StormReport { turns: [turns, 0], ..StormReport::default() };
        check_answers(sent, &mut report).await?;
        report.recovery = begun.elapsed();
        check_stored(&cluster, SERVERS, &mut report).await?;
        Ok(report)
    })
}

/// Sends slow messages and waits until their turns run.
async fn send_all(cluster: &Rc<Cluster>, turns: usize) -> Result<Vec<JoinHandle<Result<bool>>>> {
    let sent = (0..turns).map(|number| spawn_local(send_slow(Rc::clone(cluster), number % SERVERS))).collect();
    wait_until(|| Ok(count(&cluster.database, OPEN_TURNS)? >= turns), "the turns do not run").await?;
    Ok(sent)
}

async fn check_answers(sent: Vec<JoinHandle<Result<bool>>>, report: &mut StormReport) -> Result<()> {
    for turn in sent {
        if !turn.await?? {
            report.failures.push("a turn has another answer".to_owned());
        }
    }
    Ok(())
}

/// Checks that the first `servers` have taken over the turns of the others and no more, and that each turn is stored once.
async fn check_stored(cluster: &Rc<Cluster>, servers: usize, report: &mut StormReport) -> Result<()> {
    for index in 0..servers {
        report.recovered += read_counter(&cluster.address(index), "convengine_turns_recovered_total").await?;
    }
    if report.recovered != report.turns[1] as u64 {
        report.failures.push(format!("{} turns were taken over, killed servers had {}", report.recovered, report.turns[1]));
    }
    let turns = report.turns[0];
    let slow = "from ce_conversation_history where user_input = 'slow'";
    for (what, sql, expected) in [
        ("open turns", OPEN_TURNS.to_owned(), 0),
        ("turns of users", format!("select cast(count(*) as text) {slow}"), turns),
        ("conversations", format!("select cast(count(distinct conversation_id) as text) {slow}"), turns),
    ] {
        let found = count(&cluster.database, &sql)?;
        if found != expected {
            report.failures.push(format!("{found} {what}, expected {expected}"));
        }
    }
    Ok(())
}

/// Sends a message that takes long; returns whether the answer is right.
async fn send_slow(cluster: Rc<Cluster>, server: usize) -> Result<bool> {
    let body = json!({"conversationId": Uuid::new_v4().to_string(), "message": "slow"}).to_string();
    let answer = ClusterClient::new(&cluster, server).send(&body).await?;
    let answer: Value = serde_json::from_slice(&answer)?;
    Ok(answer["payload"]["value"] == "Done." && answer["success"] == true)
}

/// Talks with one of the servers that live on, and records how long each turn takes in microseconds.
async fn stand_by(cluster: Rc<Cluster>, server: usize, latencies: Rc<RefCell<Vec<u64>>>, stopped: Rc<Cell<bool>>) -> Result<()> {
    let (mut client, conversation) = (ClusterClient::new(&cluster, server), Uuid::new_v4().to_string());
    while !stopped.get() {
        let sent = Instant::now();
        client.send(&json!({"conversationId": conversation, "message": "quick"}).to_string()).await?;
        latencies.borrow_mut().push(u64::try_from(sent.elapsed().as_micros())?);
        sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Runs a mixed load on three servers per pack, and kills one of them, but never the first, after each `interval`.
///
/// # Errors
/// If a server does not start, or a message is never acknowledged.
pub fn run_kills(binary: &Path, kind: &DatabaseKind, connections: usize, time: Duration, interval: Duration) -> Result<KillsReport> {
    let mut clusters = Vec::new();
    for name in PACKS {
        let path = pack_path(name);
        let pack = pack_file::read(&path)?;
        let talk = Talk::from_pack(&pack, 0)?;
        clusters.push((Cluster::start(binary, kind, pack, &path, SERVERS)?, talk));
    }
    let load = Rc::new(KillLoad {
        clusters,
        time,
        interval,
        started: Instant::now(),
        report: RefCell::default(),
        acknowledged: AcknowledgedTurns::default(),
    });
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(LocalSet::new().run_until(async {
        let mut tasks: Vec<JoinHandle<Result<()>>> =
            (0..connections).map(|number| spawn_local(talk_until_end(Rc::clone(&load), number))).collect();
        tasks.push(spawn_local(kill_until_end(Rc::clone(&load))));
        for task in tasks {
            task.await??;
        }
        anyhow::Ok(())
    }))?;
    let mut report = load.report.take();
    report.repeated = load.clusters.iter().map(|it| it.0.repeated.get()).sum();
    for (index, (cluster, _)) in load.clusters.iter().enumerate() {
        report.failures.extend(load.acknowledged.find_lost(index, PACKS[index], &cluster.database)?);
    }
    Ok(report)
}

struct KillLoad {
    clusters: Vec<(Rc<Cluster>, Talk)>,
    time: Duration,
    interval: Duration,
    started: Instant,
    report: RefCell<KillsReport>,
    acknowledged: AcknowledgedTurns,
}

async fn talk_until_end(load: Rc<KillLoad>, number: usize) -> Result<()> {
    let pack = number % load.clusters.len();
    let (cluster, talk) = &load.clusters[pack];
    let mut client = ClusterClient::new(cluster, number % SERVERS);
    while load.started.elapsed() < load.time {
        let conversation = Uuid::new_v4().to_string();
        for (turn, exchange) in talk.turns.iter().enumerate() {
            let answer = client.send(&exchange.body(&conversation)).await?;
            load.acknowledged.add(pack, &conversation);
            let mut report = load.report.borrow_mut();
            report.acknowledged += 1;
            if let Some(difference) = find_difference(exchange, StatusCode::OK, &answer) {
                report.failures.push(format!("{} {conversation} turn {turn}: {difference}", PACKS[pack]));
            }
        }
    }
    Ok(())
}

async fn kill_until_end(load: Rc<KillLoad>) -> Result<()> {
    let mut memory: Vec<(f64, f64)> = Vec::new();
    let measured = load.clusters[0].0.process_id(0).context("the first server has ended")?;
    let downtime = load.interval / 4;
    for kill in 0_usize.. {
        sleep(load.interval - downtime).await;
        memory.push((kill as f64, resident_kb(measured)? as f64));
        if load.started.elapsed() >= load.time {
            break;
        }
        let random = Uuid::new_v4().as_u128() as usize;
        let (cluster, _) = &load.clusters[random % load.clusters.len()];
        let victim = 1 + (random >> 8) % (SERVERS - 1);
        cluster.kill(victim);
        sleep(downtime).await;
        cluster.restart(victim)?;
        load.report.borrow_mut().kills += 1;
    }
    ensure!(!memory.is_empty(), "no sample of memory");
    let mut report = load.report.borrow_mut();
    report.memory_kb = [memory[0].1 as u64, memory[memory.len() - 1].1 as u64];
    report.growth_kb = growth(&memory[memory.len() / 2..]);
    Ok(())
}

async fn wait_until(condition: impl Fn() -> Result<bool>, problem: &str) -> Result<()> {
    let begun = Instant::now();
    while !condition()? {
        ensure!(begun.elapsed() < TIMEOUT, "{problem}");
        sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// Runs a query for one number. It runs on a thread of its own, because the database blocks, which a task must not.
fn count(database: &Database, sql: &str) -> Result<usize> {
    let rows = thread::scope(|scope| scope.spawn(|| database.query(sql)).join()).map_err(|_| anyhow!("the query failed"))??;
    rows.first().and_then(|it| it.first()).context("no row")?.parse().context("no number")
}

/// The transactions of a PostgreSQL database so far.
fn transactions(database: &Database) -> Result<usize> {
    count(database, "select cast(xact_commit + xact_rollback as text) from pg_stat_database where datname = current_database()")
}

fn percentile_ms(latencies: &RefCell<Vec<u64>>) -> f64 {
    let mut all = latencies.take();
    all.sort_unstable();
    all.get(all.len() * 99 / 100).map_or(0.0, |it| *it as f64 / 1000.0)
}
