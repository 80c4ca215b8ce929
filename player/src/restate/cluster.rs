//! A cluster of one or several nodes.

use std::fmt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::node::{Node, NodePorts, NodeSettings};
use super::snapshot_store;

/// How long a node or a cluster may take until it does what it is asked for.
pub(super) const TIMEOUT: Duration = Duration::from_secs(180);

/// How long an attempt of a call may take.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// The pause between two attempts.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// The number of nodes from which each partition has a second copy.
const REPLICATED_NODES: usize = 3;

/// The calls per partition that make it likely that each partition has answered one.
const PROBES: u32 = 4;

/// The extent of a cluster.
#[derive(Debug, Clone)]
pub struct ClusterSettings {
    /// The number of nodes at the start.
    pub nodes: usize,
    /// The number of partitions, which run beside each other.
    pub partitions: u32,
    /// The memory of the database of each node in MiB.
    pub memory_mib: u32,
    /// Whether snapshots are taken, so that logs are trimmed and nodes can be removed.
    pub snapshots: bool,
    /// Whether nodes serve their web interface.
    pub web_ui: bool,
}

impl ClusterSettings {
    /// Creates the settings of a small cluster.
    pub fn with_nodes(nodes: usize) -> ClusterSettings {
        let (partitions, memory_mib) = if nodes == 1 { (1, 128) } else { (6, 256) };
        ClusterSettings { nodes, partitions, memory_mib, snapshots: nodes > 1, web_ui: false }
    }
}

/// A running cluster. Dropping it kills the nodes; it must not be dropped in an asynchronous task.
pub struct RestateCluster {
    settings: NodeSettings,
    nodes: Vec<Node>,
    caller: Caller,
}

/// Calls nodes over HTTP, and serves them the store for snapshots.
struct Caller {
    runtime: Runtime,
    client: Client,
}

impl RestateCluster {
    /// Starts `nodes` nodes with a program, whose data are in a folder. They can be called once a worker is registered.
    ///
    /// # Errors
    /// Returns an error when a process cannot be started.
    pub fn start(program: &Path, folder: &Path, nodes: usize) -> Result<RestateCluster> {
        RestateCluster::start_with(program, folder, &ClusterSettings::with_nodes(nodes))
    }

    /// Like [`RestateCluster::start`], with settings.
    ///
    /// # Errors
    /// Returns an error when a process cannot be started.
    pub fn start_with(program: &Path, folder: &Path, settings: &ClusterSettings) -> Result<RestateCluster> {
        let caller = Caller::new()?;
        let ClusterSettings { nodes, partitions, memory_mib, snapshots, web_ui } = *settings;
        let replication = if nodes < REPLICATED_NODES { 1 } else { 2 };
        let snapshots = if snapshots { Some(snapshot_store::serve(&caller.runtime)?) } else { None };
        let (program, folder) = (program.to_owned(), folder.to_owned());
        let settings = NodeSettings { program, folder, partitions, replication, memory_mib, snapshots, web_ui };
        let mut cluster = RestateCluster { settings, nodes: Vec::new(), caller };
        let ports = NodePorts::find(nodes)?;
        let members: Vec<String> = ports.iter().map(NodePorts::fabric).collect();
        for (index, ports) in ports.into_iter().enumerate() {
            cluster.nodes.push(Node::new(&cluster.settings, index + 1, ports, &members, index == 0)?);
        }
        // The first one, which founds the cluster, comes last.
        cluster.nodes.iter_mut().rev().try_for_each(Node::start)?;
        Ok(cluster)
    }

    /// The base URLs for calls, of all nodes that were not removed.
    pub fn ingress_addresses(&self) -> Vec<String> {
        self.members().map(Node::ingress).collect()
    }

    /// The setting with which a server finds the cluster, as `KEY=VALUE`.
    pub fn ingress_setting(&self) -> String {
        format!("convengine.restate.ingress={}", self.ingress_addresses().join(","))
    }

    /// The base URL of administration at a node.
    ///
    /// # Errors
    /// Returns an error when there is no such node.
    pub fn admin(&self, index: usize) -> Result<String> {
        Ok(self.node(index)?.admin())
    }

    /// The process ids of the nodes, absent for killed and removed ones.
    pub fn process_ids(&self) -> Vec<Option<u32>> {
        self.nodes.iter().map(Node::process_id).collect()
    }

    /// The folder of settings, logs and data.
    pub fn folder(&self) -> &PathBuf {
        &self.settings.folder
    }

    /// Registers workers by their URL, and waits until every partition can call them.
    ///
    /// # Errors
    /// Returns an error when the cluster does not accept them in time.
    pub fn register(&self, workers: &str) -> Result<()> {
        let running = self.members().find(|member| member.process_id().is_some()).context("no node runs")?;
        let deployments = format!("{}/v3/deployments", running.admin());
        self.caller.post_until_success("register the workers", &deployments, Some(&json!({"uri": workers, "force": false})))?;
        // Nodes listen before they can run anything.
        let probes = if self.settings.partitions == 1 { 1 } else { PROBES * self.settings.partitions };
        (0..probes).try_for_each(|probe| self.call(&running.ingress(), &format!("probe-{probe}")))?;
        self.members().try_for_each(|member| self.call(&member.ingress(), "probe"))
    }

