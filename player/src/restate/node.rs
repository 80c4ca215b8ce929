//! A node of Restate as a process on loopback.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

use crate::engine_process::free_ports;

/// What the nodes of a cluster have in common.
#[derive(Debug, Clone)]
pub(super) struct NodeSettings {
    /// The program of the server.
    pub program: PathBuf,
    /// The folder of settings, logs and data.
    pub folder: PathBuf,
    /// The number of partitions, which cannot be changed later.
    pub partitions: u32,
    /// The number of nodes that have a copy of each partition.
    pub replication: usize,
    /// The memory of the database of each node in MiB.
    pub memory_mib: u32,
    /// The address of the store for snapshots.
    pub snapshots: Option<String>,
    /// Whether the web interface is served.
    pub web_ui: bool,
}

/// The ports of a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodePorts {
    fabric: u16,
    ingress: u16,
    admin: u16,
}

/// A running, killed or removed node. Dropping it kills the process.
#[derive(Debug)]
pub(super) struct Node {
    name: String,
    ports: NodePorts,
    program: PathBuf,
    file: PathBuf,
    log: PathBuf,
    /// Absent between the kill and the restart, and after the removal.
    process: Option<Child>,
    /// Whether the node has left the cluster.
    pub is_removed: bool,
}

impl NodePorts {
    /// Returns free ports for nodes.
    pub fn find(nodes: usize) -> Result<Vec<NodePorts>> {
        let ports = free_ports(3 * nodes)?;
        Ok(ports.chunks_exact(3).map(|it| NodePorts { fabric: it[0], ingress: it[1], admin: it[2] }).collect())
    }

    /// The address for other nodes.
    pub fn fabric(&self) -> String {
        format!("http://127.0.0.1:{}/", self.fabric)
    }
}

impl Node {
    /// Writes the settings of a node with a number from 1. The node that is `first` founds the cluster when it starts.
    pub fn new(settings: &NodeSettings, number: usize, ports: NodePorts, members: &[String], is_first: bool) -> Result<Node> {
        let name = format!("node-{number}");
        let file = settings.folder.join(format!("{name}.toml"));
        fs::write(&file, settings.render(&name, ports, members, is_first))?;
        let log = settings.folder.join(format!("{name}.log"));
        Ok(Node { name, ports, program: settings.program.clone(), file, log, process: None, is_removed: false })
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address for other nodes.
    pub fn fabric(&self) -> String {
        self.ports.fabric()
    }

    /// The base URL for calls.
    pub fn ingress(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.ingress)
    }

    /// The base URL of administration.
    pub fn admin(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.admin)
    }

    /// The process id, unless the node is stopped.
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    /// Starts the process, with the ports and data that it had.
    pub fn start(&mut self) -> Result<()> {
        let log = OpenOptions::new().create(true).append(true).open(&self.log)?;
        let mut command = Command::new(&self.program);
        command.arg("--no-logo").arg("--config-file").arg(&self.file).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.process = Some(command.spawn().with_context(|| format!("cannot start {}", self.program.display()))?);
        Ok(())
    }

    /// Kills the process, as `kill -9` does.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // Best effort: the process is ours, and may have ended.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

impl NodeSettings {
    /// Renders the file of settings. `members` are the addresses of nodes that know the cluster.
    fn render(&self, name: &str, ports: NodePorts, members: &[String], is_first: bool) -> String {
        let NodePorts { fabric, ingress, admin } = ports;
        let members: Vec<String> = members.iter().map(|it| format!("\"{it}\"")).collect();
        let mut text = format!(
            "node-name = \"{name}\"\ncluster-name = \"local\"\nbase-dir = \"{}\"\nlisten-mode = \"tcp\"\n\
             bind-address = \"127.0.0.1:{fabric}\"\nadvertised-address = \"{}\"\nauto-provision = {is_first}\n\
             default-num-partitions = {}\ndefault-replication = {}\ndisable-telemetry = true\nlog-filter = \"warn\"\n\
             log-disable-ansi-codes = true\nrocksdb-total-memory-size = \"{}MiB\"\n\
             [metadata-client]\naddresses = [{}]\n[ingress]\nbind-address = \"127.0.0.1:{ingress}\"\n\
             [admin]\nbind-address = \"127.0.0.1:{admin}\"\ndisable-web-ui = {}\n[bifrost]\nrecord-cache-memory-size = \"16MiB\"\n",
            data_folder(&self.folder).display(),
            ports.fabric(),
            self.partitions,
            self.replication,
            self.memory_mib,
            members.join(", "),
            !self.web_ui,
        );
        if let Some(store) = &self.snapshots {
            text += &format!(
                "[worker.snapshots]\ndestination = \"s3://snapshots/local\"\nsnapshot-interval-num-records = 10000\n\
                 experimental-num-retained = 1\naws-region = \"local\"\naws-access-key-id = \"local\"\naws-secret-access-key = \"local\"\n\
                 aws-endpoint-url = \"{store}\"\naws-allow-http = true\n"
            );
        }
        text
    }
}

fn data_folder(folder: &Path) -> PathBuf {
    folder.join("data")
}
