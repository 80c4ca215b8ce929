//! A Restate cluster, which `test-tools cluster` (`tests/src/bin/test-tools/cluster.rs`) starts and stops.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use super::super::Bench;

/// A running cluster; it ends when dropped.
pub struct Cluster {
    child: Child,
    commands: Option<ChildStdin>,
    results: BufReader<ChildStdout>,
    ingress_addresses: Vec<String>,
    process_ids: Vec<u32>,
    folder: PathBuf,
}

impl Cluster {
    /// Starts the nodes.
    pub fn start(bench: &Bench<'_>, program: &Path, nodes: usize) -> Result<Self> {
        let folder = bench.folder.join("restate");
        fs::create_dir(&folder)?;
        let mut command = bench.project.command(bench.release_binary("test-tools"));
        command.arg("cluster").arg(program).arg(&folder).arg(nodes.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start the cluster")?;
        let (commands, results) = (child.stdin.take(), BufReader::new(child.stdout.take().context("the cluster has no output")?));
        let mut cluster = Self { child, commands, results, ingress_addresses: Vec::new(), process_ids: Vec::new(), folder };
        let started = cluster.read_result()?;
        let members = |name: &str| started.get(name).and_then(Value::as_array).with_context(|| format!("the cluster has no '{name}'"));
        cluster.ingress_addresses = members("ingress")?.iter().filter_map(|address| address.as_str().map(str::to_owned)).collect();
        cluster.process_ids = members("processes")?.iter().filter_map(|id| u32::try_from(id.as_u64()?).ok()).collect();
        Ok(cluster)
    }

    /// Registers the workers behind an address, and waits until the cluster calls them.
    pub fn register(&mut self, address: &str) -> Result<()> {
        writeln!(self.commands.as_mut().context("the cluster has no input")?, "http://{address}")?;
        self.read_result().map(|_| ())
    }

    /// Returns the addresses for calls, one of each node.
    pub fn ingress_addresses(&self) -> &[String] {
        &self.ingress_addresses
    }

    /// Returns the processes of the nodes.
    pub fn process_ids(&self) -> &[u32] {
        &self.process_ids
    }

    fn read_result(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.results.read_line(&mut line)?;
        serde_json::from_str(&line).context("the cluster failed")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The nodes end with its input; their data are removed, best effort, because the next cluster begins without any.
        drop(self.commands.take());
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