    /// Kills a node, as `kill -9` does.
    ///
    /// # Errors
    /// Returns an error when there is no such node.
    pub fn kill_node(&mut self, index: usize) -> Result<()> {
        self.node_mut(index)?.kill();
        Ok(())
    }

    /// Starts a killed node again, with its ports and data, and waits until it answers calls.
    ///
    /// # Errors
    /// Returns an error when there is no such node, or it does not answer in time.
    pub fn restart_node(&mut self, index: usize) -> Result<()> {
        self.node_mut(index)?.start()?;
        self.wait_for_node(index)
    }

    /// Waits until a node answers calls. Workers must be registered.
    ///
    /// # Errors
    /// Returns an error when it does not in time.
    pub fn wait_for_node(&self, index: usize) -> Result<()> {
        self.call(&self.node(index)?.ingress(), "probe")
    }

    /// Starts a further node, which takes over partitions, and waits until it answers calls. Returns its index. Workers must be registered.
    ///
    /// # Errors
    /// Returns an error when it does not answer in time.
    pub fn add_node(&mut self) -> Result<usize> {
        let index = self.nodes.len();
        let ports = *NodePorts::find(1)?.first().context("no free ports")?;
        let members: Vec<String> = self.members().map(Node::fabric).collect();
        let mut node = Node::new(&self.settings, index + 1, ports, &members, false)?;
        node.start()?;
        self.nodes.push(node);
        self.wait_for_node(index)?;
        Ok(index)
    }

    /// The nodes that were not removed.
    pub(super) fn members(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|it| !it.is_removed)
    }

    pub(super) fn node(&self, index: usize) -> Result<&Node> {
        self.nodes.get(index).with_context(|| format!("no node {index}"))
    }

    pub(super) fn node_mut(&mut self, index: usize) -> Result<&mut Node> {
        self.nodes.get_mut(index).with_context(|| format!("no node {index}"))
    }

    /// The program of the server.
    pub(super) fn program(&self) -> &Path {
        &self.settings.program
    }

    /// Deletes what turns have left: the state of conversations, and calls with their results. A worker must be registered.
    ///
    /// # Errors
    /// Returns an error when the cluster or the worker does not do so in time.
    pub fn clear(&self) -> Result<()> {
        let running = self.members().find(|member| member.process_id().is_some()).context("no node runs")?;
        let query = |sql: &str| self.caller.query(&running.admin(), sql);
        for row in query("select distinct service_key from state where service_name = 'Conversation'")? {
            self.call(&running.ingress(), row["service_key"].as_str().context("a state without a key")?)?;
        }
        for call in query("select id, status from sys_invocation")? {
            let url = format!("{}/invocations/{}", running.admin(), call["id"].as_str().context("a call without an id")?);
            if call["status"] != "completed" {
                self.caller.patch(&format!("{url}/kill"))?;
            }
            self.caller.patch(&format!("{url}/purge"))?;
        }
        Ok(())
    }

    /// Calls a worker through a node until that succeeds.
    fn call(&self, ingress: &str, conversation: &str) -> Result<()> {
        self.caller.post_until_success("call the workers", &format!("{ingress}/Conversation/{conversation}/forget"), None)
    }
}

impl fmt::Debug for RestateCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestateCluster").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

impl Caller {
    fn new() -> Result<Caller> {
        let client = convengine_host_base::tls::client_for("http:").no_proxy().build()?;
        Ok(Caller { runtime: Builder::new_multi_thread().worker_threads(1).enable_all().build()?, client })
    }

    /// Returns the rows of a query about state and calls.
    fn query(&self, admin: &str, sql: &str) -> Result<Vec<Value>> {
        let request = self.client.post(format!("{admin}/query")).header("Accept", "application/json").json(&json!({"query": sql}));
        let mut answer: Value = self.runtime.block_on(async { request.send().await?.error_for_status()?.json().await })?;
        serde_json::from_value(answer["rows"].take()).with_context(|| format!("no rows: {answer}"))
    }

    /// Changes a call. One that has disappeared meanwhile needs no change.
    fn patch(&self, url: &str) -> Result<()> {
        let status = self.runtime.block_on(async { self.client.patch(url).send().await })?.status();
        ensure!(status.is_success() || status == StatusCode::NOT_FOUND, "PATCH {url}: status {status}");
        Ok(())
    }

    /// Sends a request until it succeeds.
    fn post_until_success(&self, what: &str, url: &str, body: Option<&Value>) -> Result<()> {
        let end = Instant::now() + TIMEOUT;
        loop {
            let mut request = self.client.post(url).timeout(ATTEMPT_TIMEOUT);
            if let Some(body) = body {
                request = request.json(body);
            }
            let reason = match self.runtime.block_on(async { request.send().await }) {
                Ok(answer) if answer.status().is_success() => return Ok(()),
                Ok(answer) => self.runtime.block_on(answer.text()).unwrap_or_default(),
                Err(error) => error.to_string(),
            };
            if Instant::now() > end {
                bail!("cannot {what}: {reason}");
            }
            thread::sleep(RETRY_PAUSE);
        }
    }
}
