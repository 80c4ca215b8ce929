//! Installs Restate, and starts it on loopback for people who want to try it.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use crate::postgres::{Durability, Postgres};
use crate::project::Project;
use crate::sh;

/// The pack of the demo, which brings the answers to its own calls.
pub const PACK: &str = "tests/packs/demo/help_desk.json";

/// The programs that the lock file names: the server, and the one that administrates clusters.
const PROGRAMS: [&str; 2] = ["restate-server", "restatectl"];

/// Installs the programs below the target folder; returns that of the server.
pub fn install(project: &Project) -> Result<PathBuf> {
    ensure!(sh::is_on_path("npm"), "no Node.js; install version 20 or later, on Debian with `sudo apt-get install nodejs npm`");
    let (source, folder) = (project.root.join("tests/restate"), project.target.join("restate"));
    let platform = if cfg!(target_arch = "aarch64") { "linux-arm64" } else { "linux-x64" };
    let programs = PROGRAMS.map(|program| folder.join(format!("node_modules/@restatedev/{program}-{platform}/bin/{program}")));
    fs::create_dir_all(&folder).with_context(|| format!("cannot create '{}'", folder.display()))?;
    let lock = fs::read(source.join("package-lock.json"))?;
    let [server, _] = &programs;
    if programs.iter().all(|it| it.is_file()) && fs::read(folder.join("installed")).is_ok_and(|it| it == lock) {
        return Ok(server.clone());
    }
    sh::print_progress("installing Restate: npm ci");
    for name in ["package.json", "package-lock.json"] {
        fs::copy(source.join(name), folder.join(name))?;
    }
    let mut npm = project.npm(&["ci", "--ignore-scripts"]);
    sh::run_quietly(npm.current_dir(&folder))?;
    for program in &programs {
        ensure!(program.is_file(), "no Restate for this platform: '{}' is missing", program.display());
    }
    fs::write(folder.join("installed"), lock)?;
    Ok(server.clone())
}

/// The number of each kind of process.
struct Extent {
    nodes: usize,
    workers: usize,
    servers: usize,
}

impl Extent {
    fn parse(words: &[&str]) -> Result<Self> {
        let mut extent = Self { nodes: 3, workers: 3, servers: 3 };
        for pair in words.chunks(2) {
            let [name, number] = pair else { bail!("{} needs a number", pair.join(" ")) };
            let count = number.parse().ok().filter(|it| (1..=9).contains(it)).with_context(|| format!("{name} {number}: use 1 to 9"))?;
            match *name {
                "--nodes" => extent.nodes = count,
                "--workers" => extent.workers = count,
                "--servers" => extent.servers = count,
                _ => bail!("unknown option {name}; use --nodes, --workers or --servers"),
            }
        }
        Ok(extent)
    }
}

/// Starts all processes with the demo, prints their addresses, and runs until a line is entered or it gets a signal.
pub fn run(project: &Project, words: &[&str]) -> Result<()> {
    let extent = Extent::parse(words)?;
    let restate = install(project)?;
    sh::print_progress("building the server");
    sh::run(&mut project.cargo(&["build", "--workspace", "--bins"]))?;
    let postgres = Postgres::start(Durability::Durable)?;
    postgres.query("postgres", "create database restate")?;
    let folder = project.target.join("restate/run");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty '{}'", folder.display()))?;
    }
    fs::create_dir_all(&folder)?;
    let mut command = project.command(project.target.join("debug/test-tools"));
    command.arg("restate").arg(restate).arg(folder).args([&format!("{}/restate", postgres.url()), PACK]);
    sh::run(command.args([extent.nodes, extent.workers, extent.servers].map(|it| it.to_string())))
}
