//! Runs a Restate cluster on loopback for a benchmark.
//!
//! `test-tools cluster PROGRAM FOLDER NODES` starts the nodes with their data below a folder and prints their addresses and processes as JSON. Each
//! line of its input is the base URL of workers, which it registers; it prints `{}` when the cluster calls them. The nodes end with its input.

use std::io::BufRead;
use std::path::Path;

use anyhow::{Result, bail};
use convengine_player::restate::{ClusterSettings, RestateCluster};
use serde_json::json;

/// The number of partitions, also of one node, so that both divide the same work.
const PARTITIONS: u32 = 6;

/// Runs the command.
pub fn run(words: &[&str]) -> Result<()> {
    let [program, folder, nodes] = words else { bail!("usage: test-tools cluster PROGRAM FOLDER NODES") };
    let settings = ClusterSettings { partitions: PARTITIONS, ..ClusterSettings::with_nodes(nodes.parse()?) };
    let cluster = RestateCluster::start_with(Path::new(program), Path::new(folder), &settings)?;
    let processes: Vec<u32> = cluster.process_ids().into_iter().flatten().collect();
    println!("{}", json!({"ingress": cluster.ingress_addresses(), "processes": processes}));
    for line in std::io::stdin().lock().lines() {
        cluster.register(line?.trim())?;
        println!("{{}}");
    }
    Ok(())
}
