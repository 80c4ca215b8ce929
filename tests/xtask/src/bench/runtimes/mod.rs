//! Turns on each runtime, side by side: SQLite, PostgreSQL, and Restate with the rows in PostgreSQL.
//!
//! Each runtime has a fresh database, is warmed up, and gets the same load for the same time. All processes share this machine, also the
//! load generator, whose own processor time is not counted. Nothing here has a limit.

mod cluster;
mod deployment;
mod measurement;

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use self::deployment::{Deployment, Runtime};
use self::measurement::Measurement;
use super::server::Scenario;
use super::turns::DERIVED;
use super::{Bench, FLOW_PACK, create_folder};
use crate::postgres::{Durability, Postgres};
use crate::project::Project;
use crate::{restate, sh};

const USAGE: &str = "usage: cargo xtask bench runtimes [--seconds N] [--connections N]";

/// What is measured, in the order of the table.
const RUNTIMES: [Runtime; 5] = [
    Runtime::Sqlite,
    Runtime::Postgres { servers: 1 },
    Runtime::Postgres { servers: 3 },
    Runtime::Restate { nodes: 1, rows: true },
    Runtime::Restate { nodes: 3, rows: true },
];

/// What is measured once, because the audit makes no difference to it.
const WITHOUT_ROWS: [Runtime; 2] = [Runtime::Restate { nodes: 1, rows: false }, Runtime::Restate { nodes: 3, rows: false }];

/// What is played: tables with a scripted model, the same with audit rows that are derived from the journal, and a flow without a model.
fn scenarios() -> [(Scenario<'static>, Vec<Runtime>); 3] {
    let tables = Scenario { name: "tables, ALL", pack: Path::new(restate::PACK), settings: &[] };
    [
        (tables, RUNTIMES.to_vec()),
        (Scenario { name: "tables, DERIVED", settings: &[DERIVED], ..tables }, [&RUNTIMES[..], &WITHOUT_ROWS].concat()),
        (Scenario { name: "flow", pack: Path::new(FLOW_PACK), settings: &[] }, RUNTIMES.to_vec()),
    ]
}

/// The options of the command.
struct Options {
    seconds: u64,
    connections: usize,
}

impl Options {
    fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self { seconds: 20, connections: 16 };
        for pair in words.chunks(2) {
            let [name, number] = pair else { bail!(USAGE) };
            let number: usize = number.parse().ok().filter(|it| *it > 0).with_context(|| format!("{name} {number}: {USAGE}"))?;
            match *name {
                "--seconds" => options.seconds = u64::try_from(number)?,
                "--connections" => options.connections = number,
                _ => bail!(USAGE),
            }
        }
        Ok(options)
    }

    /// Half as long as the measurement: caches and connection pools are full after a few seconds.
    fn warm_up_seconds(&self) -> u64 {
        (self.seconds / 2).max(1)
    }
}

/// Measures all runtimes and prints the table.
pub fn run(project: &Project, words: &[&str]) -> Result<()> {
    let options = Options::parse(words)?;
    let restate = restate::install(project)?;
    let bench = Bench { project, folder: create_folder(project)? };
    sh::print_progress("building the server, the load generator and the starter of the cluster");
    let programs = ["--bin", "convengine", "--bin", "test-tools"];
    let build = ["build", "--release", "--package", "convengine-server", "--package", "convengine-tests"];
    sh::run(&mut project.cargo(&[&build[..], &programs].concat()))?;
    let postgres = Postgres::start(Durability::Durable)?;
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for (scenario, runtimes) in scenarios() {
        for runtime in runtimes {
            let name = format!("{}, {}", runtime.name(), scenario.name);
            sh::print_progress(&format!("measuring {name} for {} s", options.seconds));
            let measured = Deployment::start(&bench, runtime, scenario, &postgres, &restate)
                .and_then(|it| Measurement::take(&bench, &options, it, scenario.pack));
            match measured {
                Ok(row) => rows.push((name, row)),
                Err(error) => failures.push(format!("{name}: {error:#}")),
            }
        }
    }
    print(&options, &rows);
    // The others are worth printing: a run takes ten minutes.
    ensure!(failures.is_empty(), "{}", failures.join("; "));
    Ok(())
}

fn print(options: &Options, rows: &[(String, Measurement)]) {
    let title = format!("{} connections, {} s", options.connections, options.seconds);
    println!(
        "\n{title:<38}{:>9}{:>9}{:>9}{:>24}{:>24}{:>24}{:>24}{:>15}",
        "turns/s", "p50 ms", "p99 ms", "CPU ms/turn", "written KB/turn", "MB", "KB/turn", "CPU of machine"
    );
    let groups = format!("{:>8}{:>8}{:>8}", "engine", "DB", "Restate");
    println!("{:<65}{groups}{groups}{groups}{:>8}{:>8}{:>8}{:>7}{:>8}", "", "WAL", "rows", "network", "busy", "others");
    for (name, row) in rows {
        println!(
            "{name:<38}{:>9.0}{:>9.1}{:>9.1}{}{}{}{:>8}{:>8.1}{:>8.1}{:>6.0}%{:>7.0}%",
            row.load.rate,
            row.load.p50_us / 1_000.0,
            row.load.p99_us / 1_000.0,
            format_groups(row.cpu_ms, 2),
            format_groups(row.written_kb, 1),
            format_groups(row.memory_mb, 0),
            row.wal_kb.map_or("-".to_owned(), |it| format!("{it:.1}")),
            row.rows_kb,
            row.network_kb,
            row.busy_percent,
            row.others_percent,
        );
    }
    println!(
        "engine: servers and workers; written: to the disk; WAL: the log of PostgreSQL; rows: growth of the database; network: all of \
         loopback, with the load; others: neither measured nor the load"
    );
}

/// Formats a figure of engine, database and Restate in three columns.
fn format_groups(values: [f64; 3], decimals: usize) -> String {
    values.map(|value| format!("{:>8}", if value > 0.0 { format!("{value:.decimals$}") } else { "-".to_owned() })).concat()
}
