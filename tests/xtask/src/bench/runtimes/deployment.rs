//! The processes of a runtime.

use std::path::Path;

use anyhow::Result;

use super::super::Bench;
use super::super::database::{Database, Kind};
use super::super::server::{Scenario, Server, subcommand};
use super::cluster::Cluster;
use crate::postgres::Postgres;

/// A runtime, and the number of its processes.
#[derive(Clone, Copy)]
pub enum Runtime {
    Sqlite,
    /// Servers on one PostgreSQL.
    Postgres {
        servers: usize,
    },
    /// Nodes, with as many workers and as many servers, on one PostgreSQL.
    Restate {
        nodes: usize,
        /// Whether turns of conversations leave rows.
        rows: bool,
    },
}

impl Runtime {
    /// Returns the name for tables.
    pub fn name(self) -> String {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        match self {
            Runtime::Sqlite => "SQLite, 1 server".to_owned(),
            Runtime::Postgres { servers } => format!("PostgreSQL, {servers} server{}", plural(servers)),
            Runtime::Restate { nodes, rows } => {
                format!("Restate, {nodes} node{}{}", plural(nodes), if rows { "" } else { ", no rows" })
            }
        }
    }
}

/// The processes of a runtime with a pack, on a database of their own. They are stopped when dropped, in this order.
pub struct Deployment<'b> {
    pub servers: Vec<Server>,
    workers: Vec<Server>,
    cluster: Option<Cluster>,
    pub database: Database<'b>,
    /// The process of PostgreSQL that is the parent of its others.
    postgres: Option<u32>,
}

/// The processes of a deployment by what they do. A process stands for its children, too.
pub struct Processes {
    /// Servers and workers.
    pub engine: Vec<u32>,
    pub database: Vec<u32>,
    pub restate: Vec<u32>,
}

impl Processes {
    /// Returns the groups in the order of the table.
    pub fn groups(&self) -> [&[u32]; 3] {
        [&self.engine, &self.database, &self.restate]
    }
}

impl<'b> Deployment<'b> {
    /// Starts the processes on a fresh database that has the pack.
    pub fn start(bench: &'b Bench<'_>, runtime: Runtime, scenario: Scenario<'_>, postgres: &'b Postgres, restate: &Path) -> Result<Self> {
        let engine = bench.release_binary("convengine");
        let (kind, servers, nodes, rows) = match runtime {
            Runtime::Sqlite => (Kind::Sqlite, 1, 0, true),
            Runtime::Postgres { servers } => (Kind::Postgres(postgres), servers, 0, true),
            Runtime::Restate { nodes, rows } => (Kind::Postgres(postgres), nodes, nodes, rows),
        };
        let database = Database::create(bench, kind, "runtimes", &engine, scenario.pack)?;
        let postgres = match kind {
            Kind::Sqlite => None,
            Kind::Postgres(cluster) => Some(cluster.process_id()?),
        };
        let mut deployment = Self { servers: Vec::new(), workers: Vec::new(), cluster: None, database, postgres };
        let start = |name: String, arguments: &[&str], database: &Database<'_>| {
            let command = subcommand(bench, &engine, arguments, scenario, &database.url())?;
            Server::start_with_log(command, bench.folder.join(name).with_extension("log"))
        };
        let mut serve = vec!["serve".to_owned(), "--listen".to_owned(), "127.0.0.1:0".to_owned()];
        if nodes > 0 {
            let mut cluster = Cluster::start(bench, restate, nodes)?;
            // They share the address of the first one.
            let mut listen = "127.0.0.1:0".to_owned();
            let rows = format!("convengine.restate.conversation-rows={rows}");
            for number in 1..=nodes {
                let address = format!("convengine.restate.listen={listen}");
                let worker = start(format!("worker-{number}"), &["worker", "--set", &address, "--set", &rows], &deployment.database)?;
                worker.address().clone_into(&mut listen);
                deployment.workers.push(worker);
            }
            cluster.register(&listen)?;
            let ingress = format!("convengine.restate.ingress={}", cluster.ingress_addresses().join(","));
            serve.extend(["--runtime".to_owned(), "restate".to_owned(), "--set".to_owned(), ingress]);
            deployment.cluster = Some(cluster);
        }
        let serve: Vec<&str> = serve.iter().map(String::as_str).collect();
        for number in 1..=servers {
            deployment.servers.push(start(format!("server-{number}"), &serve, &deployment.database)?);
        }
        Ok(deployment)
    }

    /// Returns the processes.
    pub fn processes(&self) -> Processes {
        Processes {
            engine: self.servers.iter().chain(&self.workers).map(Server::process_id).collect(),
            database: self.postgres.into_iter().collect(),
            restate: self.cluster.as_ref().map_or(Vec::new(), |cluster| cluster.process_ids().to_vec()),
        }
    }

    /// Stops the servers and returns the size of the database.
    pub fn finish(mut self) -> Result<u64> {
        self.servers.drain(..).try_for_each(Server::stop)?;
        self.database.bytes()
    }
}
