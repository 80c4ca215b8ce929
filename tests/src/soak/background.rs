//! Users' turns beside background work: three servers of two tenants on PostgreSQL, thousands of timers that are due at once, running chains, a
//! knowledge base that is indexed, and the database of one tenant gone.

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, anyhow, bail, ensure};
use convengine_core::pack::Pack;
use convengine_host_base::{clock, pack_file};
use convengine_player::{EngineCommand, EngineProcess, import_pack};
use hyper::StatusCode;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio::time::sleep;
use uuid::Uuid;

use super::client::Client;
use super::database::{Database, DatabaseKind};
use super::pack_path;
use super::process_stats::resident_kb;

/// The number of servers.
const SERVERS: usize = 3;

/// The clients that start runs.
const STARTERS: usize = 8;

/// The users who talk, one turn after the other.
const USERS: usize = 6;

/// How long a user waits between two turns.
const PAUSE: Duration = Duration::from_millis(20);

/// The time between two looks at background work.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// How long background work is waited for.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The header of the tenant whose users talk, whose timers are due, whose chains run and whose articles are indexed.
const HEALTHY: [(&str, &str); 1] = [("X-Tenant", "a")];

/// The header of the tenant whose database is gone.
const LOST: [(&str, &str); 1] = [("X-Tenant", "b")];

/// The conversation flow with the knowledge base.
const ASSISTANT: &str = "supplier";

/// The words of an article, one chunk, and the articles of a source.
const ARTICLE_WORDS: usize = 180;
const ARTICLES: usize = 20;

/// What runs beside the users' turns, and how long they are measured without it.
#[derive(Debug, Clone, Copy)]
pub struct BackgroundLoad {
    /// Timers that are due at the same time.
    pub timers: usize,
    /// Chains that run at a time.
    pub chains: usize,
    /// Chunks of knowledge that are indexed.
    pub chunks: usize,
    /// How long it may take to start the runs whose timers are due together.
    pub start: Duration,
    /// How long users are measured before all this.
    pub calm: Duration,
}

/// What was measured, first before the background work and then beside it.
#[derive(Debug, Clone, Default)]
pub struct BackgroundReport {
    /// The users' turns.
    pub turns: [usize; 2],
    /// The median of their durations in milliseconds.
    pub p50_ms: [f64; 2],
    /// The 99th percentile of their durations in milliseconds.
    pub p99_ms: [f64; 2],
    /// The memory of the largest server in KB; at the end, its maximum.
    pub memory_kb: [u64; 2],
    /// Users' turns that were not answered with 200.
    pub refused: usize,
    /// Until all timers had fired.
    pub timers: Duration,
    /// Until the knowledge base was indexed.
    pub indexing: Duration,
    /// Chains that succeeded meanwhile.
    pub chains: usize,
    /// What was lost, doubled or refused.
    pub failures: Vec<String>,
}

/// Runs the load.
///
/// # Errors
/// If a server does not start, or background work does not end in time.
pub fn run_background(binary: &Path, kind: &DatabaseKind, load: BackgroundLoad) -> Result<BackgroundReport> {
    let cluster = Rc::new(TenantCluster::start(binary, kind)?);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    // The databases are deleted when the last clone is dropped, which must not be within the runtime.
    runtime.block_on(LocalSet::new().run_until(measure(Rc::clone(&cluster), load)))
}

async fn measure(cluster: Rc<TenantCluster>, load: BackgroundLoad) -> Result<BackgroundReport> {
    let mut report = BackgroundReport::default();
    cluster.publish(&["nap", "errand"]).await?;
    let due = start_naps(&cluster, load).await?;
    let talk = Rc::new(Talk::default());
    let users: Vec<JoinHandle<Result<()>>> =
        (0..USERS).map(|user| spawn_local(converse(Rc::clone(&cluster), Rc::clone(&talk), user))).collect();
    sleep(load.calm / 4).await;
    talk.micros.take();
    sleep(load.calm).await;
    report.memory_kb[0] = cluster.memory_kb()?;
    (report.turns[0], report.p50_ms[0], report.p99_ms[0]) = talk.take_figures();
    ensure!(SystemTime::now() < due, "the servers were too slow to let {} runs sleep", load.timers);

    cluster.stop_database(1)?;
    let indexed = spawn_local(index(Rc::clone(&cluster), load.chunks));
    let is_over = Rc::new(Cell::new(false));
    let chains: Vec<JoinHandle<Result<usize>>> =
        (0..load.chains).map(|chain| spawn_local(run_chains(Rc::clone(&cluster), Rc::clone(&is_over), chain))).collect();
    sleep(due.duration_since(SystemTime::now()).unwrap_or_default()).await;
    let begun = Instant::now();
    report.memory_kb[1] = wait_for_naps(&cluster, begun).await?;
    report.timers = begun.elapsed();
    report.indexing = indexed.await??;
    is_over.set(true);
    for chain in chains {
        report.chains += chain.await??;
    }
    report.memory_kb[1] = report.memory_kb[1].max(cluster.memory_kb()?);
    (report.turns[1], report.p50_ms[1], report.p99_ms[1]) = talk.take_figures();
    talk.is_over.set(true);
    for user in users {
        user.await??;
    }
    report.refused = talk.refused.borrow().len();
    report.failures = talk.refused.take().into_iter().take(5).collect();
    report.failures.extend(check_runs(&cluster, load.timers)?);
    report.failures.extend(cluster.check_readiness().await?);
    Ok(report)
}

