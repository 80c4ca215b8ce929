//! The server processes that are measured.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Bench, PACK};
use crate::sh;

/// The length of a clock tick in `/proc`, in microseconds.
const TICK_US: u64 = 10_000;

/// A running server; it is stopped when dropped.
pub struct Server {
    child: Child,
    address: String,
    log: PathBuf,
    load: Command,
}

/// The results of a load.
pub struct LoadResult {
    pub turns: u64,
    pub conversations: u64,
    pub rate: f64,
    pub p50_us: u64,
    pub p99_us: u64,
}

impl Server {
    /// Starts the server on a database with the pack.
    pub fn start_engine(bench: &Bench<'_>, database: &Path, environment: &[(&str, &str)]) -> Result<Self> {
        let mut command = bench.project.command(bench.release_binary("convengine"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--database", &database_url(database)]).envs(environment.iter().copied());
        for (key, value) in read_settings(bench)? {
            command.arg("--set").arg(format!("{key}={value}"));
        }
        Self::start(bench, command, database)
    }

    /// Starts the ceiling: the same server without a core.
    pub fn start_ceiling(bench: &Bench<'_>, database: &Path) -> Result<Self> {
        let mut command = bench.project.command(bench.release_binary("ceiling"));
        command.args([&database_url(database), PACK]);
        Self::start(bench, command, database)
    }

    fn start(bench: &Bench<'_>, mut command: Command, database: &Path) -> Result<Self> {
        let log = database.with_extension("log");
        let mut child = command.stdout(Stdio::piped()).stderr(File::create(&log)?).spawn().context("cannot start the server")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("the server has no output")?).read_line(&mut line)?;
        let address = line.trim().rsplit("://").next().unwrap_or_default().to_owned();
        let mut load = bench.project.command(bench.release_binary("load"));
        load.args([&address, PACK]);
        let server = Self { child, address, log, load };
        ensure!(line.contains("://"), "the server did not start:\n{}", server.read_log()?);
        Ok(server)
    }

    /// Runs a load against the server, from a second process.
    pub fn run_load(&self, connections: usize, until: &str) -> Result<LoadResult> {
        let mut command = Command::new(self.load.get_program());
        command.args(self.load.get_args()).args([&connections.to_string(), until]).stderr(Stdio::inherit());
        command.current_dir(self.load.get_current_dir().unwrap_or(Path::new(".")));
        let text = sh::output(&mut command).context("the load failed")?;
        let seen: Value = serde_json::from_str(&text)?;
        let number = |key: &str| seen.get(key).and_then(Value::as_f64).with_context(|| format!("no '{key}' in what the load saw"));
        let whole = |key: &str| seen.get(key).and_then(Value::as_u64).with_context(|| format!("no '{key}' in what the load saw"));
        Ok(LoadResult {
            turns: whole("turns")?,
            conversations: whole("conversations")?,
            rate: number("turns")? / number("seconds")?,
            p50_us: whole("p50_us")?,
            p99_us: whole("p99_us")?,
        })
    }

    /// Returns the processor time so far, in microseconds.
    pub fn cpu_us(&self) -> Result<u64> {
        let stat = self.read_proc("stat")?;
        // The name, in parentheses, may contain spaces; user and system time are fields 14 and 15 of the line.
        let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |it| it.1).split_whitespace().collect();
        let ticks = |index: usize| fields.get(index).and_then(|it| it.parse::<u64>().ok()).context("cannot read the processor time");
        Ok((ticks(11)? + ticks(12)?) * TICK_US)
    }

    /// Returns the resident memory, in KB.
    pub fn resident_kb(&self) -> Result<u64> {
        let status = self.read_proc("status")?;
        let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:")).context("cannot read the resident memory")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }

    /// Returns the server's error output.
    pub fn read_log(&self) -> Result<String> {
        Ok(fs::read_to_string(&self.log)?)
    }

    /// Sends the pack's first message and waits for the answer.
    fn wait_for_first_answer(&self, pack: &Value) -> Result<()> {
        let body = pack.pointer("/turns/0/request/body").context("the pack has no message")?.to_string();
        let mut stream = TcpStream::connect(&self.address)?;
        write!(
            stream,
            "POST /api/v1/conversation/message HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        ensure!(answer.contains("\"success\":true"), "the server answered: {answer}");
        Ok(())
    }

    fn read_proc(&self, file: &str) -> Result<String> {
        Ok(fs::read_to_string(format!("/proc/{}/{file}", self.child.id()))?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Best effort: a process that did not start has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Measures the time from the start of a process to its first answer.
pub fn time_to_first_answer(bench: &Bench<'_>, database: &Path) -> Result<Duration> {
    let pack = read_pack(bench)?;
    let started = Instant::now();
    Server::start_engine(bench, database, &[])?.wait_for_first_answer(&pack)?;
    Ok(started.elapsed())
}

fn database_url(database: &Path) -> String {
    format!("sqlite:{}", database.display())
}

fn read_pack(bench: &Bench<'_>) -> Result<Value> {
    Ok(serde_json::from_str(&fs::read_to_string(bench.project.root.join(PACK))?)?)
}

/// Returns the pack's settings as keys and values.
fn read_settings(bench: &Bench<'_>) -> Result<Vec<(String, String)>> {
    let pack = read_pack(bench)?;
    let mut open = vec![("convengine".to_owned(), pack.get("settings").cloned().unwrap_or_default())];
    let mut found = Vec::new();
    while let Some((key, value)) = open.pop() {
        match value {
            Value::Object(members) => open.extend(members.into_iter().map(|(member, value)| (format!("{key}.{member}"), value))),
            Value::Null => {}
            Value::String(text) => found.push((key, text)),
            other => found.push((key, other.to_string())),
        }
    }
    Ok(found)
}
