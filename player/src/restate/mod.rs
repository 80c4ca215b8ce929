//! Restate on loopback: a cluster of nodes and workers, and one that runs the turns of a pack.

mod cluster;
mod node;
mod removal;
mod snapshot_store;
mod worker;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Result;

use crate::engine_process::EngineProcess;
pub use cluster::{ClusterSettings, RestateCluster};
use convengine_host_base::print_error_line;
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
    /// A running cluster that no other pack uses at the same time, because it passes all calls to the worker that was registered last. What
    /// the pack leaves in it is deleted.
    pub cluster: Arc<RestateCluster>,
    /// The crossing of a crash point at which the worker is killed. It is started again at once.
    pub crash_at: Option<u32>,
}

/// The worker of a pack on a cluster.
pub struct RestateRuntime {
    worker: Supervisor,
    cluster: Arc<RestateCluster>,
}

impl RestateRuntime {
    /// Starts a worker with the options of the server.
    ///
    /// # Errors
    /// Returns an error when it does not start, or the cluster does not accept it.
    pub fn start(restate: &RestateOptions, convengine: &Path, options: &[String]) -> Result<RestateRuntime> {
        let command = worker::command(convengine, options, &free_address()?, None);
        let worker = EngineProcess::start_with_crash(command, restate.crash_at)?;
        restate.cluster.register(worker.address())?;
        Ok(RestateRuntime { worker: Supervisor::start(worker), cluster: Arc::clone(&restate.cluster) })
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

impl Drop for RestateRuntime {
    fn drop(&mut self) {
        // The worker still runs.
        if let Err(error) = self.cluster.clear() {
            print_error_line!("the cluster keeps what a pack left: {error:#}");
        }
    }
}
