//! Kills processes of the cluster at random and starts them again, adds a node and removes one.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use convengine_core::turn::Rng;
use convengine_player::restate::{RestateCluster, Workers, free_address, server_command};
use convengine_player::{EngineCommand, EngineProcess};

use super::{PROCESSES, RestateSoak};

/// The shortest time for which a killed process is missed, in milliseconds.
const SHORTEST_ABSENCE_MS: usize = 1000;

/// The longest time beyond that.
const ABSENCE_SPREAD_MS: usize = 2000;

/// The node that is removed, one of the first.
const REMOVED_NODE: usize = 1;

/// What was done to the processes.
#[derive(Debug, Clone, Default)]
pub struct ChaosReport {
    /// The killed workers, servers and nodes.
    pub kills: [usize; 3],
    /// How long it took until the added node answered.
    pub adding: Duration,
    /// How long it took until the removed node had left.
    pub removing: Duration,
    /// The longest time from the start of a killed process until it answered.
    pub longest_start: Duration,
}

/// The processes that are killed.
#[derive(Debug, Clone, Copy)]
enum Victim {
    Worker(usize),
    Server(usize),
    Node(usize),
}

/// The processes, and what is done to them.
pub(super) struct Chaos {
    // Dropped first: servers call workers through the cluster.
    servers: Vec<EngineProcess>,
    workers: Workers,
    cluster: RestateCluster,
    convengine: PathBuf,
    options: Vec<String>,
    random: Rng,
    report: ChaosReport,
}

impl Chaos {
    /// Starts the servers of a cluster.
    pub fn start(soak: &RestateSoak<'_>, cluster: RestateCluster, workers: Workers, options: Vec<String>) -> Result<Chaos> {
        let random = Rng::new(soak.seed);
        let (convengine, report) = (soak.convengine.to_owned(), ChaosReport::default());
        let mut chaos = Chaos { servers: Vec::new(), workers, cluster, convengine, options, random, report };
        for number in 1..=PROCESSES {
            chaos.servers.push(EngineProcess::start(chaos.server_command(number, &free_address()?))?);
        }
        Ok(chaos)
    }

    /// The addresses of the servers, which keep them.
    pub fn server_addresses(&self) -> Vec<String> {
        self.servers.iter().map(|server| server.address().to_owned()).collect()
    }

    /// Kills a process after each interval for a time. A node is added after half of it, and one removed after three quarters, or later if the
    /// machine is slow.
    pub fn run(&mut self, time: Duration, interval: Duration) -> Result<ChaosReport> {
        let begun = Instant::now();
        let (mut is_added, mut is_removed) = (false, false);
        while begun.elapsed() < time || !is_removed {
            let tick = Instant::now();
            if !is_added && begun.elapsed() >= time / 2 {
                is_added = true;
                self.report.adding = measure(|| self.cluster.add_node().map(drop))?;
                self.inform_servers()?;
            } else if !is_removed && begun.elapsed() >= time / 4 * 3 {
                is_removed = true;
                self.report.removing = measure(|| self.cluster.remove_node(REMOVED_NODE))?;
                self.inform_servers()?;
            } else {
                self.kill_one()?;
            }
            thread::sleep(interval.saturating_sub(tick.elapsed()));
        }
        Ok(self.report.clone())
    }

    /// Kills a process, and starts it again after a while. Returns when it answers, so that never two nodes are missed.
    fn kill_one(&mut self) -> Result<()> {
        let victim = self.choose();
        match victim {
            Victim::Worker(index) => self.workers.kill(index),
            Victim::Server(index) => self.servers[index].kill(),
            Victim::Node(index) => self.cluster.kill_node(index)?,
        }
        let absence = SHORTEST_ABSENCE_MS + self.below(ABSENCE_SPREAD_MS);
        thread::sleep(Duration::from_millis(absence as u64));
        let (kind, start) = match victim {
            Victim::Worker(index) => (0, measure(|| self.workers.restart(index))?),
            Victim::Server(index) => (1, measure(|| self.servers[index].restart())?),
            Victim::Node(index) => (2, measure(|| self.cluster.restart_node(index))?),
        };
        self.report.kills[kind] += 1;
        self.report.longest_start = self.report.longest_start.max(start);
        Ok(())
    }

    fn choose(&mut self) -> Victim {
        let nodes: Vec<usize> = (0..).zip(self.cluster.process_ids()).filter(|it| it.1.is_some()).map(|it| it.0).collect();
        match self.below(3) {
            0 => Victim::Worker(self.below(PROCESSES)),
            1 => Victim::Server(self.below(PROCESSES)),
            _ => Victim::Node(nodes[self.below(nodes.len())]),
        }
    }

    /// Starts the servers again, one after the other, with the addresses of the nodes that there are now.
    fn inform_servers(&mut self) -> Result<()> {
        for index in 0..self.servers.len() {
            let listen = self.servers[index].address().trim_start_matches("http://").to_owned();
            let command = self.server_command(index + 1, &listen);
            self.servers[index].restart_with(command)?;
        }
        Ok(())
    }

    /// Returns how a server with a number from 1 is started.
    fn server_command(&self, number: usize, listen: &str) -> EngineCommand {
        let log = self.cluster.folder().join(format!("server-{number}.log"));
        server_command(&self.convengine, &self.options, listen, &self.cluster.ingress_setting(), Some(log))
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.random.next_u64() % limit as u64) as usize
    }
}

fn measure(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed())
}
