//! The server processes that are measured, and the load on them.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::database::Database;
use super::{Bench, process};
use crate::sh;

/// A configuration that is measured.
#[derive(Clone, Copy)]
pub struct Scenario<'s> {
    pub name: &'s str,
    /// The pack, absolute or from the root of the workspace.
    pub pack: &'s Path,
    /// Settings that override those of the pack.
    pub settings: &'s [&'s str],
}

/// A running server; it is stopped when dropped.
pub struct Server {
    child: Child,
    address: String,
    log: PathBuf,
}

impl Server {
    /// Starts an engine on a database with the scenario's pack.
    pub fn start_engine(bench: &Bench<'_>, engine: &Path, scenario: Scenario<'_>, database: &Database<'_>) -> Result<Self> {
        let command = engine_command(bench, engine, scenario, &database.url())?;
        Self::start(command, database)
    }

    /// Starts the ceiling: the same server without a core.
    pub fn start_ceiling(bench: &Bench<'_>, scenario: Scenario<'_>, database: &Database<'_>) -> Result<Self> {
        let mut command = bench.project.command(bench.release_binary("ceiling"));
        command.arg(database.url()).arg(scenario.pack);
        for setting in scenario.settings {
            command.args(["--set", setting]);
        }
        Self::start(command, database)
    }

    /// Starts a server and waits until it listens; its log is a file beside the database.
    pub fn start(command: Command, database: &Database<'_>) -> Result<Self> {
        Self::start_with_log(command, database.file("log"))
    }

