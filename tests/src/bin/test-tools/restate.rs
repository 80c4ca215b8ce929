//! Starts a Restate cluster, workers and servers with a pack on loopback, prints their addresses, and runs until a line is entered or its parent
//! has ended: `test-tools restate RESTATE FOLDER DATABASE PACK NODES WORKERS SERVERS`. `cargo xtask restate` calls it.

use std::os::unix::process::parent_id;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use convengine_player::EngineProcess;
use convengine_player::restate::{ClusterSettings, RestateCluster, Workers, free_address, server_command};
use convengine_tests::sibling_program;

/// The number of partitions, also of one node.
const PARTITIONS: u32 = 6;

/// Runs the command.
pub fn run(words: &[&str]) -> Result<()> {
    let [restate, folder, database, pack, nodes, workers, servers] = *words else {
        bail!("usage: test-tools restate RESTATE FOLDER DATABASE PACK NODES WORKERS SERVERS")
    };
    let (convengine, folder) = (sibling_program("convengine")?, Path::new(folder));
    for command in [&["migrate"][..], &["import", pack]] {
        let done = Command::new(&convengine).args(command).args(["--database", database]).status()?;
        ensure!(done.success(), "`convengine {}` ended with {done}", command.join(" "));
    }
    let options = ["--database", database, "--llm", &format!("scripted:{pack}")].map(str::to_owned);
    let settings = ClusterSettings { partitions: PARTITIONS, web_ui: true, ..ClusterSettings::with_nodes(nodes.parse()?) };
    let cluster = RestateCluster::start_with(Path::new(restate), folder, &settings)?;
    let workers = Workers::start(&convengine, &options, workers.parse()?, Some(folder))?;
    cluster.register(workers.address())?;
    println!("workers: {}", workers.address());
    let mut started = Vec::new();
    for number in 1..=servers.parse()? {
        let log = folder.join(format!("server-{number}.log"));
        let command = server_command(&convengine, &options, &free_address()?, &cluster.ingress_setting(), Some(log));
        let server = EngineProcess::start(command)?;
        println!("server {number}: {}", server.address());
        started.push(server);
    }
    println!("Restate: ingress {}, admin {}", cluster.ingress_addresses().join(" "), cluster.admin(0)?);
    println!("database: {database}");
    println!("logs: {}", folder.display());
    println!("Press Enter to stop.");
    if std::io::stdin().read_line(&mut String::new())? == 0 {
        // Nobody can press it in the background.
        wait_for_end_of_parent();
    }
    Ok(())
}

fn wait_for_end_of_parent() {
    let parent = parent_id();
    while parent_id() == parent {
        sleep(Duration::from_millis(200));
    }
}