/// Servers of two tenants, each with a database of its own.
struct TenantCluster {
    servers: Vec<EngineProcess>,
    pack: PathBuf,
    // Dropped after the servers.
    databases: [Database; 2],
}

impl TenantCluster {
    fn start(binary: &Path, kind: &DatabaseKind) -> Result<TenantCluster> {
        let path = std::env::temp_dir().join(format!("convengine-background-{}.json", Uuid::new_v4()));
        fs::write(&path, background_pack()?.to_string())?;
        let databases = [kind.create_database()?, kind.create_database()?];
        let runtime = Runtime::new()?;
        for database in &databases {
            import_pack(&runtime, &path, database.url())?;
        }
        let settings = [
            format!("convengine.tenants.a.database={}", databases[0].url()),
            format!("convengine.tenants.b.database={}", databases[1].url()),
            "convengine.assistants.simulator-rpm=0".to_owned(),
            "convengine.flow.dialogueAct.resolute=REGEX_ONLY".to_owned(),
        ];
        let fixed = ["serve", "--listen", "127.0.0.1:0"].map(str::to_owned);
        let arguments: Vec<String> = fixed.into_iter().chain(settings.into_iter().flat_map(|it| ["--set".to_owned(), it])).collect();
        let start = |_| EngineProcess::start(EngineCommand { program: binary.to_owned(), arguments: arguments.clone(), log: None });
        Ok(TenantCluster { servers: (0..SERVERS).map(start).collect::<Result<_>>()?, pack: path, databases })
    }

    fn client(&self, number: usize) -> Client {
        Client::new(self.servers[number % SERVERS].address())
    }

    async fn publish(&self, chains: &[&str]) -> Result<()> {
        for slug in chains {
            let path = format!("/v1/workflow-chains/{slug}/publish");
            let (status, body) = self.client(0).post(&path, "{}".to_owned(), &HEALTHY).await?;
            ensure!(status == StatusCode::CREATED, "cannot publish: {status} {}", String::from_utf8_lossy(&body));
        }
        Ok(())
    }

    /// Makes a database refuse connections, as one that has stopped does.
    fn stop_database(&self, tenant: usize) -> Result<()> {
        apart(|| self.databases[tenant].refuse_connections())
    }

    /// Whether a chain has runs with one of these statuses.
    async fn has_runs(&self, slug: &str, statuses: &str) -> Result<bool> {
        let found = self.get(&format!("/v1/workflow-chains/{slug}/runs?limit=1&status={statuses}")).await?;
        Ok(!found["runs"].as_array().context("no list of runs")?.is_empty())
    }

    /// The resident memory of the largest server.
    fn memory_kb(&self) -> Result<u64> {
        let each = self.servers.iter().map(|server| resident_kb(server.process_id().context("a server has ended")?));
        Ok(each.collect::<Result<Vec<u64>>>()?.into_iter().max().unwrap_or_default())
    }

    async fn get(&self, path: &str) -> Result<Value> {
        read(&mut self.client(0), path).await
    }

    /// Every server stays ready without the tenant whose database is gone, names it here, and refuses its users for a time.
    async fn check_readiness(&self) -> Result<Vec<String>> {
        let mut failures = Vec::new();
        for number in 0..SERVERS {
            let (status, body) = self.client(number).get("/readyz").await?;
            let seen: Value = serde_json::from_slice(&body)?;
            if status != StatusCode::OK || seen["status"] != "DEGRADED" || seen["problems"][0]["tenant"] != "b" {
                failures.push(format!("readiness of server {number}: {status} {seen}"));
            }
            let body = json!({"conversationId": Uuid::new_v4().to_string(), "message": "hello"}).to_string();
            let (status, _) = self.client(number).send_message(body, &LOST).await?;
            if status != StatusCode::SERVICE_UNAVAILABLE {
                failures.push(format!("a user of the lost tenant got {status} from server {number}"));
            }
        }
        Ok(failures)
    }
}