    /// Starts a server and waits until it listens.
    pub fn start_with_log(mut command: Command, log: PathBuf) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).stderr(File::create(&log)?).spawn().context("cannot start the server")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("the server has no output")?).read_line(&mut line)?;
        let address = line.trim().rsplit("://").next().unwrap_or_default().to_owned();
        let server = Self { child, address, log };
        ensure!(line.contains("://"), "the server did not start:\n{}", server.read_log()?);
        Ok(server)
    }

    /// Returns the host and port where it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the id of the process.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the processor time so far, in microseconds.
    pub fn cpu_us(&self) -> Result<u64> {
        process::cpu_us(self.process_id())
    }

    /// Returns the resident memory, in KB.
    pub fn resident_kb(&self) -> Result<u64> {
        process::resident_kb(self.process_id())
    }

    /// Returns the server's error output.
    pub fn read_log(&self) -> Result<String> {
        Ok(fs::read_to_string(&self.log)?)
    }

    /// Sends the pack's first request and waits for the answer.
    pub fn wait_for_first_answer(&self, bench: &Bench<'_>, pack: &Path) -> Result<()> {
        let pack = read_pack(bench, pack)?;
        let request = pack.pointer("/turns/0/request").context("the pack has no message")?;
        let path = request.get("path").and_then(Value::as_str).context("the message has no path")?;
        let body = request.get("body").context("the message has no body")?.to_string();
        let mut stream = TcpStream::connect(&self.address)?;
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        ensure!(answer.starts_with("HTTP/1.1 20"), "the server answered: {answer}");
        Ok(())
    }

    /// Stops the server with a signal and waits for its end, so that its database is complete.
    pub fn stop(mut self) -> Result<()> {
        sh::run_quietly(Command::new("kill").args(["-TERM", &self.child.id().to_string()]))?;
        let status = self.child.wait()?;
        // The ceiling does not handle the signal.
        ensure!(status.success() || status.code().is_none(), "the server ended with {status}:\n{}", self.read_log()?);
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Best effort: a process that did not start has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the command that serves a database with the settings of the pack and of the scenario.
pub fn engine_command(bench: &Bench<'_>, engine: &Path, scenario: Scenario<'_>, url: &str) -> Result<Command> {
    subcommand(bench, engine, &["serve", "--listen", "127.0.0.1:0"], scenario, url)
}

/// Returns a command on a database with the settings of the pack and of the scenario, and the answers that the pack has for its models.
pub fn subcommand(bench: &Bench<'_>, engine: &Path, arguments: &[&str], scenario: Scenario<'_>, url: &str) -> Result<Command> {
    let mut command = bench.project.command(engine);
    command.args(arguments).args(["--database", url]);
    if read_pack(bench, scenario.pack)?.pointer("/llm/0").is_some() {
        command.arg("--llm").arg(format!("scripted:{}", scenario.pack.display()));
    }
    for setting in read_settings(bench, scenario.pack)?.iter().map(String::as_str).chain(scenario.settings.iter().copied()) {
        command.args(["--set", setting]);
    }
    Ok(command)
}

/// A load generator with open connections; it ends when dropped.
pub struct Load {
    child: Child,
    commands: Option<ChildStdin>,
    results: BufReader<ChildStdout>,
}

/// The results of a load.
pub struct LoadResult {
    pub turns: u64,
    pub rate: f64,
    pub p50_us: f64,
    pub p99_us: f64,
}

impl Load {
    /// Starts the load generator on one server.
    pub fn connect(bench: &Bench<'_>, server: &Server, pack: &Path, connections: usize) -> Result<Self> {
        Self::connect_all(bench, std::slice::from_ref(server), pack, connections)
    }

    /// Starts the load generator with its connections spread over the servers.
    pub fn connect_all(bench: &Bench<'_>, servers: &[Server], pack: &Path, connections: usize) -> Result<Self> {
        let addresses: Vec<&str> = servers.iter().map(Server::address).collect();
        let mut command = bench.project.command(bench.release_binary("test-tools"));
        command.arg("load").arg(addresses.join(",")).arg(pack).arg(connections.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start the load")?;
        let (commands, results) = (child.stdin.take(), child.stdout.take().context("the load has no output")?);
        Ok(Self { child, commands, results: BufReader::new(results) })
    }

    /// Returns the processor time of the generator itself so far, in microseconds.
    pub fn cpu_us(&self) -> Result<u64> {
        process::cpu_us(self.child.id())
    }

    /// Plays `seconds:S`, `conversations:N` or `turns:N`.
    pub fn play(&mut self, amount: &str) -> Result<LoadResult> {
        writeln!(self.commands.as_mut().context("the load has no input")?, "{amount}")?;
        let mut line = String::new();
        self.results.read_line(&mut line)?;
        let seen: Value = serde_json::from_str(&line).context("the load failed")?;
        let number = |key: &str| seen.get(key).and_then(Value::as_f64).with_context(|| format!("no '{key}' in what the load saw"));
        let turns = seen.get("turns").and_then(Value::as_u64).filter(|it| *it > 0).context("the load played no turn")?;
        Ok(LoadResult { turns, rate: number("turns")? / number("seconds")?, p50_us: number("p50_us")?, p99_us: number("p99_us")? })
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // The load ends with its input.
        drop(self.commands.take());
        let _ = self.child.wait();
    }
}

/// Reads a pack, whose path is absolute or from the root of the workspace.
pub fn read_pack(bench: &Bench<'_>, pack: &Path) -> Result<Value> {
    let file = bench.project.root.join(pack);
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read '{}'", file.display()))?;
    Ok(serde_json::from_str(&text)?)
}

/// Returns the pack's settings as `key=value`.
fn read_settings(bench: &Bench<'_>, pack: &Path) -> Result<Vec<String>> {
    let pack = read_pack(bench, pack)?;
    let mut open = vec![("convengine".to_owned(), pack.get("settings").cloned().unwrap_or_default())];
    let mut found = Vec::new();
    while let Some((key, value)) = open.pop() {
        match value {
            Value::Object(members) => open.extend(members.into_iter().map(|(member, value)| (format!("{key}.{member}"), value))),
            Value::Null => {}
            Value::String(text) => found.push(format!("{key}={text}")),
            other => found.push(format!("{key}={other}")),
        }
    }
    Ok(found)
}
