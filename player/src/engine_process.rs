//! A server or worker as a process on loopback, which can be killed and started again at its address.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, ensure};

/// The first of the ports that are given to processes. The system takes ports of outgoing connections from above this range, so a port stays
/// free while its process is started again.
const FIRST_PORT: u16 = 12_000;

/// The number of these ports.
const PORTS: u16 = 20_000;

/// How a process is started.
#[derive(Debug, Clone)]
pub struct EngineCommand {
    /// The program of the engine.
    pub program: PathBuf,
    /// Its arguments, among them where it listens.
    pub arguments: Vec<String>,
    /// The file for standard error; by default none.
    pub log: Option<PathBuf>,
}

/// A running or killed process. Dropping it kills the process.
#[derive(Debug)]
pub struct EngineProcess {
    command: EngineCommand,
    /// Absent between the kill and the restart.
    process: Option<Child>,
    address: String,
}

impl EngineProcess {
    /// Starts a process and waits until it listens.
    ///
    /// # Errors
    /// Returns an error when it does not start.
    pub fn start(command: EngineCommand) -> Result<EngineProcess> {
        let (process, address) = command.spawn(None)?;
        Ok(EngineProcess { command, process: Some(process), address })
    }

    /// Like [`EngineProcess::start`]; the process is killed at a crossing of a crash point, if one is given. One that is started again is not.
    ///
    /// # Errors
    /// Returns an error when it does not start.
    pub fn start_with_crash(command: EngineCommand, crash_at: Option<u32>) -> Result<EngineProcess> {
        let (process, address) = command.spawn(crash_at)?;
        Ok(EngineProcess { command, process: Some(process), address })
    }

    /// The base URL.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The process id, unless the process was killed.
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    /// Whether the process has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.process.as_mut().is_some_and(|process| process.try_wait().is_ok_and(|status| status.is_some()))
    }

    /// Kills the process, as `kill -9` does.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // Best effort: the process is ours, and may have ended.
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Starts a process that was killed or has ended.
    ///
    /// # Errors
    /// Returns an error when it does not start.
    pub fn restart(&mut self) -> Result<()> {
        self.kill();
        let (process, address) = self.command.spawn(None)?;
        (self.process, self.address) = (Some(process), address);
        Ok(())
    }

    /// Kills the process and starts it in another way.
    ///
    /// # Errors
    /// Returns an error when it does not start.
    pub fn restart_with(&mut self, command: EngineCommand) -> Result<()> {
        self.command = command;
        self.restart()
    }
}

impl Drop for EngineProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

impl EngineCommand {
    /// Starts the process; returns it with its address, which is the end of its first line.
    fn spawn(&self, crash_at: Option<u32>) -> Result<(Child, String)> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        if let Some(log) = &self.log {
            command.stderr(OpenOptions::new().create(true).append(true).open(log)?);
        }
        if let Some(crossing) = crash_at {
            command.env("CONVENGINE_CRASH_AT", crossing.to_string());
        }
        let mut process = command.spawn().with_context(|| format!("cannot start {}", self.program.display()))?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("the process has no standard output")?).read_line(&mut line)?;
        let address = line.trim().split_once(" listening on ").map(|it| it.1.to_owned());
        if address.is_none() {
            // Best effort: the process is ours, and has ended if it printed nothing.
            let _ = process.kill();
            let _ = process.wait();
        }
        let log = self.log.as_ref().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        Ok((process, address.with_context(|| format!("the process did not start: '{}'\n{log}", line.trim()))?))
    }
}

/// Returns free ports of loopback, each of which is given once: that of a killed process stays its own until it is started again.
///
/// # Errors
/// Returns an error when there are not enough.
pub fn free_ports(count: usize) -> Result<Vec<u16>> {
    static NEXT: OnceLock<AtomicUsize> = OnceLock::new();
    // Programs that look at the same time begin at different ones.
    let next = NEXT.get_or_init(|| AtomicUsize::new(uuid::Uuid::new_v4().as_u128() as usize % usize::from(PORTS)));
    let candidates = (0..PORTS).map(|_| FIRST_PORT + (next.fetch_add(1, Ordering::Relaxed) % usize::from(PORTS)) as u16);
    let ports: Vec<u16> = candidates.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).take(count).collect();
    ensure!(ports.len() == count, "no free ports");
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn free_ports_are_given_once() {
        let ports = free_ports(5).unwrap();
        assert!(ports.iter().all(|port| (FIRST_PORT..FIRST_PORT + PORTS).contains(port)), "{ports:?}");
        let further = free_ports(5).unwrap();
        assert_eq!(ports.iter().chain(&further).collect::<BTreeSet<_>>().len(), 10, "{ports:?} {further:?}");
    }
}
