//! Restate on loopback: a cluster, workers and API processes, for tests and for people who want to try it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::postgres::{Durability, Postgres};
use crate::project::Project;
use crate::sh;

/// The pack of the demo, which brings the answers to its own calls.
const PACK: &str = "tests/packs/demo/help_desk.json";

/// How long a cluster may take until it accepts calls.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Installs the server below the target folder; returns its program.
pub fn install(project: &Project) -> Result<PathBuf> {
    ensure!(sh::is_on_path("npm"), "no Node.js; install version 20 or later, on Debian with `sudo apt-get install nodejs npm`");
    let (source, folder) = (project.root.join("tests/restate"), project.target.join("restate"));
    let platform = if cfg!(target_arch = "aarch64") { "linux-arm64" } else { "linux-x64" };
    let program = folder.join(format!("node_modules/@restatedev/restate-server-{platform}/bin/restate-server"));
    fs::create_dir_all(&folder).with_context(|| format!("cannot create '{}'", folder.display()))?;
    let lock = fs::read(source.join("package-lock.json"))?;
    if program.is_file() && fs::read(folder.join("installed")).is_ok_and(|it| it == lock) {
        return Ok(program);
    }
    sh::print_progress("installing Restate: npm ci");
    for name in ["package.json", "package-lock.json"] {
        fs::copy(source.join(name), folder.join(name))?;
    }
    let mut npm = project.npm(&["ci", "--ignore-scripts"]);
    sh::run_quietly(npm.current_dir(&folder))?;
    ensure!(program.is_file(), "no Restate for this platform: '{}' is missing", program.display());
    fs::write(folder.join("installed"), lock)?;
    Ok(program)
}

/// The number of each kind of process.
struct Extent {
    nodes: usize,
    workers: usize,
    servers: usize,
}

