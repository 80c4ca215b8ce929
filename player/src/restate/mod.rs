//! Restate on loopback: a cluster of nodes and workers, and one that runs the turns of a pack.

mod cluster;
mod node;
mod removal;
mod snapshot_store;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Result;

use crate::engine_process::EngineProcess;
pub use cluster::{ClusterSettings, RestateCluster};
pub use worker::{Workers, free_address, server_command};

/// How often a worker is looked after.
const SUPERVISION_INTERVAL: Duration = Duration::from_millis(10);

/// A worker that is started again at its address when it dies, as by an operator.
struct Supervisor {
    stop: Arc<AtomicBool>,
    restarts: Arc<AtomicU32>,
    thread: Option<JoinHandle<()>>,
}

impl Supervisor {
    fn start(mut worker: EngineProcess) -> Supervisor {
        let (stop, restarts) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let (stopped, count) = (Arc::clone(&stop), Arc::clone(&restarts));
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                if (worker.has_ended() || worker.process_id().is_none()) && worker.restart().is_ok() {
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
    worker: Supervisor,
    cluster: RestateCluster,
    /// Declared last, so that it is deleted when nothing writes to it.
    _folder: TemporaryFolder,
}

/// A folder that is deleted when dropped.
struct TemporaryFolder(PathBuf);

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // Best effort: it is below the system's temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl RestateRuntime {
    /// Starts both; the worker gets the options of the server.
    ///
    /// # Errors
    /// Returns an error when one of them does not start.
    pub fn start(restate: &RestateOptions, convengine: &Path, options: &[String]) -> Result<RestateRuntime> {
        let folder = TemporaryFolder(std::env::temp_dir().join(format!("convengine-restate-{}", uuid::Uuid::new_v4())));
        std::fs::create_dir(&folder.0)?;
        let cluster = RestateCluster::start(&restate.program, &folder.0, 1)?;
        let command = worker::command(convengine, options, &free_address()?, None);
        let worker = EngineProcess::start_with_crash(command, restate.crash_at)?;
        cluster.register(worker.address())?;
        Ok(RestateRuntime { worker: Supervisor::start(worker), cluster, _folder: folder })
    }

    /// How often the worker was started again.
    pub fn restarts(&self) -> u32 {
        self.worker.restarts.load(Ordering::SeqCst)
    }

    /// The setting with which a server finds the cluster, as `KEY=VALUE`.
    pub fn ingress_setting(&self) -> String {
        self.cluster.ingress_setting()
    }
}
