//! Removes a node from a running cluster, as docs.restate.dev describes it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::cluster::{RestateCluster, TIMEOUT};
use super::node::Node;

/// How often the cluster is asked whether a node may leave.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

impl RestateCluster {
    /// Removes a node while the cluster runs, and waits until the others do without it. It cannot return. The cluster takes snapshots, because
    /// logs that name the node are trimmed, and others then start from a snapshot.
    ///
    /// # Errors
    /// Returns an error when the node does not leave in time.
    pub fn remove_node(&mut self, index: usize) -> Result<()> {
        let name = self.node(index)?.name().to_owned();
        let id = self.find_id(&name)?;
        // It gets no new logs and no new partitions, and no vote.
        self.control(&["nodes", "set-storage-state", "--nodes", &id, "--storage-state", "read-only"])?;
        self.control(&["nodes", "set-worker-state", "--nodes", &id, "--worker-state", "draining"])?;
        self.control(&["metadata-server", "remove-node", &id])?;
        self.wait_until(&format!("move the partitions of {name}"), |it| it.is_drained(&id))?;
        let node = self.node_mut(index)?;
        node.kill();
        node.is_removed = true;
        // Refused as long as a log names the node.
        self.wait_until(&format!("remove {name}"), |member| {
            member.control(&["snapshots", "create-snapshot", "--trim-log"])?;
            member.control(&["nodes", "remove", "--nodes", &id]).map(drop)
        })
    }

    /// Returns the id that the cluster gave to a node.
    fn find_id(&self, name: &str) -> Result<String> {
        let rows = self.query(&format!("select plain_node_id from nodes where name = '{name}'"))?;
        let id = rows.first().and_then(|it| it["plain_node_id"].as_str());
        Ok(id.with_context(|| format!("{name} is not a member of the cluster: {rows:?}"))?.to_owned())
    }

    /// Succeeds when a node is in no replica set of a partition.
    fn is_drained(&self, id: &str) -> Result<()> {
        let rows = self.query(&format!("select * from partition_replica_set where plain_node_id = '{id}'"))?;
        ensure!(rows.is_empty(), "it has {} partitions", rows.len());
        Ok(())
    }

    /// Returns the rows of a query about the cluster.
    fn query(&self, sql: &str) -> Result<Vec<Value>> {
        let text = self.control(&["sql", "--json", sql])?;
        serde_json::from_str(text.trim()).with_context(|| format!("unreadable rows: {text}"))
    }

    fn wait_until(&self, what: &str, mut attempt: impl FnMut(&RestateCluster) -> Result<()>) -> Result<()> {
        let end = Instant::now() + TIMEOUT;
        loop {
            let Err(error) = attempt(self) else { return Ok(()) };
            if Instant::now() > end {
                return Err(error.context(format!("cannot {what}")));
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Runs the program of administration on the running nodes; returns its output.
    fn control(&self, arguments: &[&str]) -> Result<String> {
        let addresses: Vec<String> = self.members().filter(|member| member.process_id().is_some()).map(Node::fabric).collect();
        let mut command = Command::new(control_program(self.program())?);
        let output = command.args(arguments).args(["--yes", "--address", &addresses.join(",")]).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            bail!("restatectl {}: {text} {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
        }
        Ok(text)
    }
}

/// Returns the program of administration, which is installed beside the server.
fn control_program(server: &Path) -> Result<PathBuf> {
    let folder = server.ancestors().nth(2).context("the program of Restate is not in a package")?;
    let package = folder.file_name().and_then(|it| it.to_str()).unwrap_or_default().replace("restate-server", "restatectl");
    let program = folder.with_file_name(package).join("bin/restatectl");
    ensure!(program.is_file(), "'{}' is missing; run `cargo xtask restate` once", program.display());
    Ok(program)
}