impl Extent {
    fn parse(words: &[&str]) -> Result<Self> {
        let mut extent = Self { nodes: 1, workers: 1, servers: 1 };
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

/// A process that is killed when dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Best effort: the process is ours.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts all processes with the demo, prints their addresses, and runs until the input ends or a process does.
pub fn run(project: &Project, words: &[&str]) -> Result<()> {
    let extent = Extent::parse(words)?;
    let restate = install(project)?;
    sh::print_progress("building the server");
    sh::run(&mut project.cargo(&["build", "--workspace", "--bins"]))?;
    let postgres = Postgres::start(Durability::Durable)?;
    postgres.query("postgres", "create database restate")?;
    let database = format!("{}/restate", postgres.url());
    let folder = project.target.join("restate/run");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty '{}'", folder.display()))?;
    }
    fs::create_dir_all(&folder)?;
    let convengine = |arguments: &[&str]| {
        let mut command = project.command(project.target.join("debug/convengine"));
        command.args(arguments).args(["--database", &database, "--llm", &format!("scripted:{PACK}")]);
        command
    };
    for arguments in [&["migrate"][..], &["import", PACK]] {
        sh::run(&mut convengine(arguments))?;
    }
    let ports = free_ports(3 * extent.nodes)?;
    let nodes: Vec<[u16; 3]> = ports.chunks(3).filter_map(|it| it.try_into().ok()).collect();
    let mut processes = Vec::new();
    // The first one, which founds the cluster, comes last.
    for number in (0..nodes.len()).rev() {
        processes.push(start_node(&restate, &folder, &nodes, number)?);
    }
    let [_, ingress, admin] = *nodes.first().context("no nodes")?;
    // They share the address of the first one.
    let mut listen = "127.0.0.1:0".to_owned();
    for number in 1..=extent.workers {
        let mut command = convengine(&["worker", "--set", &format!("convengine.restate.listen={listen}")]);
        let (process, address) = start(&mut command, &folder.join(format!("worker-{number}.log")))?;
        processes.push(process);
        listen = address.trim_start_matches("http://").to_owned();
    }
    post(admin, "/v3/deployments", &format!("{{\"uri\": \"http://{listen}\", \"force\": false}}"))?;
    println!("workers: http://{listen}");
    post(ingress, "/Conversation/probe/forget", "")?;
    let addresses: Vec<String> = nodes.iter().map(|it| format!("http://127.0.0.1:{}", it[1])).collect();
    for number in 1..=extent.servers {
        let ingress = format!("convengine.restate.ingress={}", addresses.join(","));
        let mut command = convengine(&["serve", "--runtime", "restate", "--listen", "127.0.0.1:0", "--set", &ingress]);
        let (process, address) = start(&mut command, &folder.join(format!("server-{number}.log")))?;
        processes.push(process);
        println!("server {number}: {address}");
    }
    println!("Restate: ingress {}, admin http://127.0.0.1:{admin}", addresses.join(" "));
    println!("database: {database}");
    println!("logs: {}", folder.display());
    println!("Press Enter to stop.");
    std::io::stdin().read_line(&mut String::new())?;
    Ok(())
}

fn start_node(program: &Path, folder: &Path, nodes: &[[u16; 3]], number: usize) -> Result<Process> {
    let [fabric, ingress, admin] = *nodes.get(number).context("no such node")?;
    let members: Vec<String> = nodes.iter().map(|it| format!("\"http://127.0.0.1:{}/\"", it[0])).collect();
    let (name, replication) = (format!("node-{}", number + 1), if nodes.len() > 2 { 2 } else { 1 });
    let text = format!(
        "node-name = \"{name}\"\ncluster-name = \"local\"\nbase-dir = \"{}\"\nlisten-mode = \"tcp\"\n\
         bind-address = \"127.0.0.1:{fabric}\"\nadvertised-address = \"http://127.0.0.1:{fabric}/\"\nauto-provision = {}\n\
         default-num-partitions = 6\ndefault-replication = {replication}\ndisable-telemetry = true\nlog-filter = \"warn\"\n\
         log-disable-ansi-codes = true\nrocksdb-total-memory-size = \"256MiB\"\n[metadata-client]\naddresses = [{}]\n\
         [ingress]\nbind-address = \"127.0.0.1:{ingress}\"\n[admin]\nbind-address = \"127.0.0.1:{admin}\"\n",
        folder.join("data").display(),
        number == 0,
        members.join(", ")
    );
    let file = folder.join(format!("{name}.toml"));
    fs::write(&file, text)?;
    let log = File::create(folder.join(format!("{name}.log")))?;
    let mut command = Command::new(program);
    command.args(["--no-logo", "--config-file"]).arg(file).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    Ok(Process(command.spawn().context("cannot start Restate")?))
}

/// Starts a server or worker; returns its address.
fn start(command: &mut Command, log: &Path) -> Result<(Process, String)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(log)?).spawn().context("cannot start")?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().context("no output")?).read_line(&mut line)?;
    let process = Process(child);
    let address = line.trim().rsplit(' ').next().filter(|it| it.starts_with("http://")).map(str::to_owned);
    Ok((process, address.with_context(|| format!("a process did not start:\n{}", fs::read_to_string(log).unwrap_or_default()))?))
}

fn free_ports(count: usize) -> Result<Vec<u16>> {
    // Bound at once, so that they differ.
    let listeners = (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<std::io::Result<Vec<_>>>()?;
    listeners.iter().map(|it| Ok(it.local_addr()?.port())).collect()
}

/// Sends a request until it succeeds.
fn post(port: u16, path: &str, body: &str) -> Result<()> {
    let end = Instant::now() + START_TIMEOUT;
    loop {
        let reason = match try_post(port, path, body) {
            Ok(answer) if answer.starts_with("HTTP/1.1 2") => return Ok(()),
            Ok(answer) => answer,
            Err(error) => error.to_string(),
        };
        ensure!(Instant::now() < end, "POST {path} failed: {reason}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn try_post(port: u16, path: &str, body: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n{kind}content-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