impl Drop for TenantCluster {
    fn drop(&mut self) {
        // Best effort: the file is temporary.
        let _ = fs::remove_file(&self.pack);
    }
}

async fn read(client: &mut Client, path: &str) -> Result<Value> {
    let (status, body) = client.get_with(path, &HEALTHY).await?;
    ensure!(status == StatusCode::OK, "{path}: {status} {}", String::from_utf8_lossy(&body));
    Ok(serde_json::from_slice(&body)?)
}

/// The tables of a conversation, an assistant, a chain that sleeps until a time, and one that works for about a second.
fn background_pack() -> Result<Value> {
    let tables = Pack::parse(&pack_file::read_text(&pack_path("bench/plain"))?)?;
    let assistant: Value = serde_json::from_str(&pack_file::read_text(&pack_path("bench/flow"))?)?;
    let mut documents = assistant["documents"].as_array().cloned().context("no documents")?;
    let chain = |slug: &str, steps: Value| json!({"schema_version": "1.0", "doc": "workflow_chain", "slug": slug, "name": slug, "trigger": {"kind": "manual"}, "steps": steps});
    let note = |id: &str| json!({"id": id, "kind": "notify", "label": "Note", "config": {"channel": "log", "text": "Done."}});
    let wait = |id: &str, config: Value| json!({"id": id, "kind": "schedule", "label": "Wait", "config": config});
    documents.push(chain("nap", json!([wait("sleep", json!({"at": "{{ trigger.body.until }}"})), note("note")])));
    let work = (0..5).flat_map(|number| [note(&format!("note{number}")), wait(&format!("wait{number}"), json!({"after_ms": 200}))]);
    documents.push(chain("errand", json!(work.collect::<Vec<_>>())));
    Ok(json!({"name": "background", "tables": tables.tables, "documents": documents, "turns": []}))
}

/// Starts the runs whose timers are due at one time, and returns it: when all sleep and users were measured.
async fn start_naps(cluster: &Rc<TenantCluster>, load: BackgroundLoad) -> Result<SystemTime> {
    let due = SystemTime::now() + load.start + load.calm * 2;
    let until = clock::format_iso(i64::try_from(due.duration_since(SystemTime::UNIX_EPOCH)?.as_millis())?);
    let next = Rc::new(Cell::new(0));
    let starters: Vec<JoinHandle<Result<()>>> = (0..STARTERS)
        .map(|number| {
            let (cluster, next, until) = (Rc::clone(cluster), Rc::clone(&next), until.clone());
            spawn_local(async move {
                let mut client = cluster.client(number);
                while next.replace(next.get() + 1) < load.timers {
                    start_run(&mut client, "nap", &json!({"until": until})).await?;
                }
                Ok(())
            })
        })
        .collect();
    for starter in starters {
        starter.await??;
    }
    while cluster.has_runs("nap", "queued,running").await? {
        ensure!(SystemTime::now() < due, "the servers were too slow to let {} runs sleep", load.timers);
        sleep(POLL_INTERVAL).await;
    }
    Ok(due)
}

/// Starts a run and returns its id.
async fn start_run(client: &mut Client, slug: &str, input: &Value) -> Result<String> {
    let path = format!("/v1/workflow-chains/{slug}/run");
    let (status, body) = client.post(&path, json!({"input": input}).to_string(), &HEALTHY).await?;
    ensure!(status == StatusCode::ACCEPTED, "a run was not started: {status} {}", String::from_utf8_lossy(&body));
    let started: Value = serde_json::from_slice(&body)?;
    Ok(started["run_id"].as_str().context("a run has no id")?.to_owned())
}

/// Waits until all runs have woken up; returns the most memory that a server had.
async fn wait_for_naps(cluster: &TenantCluster, begun: Instant) -> Result<u64> {
    let mut memory = cluster.memory_kb()?;
    while cluster.has_runs("nap", "queued,running,sleeping").await? {
        ensure!(begun.elapsed() < TIMEOUT, "runs did not wake up");
        sleep(POLL_INTERVAL).await;
        memory = memory.max(cluster.memory_kb()?);
    }
    Ok(memory)
}

