//! The Restate clusters on which the turns of a test's server or pack run.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use convengine_player::restate::{RestateCluster, RestateOptions};
use convengine_tests::restate_binary;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::harness::client;

/// A node of Restate that tests of packs share.
pub struct SharedNode {
    cluster: Arc<RestateCluster>,
    turn: Mutex<()>,
    /// Declared last, so that it is deleted when nothing writes to it.
    _folder: Folder,
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // Best effort: it is below the system's temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl SharedNode {
    /// The running node, or a new one. It ends with the last test that has it.
    pub fn get() -> Arc<SharedNode> {
        static RUNNING: Mutex<Weak<SharedNode>> = Mutex::new(Weak::new());
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.upgrade().unwrap_or_else(|| {
            let started = Arc::new(SharedNode::start());
            *running = Arc::downgrade(&started);
            started
        })
    }

    fn start() -> SharedNode {
        let folder = Folder(std::env::temp_dir().join(format!("convengine-restate-{}", Uuid::new_v4())));
        std::fs::create_dir(&folder.0).unwrap();
        let cluster = Arc::new(RestateCluster::start(&restate_binary().unwrap(), &folder.0, 1).unwrap());
        SharedNode { cluster, turn: Mutex::new(()), _folder: folder }
    }

    /// Waits until no other pack is played on it: all calls go to the worker that was registered last.
    pub fn take_turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Options with which a pack is played on it; the worker is killed at a crossing of a crash point, if one is given.
    pub fn options(&self, crash_at: Option<u32>) -> RestateOptions {
        RestateOptions { cluster: Arc::clone(&self.cluster), crash_at }
    }
}

/// A node of Restate, and workers with the options of a server.
pub struct TurnCluster {
    workers: Vec<Worker>,
    pub nodes: RestateCluster,
    folder: PathBuf,
    /// How a worker is started, without its address.
    arguments: Vec<OsString>,
    environment: Vec<(OsString, Option<OsString>)>,
}

/// A running worker.
pub struct Worker {
    process: Child,
    pub address: String,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl TurnCluster {
    /// Starts a cluster for a server that is about to start, and makes it pass turns on.
    pub fn start(folder: &Path, server: &mut Command, worker_settings: &[&str]) -> TurnCluster {
        let folder = folder.join(format!("restate-{}", Uuid::new_v4()));
        std::fs::create_dir(&folder).unwrap();
        let nodes = RestateCluster::start(&restate_binary().unwrap(), &folder, 1).unwrap();
        let mut arguments = Vec::new();
        let mut all = server.get_args().filter(|it| *it != "serve");
        while let Some(argument) = all.next() {
            if argument == "--listen" || argument == "--runtime" {
                all.next();
            } else {
                arguments.push(argument.to_owned());
            }
        }
        let environment = server.get_envs().map(|variable| (variable.0.to_owned(), variable.1.map(OsString::from))).collect();
        server.args(["--runtime", "restate", "--set", &nodes.ingress_setting()]);
        let mut cluster = TurnCluster { workers: Vec::new(), nodes, folder, arguments, environment };
        let address = cluster.start_worker(worker_settings);
        cluster.nodes.register(&address).unwrap();
        cluster
    }

    /// Returns the answer of the cluster to a query.
    pub fn query(&self, sql: &str) -> Value {
        let url = format!("{}/query", self.nodes.admin(0).unwrap());
        let answer = client().post(url).header("Accept", "application/json").json(&json!({"query": sql})).send().unwrap();
        answer.json::<Value>().unwrap()["rows"].take()
    }

    /// The setting with which commands find the administration interface.
    pub fn admin_setting(&self) -> String {
        format!("convengine.restate.admin={}", self.nodes.admin(0).unwrap())
    }

    /// Kills the oldest worker; returns its address.
    pub fn stop_worker(&mut self) -> String {
        self.workers.remove(0).address.clone()
    }

    /// Starts a worker at an address of its own; returns the address.
    pub fn start_worker(&mut self, settings: &[&str]) -> String {
        let mut command = Command::new(convengine_tests::server_binary().unwrap());
        command.args(["worker", "--set", "convengine.restate.listen=127.0.0.1:0"]).args(&self.arguments);
        for setting in settings {
            command.args(["--set", setting]);
        }
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let log = self.folder.join(format!("worker-{}.log", self.workers.len()));
        let mut process = command.stdout(Stdio::piped()).stderr(File::create(&log).unwrap()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let worker = Worker { process, address: line.trim().rsplit(' ').next().unwrap_or_default().to_owned() };
        assert!(worker.address.starts_with("http://"), "not started: {line}{}", std::fs::read_to_string(log).unwrap());
        let address = worker.address.clone();
        self.workers.push(worker);
        address
    }
}
