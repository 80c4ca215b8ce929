//! A Restate server and a worker of one pack, as processes on loopback.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use tokio::runtime::Runtime;

/// How long the server may take until it accepts calls.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// How often a worker is looked after.
const SUPERVISION_INTERVAL: Duration = Duration::from_millis(10);

/// A running Restate server. Dropping it kills the process.
pub struct RestateServer {
    process: Child,
    ingress: String,
    admin: String,
}

impl RestateServer {
    /// Starts a server whose data are in a folder.
    ///
    /// # Errors
    /// Returns an error when the process cannot be started.
    pub fn start(binary: &Path, folder: &Path) -> Result<RestateServer> {
        let [fabric, ingress, admin] = free_ports()?;
        let file = folder.join("restate.toml");
        std::fs::write(&file, configuration(folder, fabric, ingress, admin))?;
        let log = std::fs::File::create(folder.join("restate.log"))?;
        let mut command = Command::new(binary);
        command.arg("--no-logo").arg("--config-file").arg(&file).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let process = command.spawn().with_context(|| format!("cannot start {}", binary.display()))?;
        Ok(RestateServer { process, ingress: format!("http://127.0.0.1:{ingress}"), admin: format!("http://127.0.0.1:{admin}") })
    }

    /// The base URL for calls.
    pub fn ingress(&self) -> &str {
        &self.ingress
    }

    /// Registers a worker by its URL, and waits until it can be called.
    ///
    /// # Errors
    /// Returns an error when the server does not accept it in time.
    pub fn register(&self, runtime: &Runtime, worker: &str) -> Result<()> {
        let client = convengine_host::effects::tls::client_for("http:").no_proxy().build()?;
        let deployments = format!("{}/v3/deployments", self.admin);
        let body = json!({"uri": worker, "force": false});
        wait(runtime, "register the worker", || client.post(&deployments).json(&body))?;
        // The server listens before it can run anything.
        let probe = format!("{}/Conversation/probe/forget", self.ingress);
        wait(runtime, "call the worker", || client.post(&probe))
    }
}

impl Drop for RestateServer {
    fn drop(&mut self) {
        // Best effort: the process is ours.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sends a request until it succeeds.
fn wait(runtime: &Runtime, what: &str, request: impl Fn() -> reqwest::RequestBuilder) -> Result<()> {
    let end = Instant::now() + START_TIMEOUT;
    loop {
        let answer = runtime.block_on(async { request().timeout(START_TIMEOUT).send().await });
        let reason = match answer {
            Ok(answer) if answer.status().is_success() => return Ok(()),
            Ok(answer) => runtime.block_on(answer.text()).unwrap_or_default(),
            Err(error) => error.to_string(),
        };
        if Instant::now() > end {
            bail!("cannot {what}: {reason}");
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn free_ports<const N: usize>() -> Result<[u16; N]> {
    // Bound at once, so that they differ.
    let listeners = (0..N).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<std::io::Result<Vec<_>>>()?;
    let ports = listeners.iter().map(|it| Ok(it.local_addr()?.port())).collect::<Result<Vec<_>>>()?;
    ports.try_into().ok().context("no free ports")
}

fn configuration(folder: &Path, fabric: u16, ingress: u16, admin: u16) -> String {
    format!(
        "node-name = \"node-1\"\ncluster-name = \"packs\"\nbase-dir = \"{}\"\nlisten-mode = \"tcp\"\n\
         bind-address = \"127.0.0.1:{fabric}\"\nadvertised-address = \"http://127.0.0.1:{fabric}/\"\n\
         auto-provision = true\ndefault-num-partitions = 1\ndisable-telemetry = true\nlog-filter = \"warn\"\n\
         log-disable-ansi-codes = true\nrocksdb-total-memory-size = \"128MiB\"\n\
         [ingress]\nbind-address = \"127.0.0.1:{ingress}\"\n[admin]\nbind-address = \"127.0.0.1:{admin}\"\ndisable-web-ui = true\n\
         [bifrost]\nrecord-cache-memory-size = \"16MiB\"\n",
        folder.join("restate").display()
    )
}

/// A running worker. Dropping it kills the process.
pub struct Worker {
    process: Child,
    address: String,
}

impl Worker {
    /// Starts a worker with the options of a server. With `crash_at` it is killed at that crossing of a crash point.
    ///
    /// # Errors
    /// Returns an error when it does not start.
    pub fn start(binary: &Path, options: &[String], listen: &str, crash_at: Option<u32>) -> Result<Worker> {
        let mut command = Command::new(binary);
        command.args(["worker", "--set"]).arg(format!("convengine.restate.listen={listen}")).args(options);
        if let Some(crossing) = crash_at {
            command.env("CONVENGINE_CRASH_AT", crossing.to_string());
        }
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().context("cannot start the worker")?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("the worker has no standard output")?).read_line(&mut line)?;
        let address = line.trim().strip_prefix("convengine worker listening on ").map(str::to_owned);
        let worker = Worker { process, address: address.unwrap_or_default() };
        ensure!(!worker.address.is_empty(), "the worker did not start: '{}'", line.trim());
        Ok(worker)
    }

    /// The base URL.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Best effort: the process is ours.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A worker that is started again at its address when it dies, as by an operator.
struct Supervisor {
    stop: Arc<AtomicBool>,
    restarts: Arc<AtomicU32>,
    thread: Option<JoinHandle<()>>,
}

impl Supervisor {
    fn start(mut worker: Worker, binary: PathBuf, options: Vec<String>) -> Supervisor {
        let (stop, restarts) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let (stopped, count) = (Arc::clone(&stop), Arc::clone(&restarts));
        let listen = worker.address().trim_start_matches("http://").to_owned();
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                if worker.process.try_wait().is_ok_and(|it| it.is_some())
                    && let Ok(next) = Worker::start(&binary, &options, &listen, None)
                {
                    worker = next;
                    count.fetch_add(1, Ordering::SeqCst);
                }
                thread::sleep(SUPERVISION_INTERVAL);
            }
        });
        Supervisor { stop, restarts, thread: Some(thread) }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // It ends with its worker.
            let _ = thread.join();
        }
    }
}

/// What runs the turns of a pack.
#[derive(Debug, Clone)]
pub struct RestateOptions {
    /// The program of the Restate server.
    pub program: PathBuf,
    /// The crossing of a crash point at which the worker is killed. It is started again at once.
    pub crash_at: Option<u32>,
}

/// The Restate server and the worker of a pack, which end together.
pub struct RestateRuntime {
    server: RestateServer,
    worker: Supervisor,
    folder: PathBuf,
}

impl RestateRuntime {
    /// Starts both.
    ///
    /// # Errors
    /// Returns an error when one of them does not start.
    pub fn start(runtime: &Runtime, restate: &RestateOptions, convengine: &Path, options: &[String]) -> Result<RestateRuntime> {
        let folder = std::env::temp_dir().join(format!("convengine-restate-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&folder)?;
        let server = RestateServer::start(&restate.program, &folder)?;
        let worker = Worker::start(convengine, options, "127.0.0.1:0", restate.crash_at)?;
        server.register(runtime, worker.address())?;
        let worker = Supervisor::start(worker, convengine.to_owned(), options.to_vec());
        Ok(RestateRuntime { server, worker, folder })
    }

    /// How often the worker was started again.
    pub fn restarts(&self) -> u32 {
        self.worker.restarts.load(Ordering::SeqCst)
    }

    /// The base URL for calls.
    pub fn ingress(&self) -> &str {
        self.server.ingress()
    }
}

impl Drop for RestateRuntime {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
