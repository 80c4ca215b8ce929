//! Workers that share one address, over which the system spreads the connections.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::engine_process::{EngineCommand, EngineProcess, free_ports};

/// Workers of one version, at one address.
#[derive(Debug)]
pub struct Workers {
    workers: Vec<EngineProcess>,
    address: String,
}

impl Workers {
    /// Starts `count` workers with the options of a server. Each logs to a file of a folder, if one is given.
    ///
    /// # Errors
    /// Returns an error when one of them does not start.
    pub fn start(convengine: &Path, options: &[String], count: usize, logs: Option<&Path>) -> Result<Workers> {
        let listen = free_address()?;
        let log = |number: usize| logs.map(|folder| folder.join(format!("worker-{number}.log")));
        let start = |number| EngineProcess::start(command(convengine, options, &listen, log(number)));
        Ok(Workers { workers: (1..=count).map(start).collect::<Result<_>>()?, address: format!("http://{listen}") })
    }

    /// The URL at which a cluster calls them.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The process id of each worker, unless it was killed.
    pub fn process_ids(&self) -> Vec<Option<u32>> {
        self.workers.iter().map(EngineProcess::process_id).collect()
    }

    /// Kills a worker, as `kill -9` does.
    pub fn kill(&mut self, index: usize) {
        if let Some(worker) = self.workers.get_mut(index) {
            worker.kill();
        }
    }

    /// Starts a worker again.
    ///
    /// # Errors
    /// Returns an error when there is no such worker, or it does not start.
    pub fn restart(&mut self, index: usize) -> Result<()> {
        self.workers.get_mut(index).context("no such worker")?.restart()
    }
}

/// Returns a free address of loopback.
///
/// # Errors
/// Returns an error when there is none.
pub fn free_address() -> Result<String> {
    Ok(format!("127.0.0.1:{}", free_ports(1)?.first().context("no free port")?))
}

/// Returns how a worker is started.
pub(super) fn command(convengine: &Path, options: &[String], listen: &str, log: Option<PathBuf>) -> EngineCommand {
    let fixed = ["worker".to_owned(), "--set".to_owned(), format!("convengine.restate.listen={listen}")];
    EngineCommand { program: convengine.to_owned(), arguments: fixed.into_iter().chain(options.iter().cloned()).collect(), log }
}

/// Returns how a server is started that passes messages to a cluster; `ingress` is the [setting](super::RestateCluster::ingress_setting) of that.
pub fn server_command(convengine: &Path, options: &[String], listen: &str, ingress: &str, log: Option<PathBuf>) -> EngineCommand {
    let fixed = ["serve", "--runtime", "restate", "--listen", listen, "--set", ingress].map(str::to_owned);
    EngineCommand { program: convengine.to_owned(), arguments: fixed.into_iter().chain(options.iter().cloned()).collect(), log }
}