/// Starts a chain again and again, once it has ended; returns how many have succeeded.
async fn run_chains(cluster: Rc<TenantCluster>, is_over: Rc<Cell<bool>>, number: usize) -> Result<usize> {
    let (mut client, mut succeeded) = (cluster.client(number), 0);
    // They began at different times, as those of real users have.
    sleep(Duration::from_millis(u64::try_from(number * 37 % 1000)?)).await;
    while !is_over.get() {
        let path = format!("/v1/workflow-chains/errand/runs/{}", start_run(&mut client, "errand", &json!({})).await?);
        let begun = Instant::now();
        loop {
            let run = read(&mut client, &path).await?;
            match run["status"].as_str() {
                Some("queued" | "running" | "sleeping") => {
                    ensure!(begun.elapsed() < TIMEOUT, "a chain does not end: {run}");
                    sleep(Duration::from_secs(1)).await;
                }
                Some("succeeded") => break succeeded += 1,
                _ => bail!("a chain failed: {run}"),
            }
        }
    }
    Ok(succeeded)
}

/// Stores articles until there are this many chunks, each source when the one before it is searchable; returns how long it takes.
async fn index(cluster: Rc<TenantCluster>, chunks: usize) -> Result<Duration> {
    let (mut client, begun) = (cluster.client(0), Instant::now());
    for source in 0..chunks.div_ceil(ARTICLES) {
        let words = |article: usize| (0..ARTICLE_WORDS).map(move |word| format!("w{}", (word * 7 + article * 31 + source * 17) % 20_000));
        let article = |number: usize| format!("# Article {number}\n\n{}", words(number).collect::<Vec<_>>().join(" "));
        let text = (0..ARTICLES).map(article).collect::<Vec<_>>().join("\n\n");
        let id = format!("source-{source}");
        let body = json!({"id": id, "title": "Articles", "text": text, "format": "markdown"}).to_string();
        let path = format!("/v1/agents/{ASSISTANT}/knowledge");
        let (status, answer) = client.post(&path, body, &HEALTHY).await?;
        ensure!(status.is_success(), "an article was not stored: {status} {}", String::from_utf8_lossy(&answer));
        while read(&mut client, &format!("{path}/{id}")).await?["status"] != "ready" {
            ensure!(begun.elapsed() < TIMEOUT, "an article is not searchable");
            sleep(POLL_INTERVAL).await;
        }
    }
    Ok(begun.elapsed())
}

/// The users' turns so far.
#[derive(Default)]
struct Talk {
    /// Their durations, in microseconds.
    micros: RefCell<Vec<u64>>,
    /// What was answered instead of a reply.
    refused: RefCell<Vec<String>>,
    is_over: Cell<bool>,
}

impl Talk {
    /// Returns number, median and 99th percentile in milliseconds of the turns since the last call.
    fn take_figures(&self) -> (usize, f64, f64) {
        let mut micros = self.micros.take();
        micros.sort_unstable();
        let at = |part: usize| micros.get(micros.len() * part / 100).map_or(0.0, |duration| *duration as f64 / 1000.0);
        (micros.len(), at(50), at(99))
    }
}

/// Converses with one server until the end, a few turns in each conversation.
async fn converse(cluster: Rc<TenantCluster>, talk: Rc<Talk>, number: usize) -> Result<()> {
    let mut client = cluster.client(number);
    while !talk.is_over.get() {
        let conversation = Uuid::new_v4().to_string();
        for message in ["hello there, is my bill ready?", "hello there, is my bill ready?", "hello there, is my bill ready?"] {
            let (body, sent) = (json!({"conversationId": conversation, "message": message}).to_string(), Instant::now());
            let (status, answer) = client.send_message(body, &HEALTHY).await?;
            talk.micros.borrow_mut().push(u64::try_from(sent.elapsed().as_micros())?);
            let reply: Value = serde_json::from_slice(&answer).unwrap_or_default();
            if status != StatusCode::OK || reply["success"] != true {
                talk.refused.borrow_mut().push(format!("{status}: {reply}"));
            }
            sleep(PAUSE).await;
        }
    }
    Ok(())
}

/// All runs that slept have succeeded, each once.
fn check_runs(cluster: &TenantCluster, expected: usize) -> Result<Vec<String>> {
    let sql = "select status, cast(count(*) as text), cast(count(distinct run_id) as text) from cs_run where chain = 'nap' group by status";
    let found = apart(|| cluster.databases[0].query(sql))?;
    let number = expected.to_string();
    let is_expected = found == [["succeeded".to_owned(), number.clone(), number]];
    Ok(if is_expected { Vec::new() } else { vec![format!("{expected} runs slept, now there are {found:?}")] })
}

/// Runs what blocks on a thread of its own, which a task must not do.
fn apart<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| scope.spawn(work).join()).map_err(|_| anyhow!("a database could not be used"))?
}
