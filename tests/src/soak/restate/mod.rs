//! A Restate cluster under load whose processes are killed at random, and which gets and loses a node: nothing is lost, nothing that must not
//! be repeated is, and each call of which nobody knows whether it was made is named.

mod chaos;
mod load;
mod tenant;
mod verdict;

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};
use convengine_player::restate::{RestateCluster, Workers};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{LocalSet, spawn_local};
use uuid::Uuid;

use super::database::DatabaseKind;
use chaos::{Chaos, ChaosReport};
use load::Load;
use tenant::{PACKS, Tenant};

/// The number of nodes at the start, of workers and of servers.
const PROCESSES: usize = 3;

/// How a cluster is treated.
#[derive(Debug, Clone)]
pub struct RestateSoak<'s> {
    /// The program of the engine.
    pub convengine: &'s Path,
    /// The program of the Restate server.
    pub restate: &'s Path,
    /// The PostgreSQL server.
    pub database: &'s DatabaseKind,
    /// The number of conversations at the same time.
    pub connections: usize,
    /// How long processes are killed.
    pub time: Duration,
    /// The time between two kills.
    pub interval: Duration,
    /// What the victims depend on.
    pub seed: u64,
}

/// What a cluster did.
#[derive(Debug, Clone, Default)]
pub struct RestateReport {
    /// Messages that were acknowledged.
    pub acknowledged: usize,
    /// The conversations.
    pub conversations: usize,
    /// Messages that were sent more than once.
    pub repeated: usize,
    /// From the first time a message was sent until it was acknowledged, at most.
    pub longest_wait: Duration,
    /// From the start of a run of a chain until it had succeeded, at most.
    pub longest_run: Duration,
    /// Killed processes, and how long the change of nodes took.
    pub chaos: ChaosReport,
    /// Calls of which nobody knows whether they were made, by their answers.
    pub in_doubt: usize,
    /// How many of them were made.
    pub in_doubt_made: usize,
    /// Calls with side effects, and how many of them repeat an idempotent one.
    pub calls: [usize; 2],
    /// The folder with the logs of all processes, if something is wrong.
    pub logs: Option<PathBuf>,
    /// Messages, turns and calls that are not as they should be.
    pub failures: Vec<String>,
}

/// Runs a load on a cluster whose processes are killed.
///
/// # Errors
/// If a process does not start, or a message is never acknowledged.
pub fn run(soak: &RestateSoak<'_>) -> Result<RestateReport> {
    let folder = std::env::temp_dir().join(format!("convengine-restate-soak-{}", Uuid::new_v4()));
    std::fs::create_dir(&folder)?;
    let services = Runtime::new()?;
    let tenants: Vec<Tenant> = PACKS.iter().map(|it| Tenant::new(it, soak, &folder, &services)).collect::<Result<_>>()?;
    let options = tenant::options(&tenants);
    let cluster = RestateCluster::start(soak.restate, &folder, PROCESSES)?;
    let workers = Workers::start(soak.convengine, &options, PROCESSES, Some(&folder))?;
    cluster.register(workers.address())?;
    let mut chaos = Chaos::start(soak, cluster, workers, options)?;
    let load = Rc::new(Load::new(tenants, chaos.server_addresses()));
    let stop = Arc::clone(&load.stop);
    let (chaos_report, talked) = thread::scope(|scope| {
        let treated = scope.spawn(|| {
            let treated = chaos.run(soak.time, soak.interval);
            stop.store(true, Ordering::Release);
            treated
        });
        let talked = talk(&load, soak.connections);
        // If the load has failed, the rest of the time shows nothing.
        stop_early(&load.stop, talked.is_err());
        (treated.join(), talked)
    });
    talked?;
    let chaos_report = chaos_report.map_err(|_| anyhow!("the killing of processes panicked"))??;
    let mut report = load.report();
    report.chaos = chaos_report;
    verdict::add(&mut report, &load, soak.convengine)?;
    drop(chaos);
    if report.failures.is_empty() {
        std::fs::remove_dir_all(&folder)?;
    } else {
        report.logs = Some(folder);
    }
    Ok(report)
}

fn stop_early(stop: &AtomicBool, has_failed: bool) {
    if has_failed {
        stop.store(true, Ordering::Release);
    }
}

/// Runs conversations at the same time until the load is stopped.
fn talk(load: &Rc<Load>, connections: usize) -> Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(LocalSet::new().run_until(async {
        load.publish_chains().await?;
        let tasks: Vec<_> = (0..connections).map(|connection| spawn_local(Rc::clone(load).talk_until_stopped(connection))).collect();
        for task in tasks {
            task.await??;
        }
        Ok(())
    }))
}
