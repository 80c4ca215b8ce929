//! Fuzzes each target in its own process, and minimises findings.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use super::{FuzzLimit, Target};

/// The limit of a process's address space, in KB.
const MEMORY_LIMIT_KB: u32 = 4 << 20;

/// The time limit for minimising a finding.
const MINIMIZE_TIME: Duration = Duration::from_secs(60);

/// The maximum length of an input that is printed rather than written to a file, in bytes.
const MAX_PRINTED_BYTES: usize = 1_000;

/// The number of targets that run in parallel.
const PARALLEL_TARGETS: usize = 2;

/// The result of a target.
#[derive(Debug, Clone)]
pub struct Report {
    /// The target.
    pub name: &'static str,
    /// The seed that reproduces the inputs.
    pub seed: u64,
    /// The number of inputs, and of different results.
    pub counts: (u64, u64),
    /// The violation, if any.
    pub finding: Option<Finding>,
}

/// An input that causes a violation.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The violation.
    pub violation: String,
    /// The minimised input.
    pub input: Vec<u8>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (inputs, kinds) = self.counts;
        match &self.finding {
            None => write!(f, "{:<12}{inputs:>10} inputs, {kinds:>5} kinds, seed {}", self.name, self.seed),
            Some(Finding { violation: what, input }) if input.len() > MAX_PRINTED_BYTES => {
                let file = std::env::temp_dir().join(format!("convengine-fuzz-{}-{}.input", self.name, self.seed));
                let file = std::fs::write(&file, input).map_or_else(|it| it.to_string(), |()| file.display().to_string());
                write!(f, "{}: {what}, seed {}; {} bytes, saved as {file}", self.name, self.seed, input.len())
            }
            Some(Finding { violation: what, input }) => {
                write!(
                    f,
                    "{}: {what}, seed {}; add to tests/tests/suite/fuzz.rs: (\"{}\", b\"{}\")",
                    self.name,
                    self.seed,
                    self.name,
                    input.escape_ascii()
                )
            }
        }
    }
}

/// Fuzzes each target up to a limit, in processes of `program`, which is this crate's `soak`.
///
/// # Errors
/// If a process cannot be started.
pub fn run_targets(program: &Path, targets: &[&'static Target], seed: u64, limit: FuzzLimit) -> Result<Vec<Report>> {
    let open = Mutex::new(targets.iter().rev().copied().collect::<Vec<_>>());
    let next = || open.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let work = || std::iter::from_fn(next).map(|target| run_target(program, target, seed, limit)).collect::<Result<Vec<_>>>();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..PARALLEL_TARGETS).map(|_| scope.spawn(work)).collect();
        let mut reports = Vec::new();
        for worker in workers {
            reports.extend(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(reports)
    })
}

fn run_target(program: &Path, target: &'static Target, seed: u64, limit: FuzzLimit) -> Result<Report> {
    let folder = std::env::temp_dir().join(format!("convengine-fuzz-{}-{}", std::process::id(), target.name));
    std::fs::create_dir_all(&folder)?;
    let note = folder.join("input");
    let output = run_limited(program, &["fuzz-one", target.name, &seed.to_string(), &limit.to_string()], &note)?;
    let report = |figures, finding| Report { name: target.name, seed, counts: figures, finding };
    let report = if output.status.success() {
        let seen: Value = serde_json::from_slice(&output.stdout).context("the process printed no figures")?;
        report((seen["inputs"].as_u64().unwrap_or_default(), seen["kinds"].as_u64().unwrap_or_default()), None)
    } else {
        let input = std::fs::read(&note)?;
        let input = minimize(program, target, &folder.join("shorter"), input)?;
        report((0, 0), Some(Finding { violation: describe_failure(&output), input }))
    };
    std::fs::remove_dir_all(&folder)?;
    Ok(report)
}

/// Returns the first line of a process's error output, and its exit status.
fn describe_failure(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no error output");
    format!("{} ({})", first.trim_start_matches("error: "), output.status)
}

/// Runs a command of `test-tools soak` on a file, with limited memory.
fn run_limited(program: &Path, words: &[&str], file: &Path) -> Result<Output> {
    let mut command = Command::new("sh");
    command
        .env("RUST_BACKTRACE", "0")
        .args(["-c", &format!("ulimit -v {MEMORY_LIMIT_KB}; exec \"$0\" \"$@\"")])
        .arg(program)
        .arg("soak")
        .args(words)
        .arg(file);
    command.output().with_context(|| format!("cannot start {}", program.display()))
}

/// Removes every part of an input that is not needed to fail.
fn minimize(program: &Path, target: &Target, file: &PathBuf, mut input: Vec<u8>) -> Result<Vec<u8>> {
    let end = Instant::now() + MINIMIZE_TIME;
    let mut piece = input.len().next_power_of_two() / 2;
    while piece > 0 {
        let mut at = 0;
        while at < input.len() {
            if Instant::now() > end {
                return Ok(input);
            }
            let mut shorter = input.clone();
            shorter.drain(at..(at + piece).min(input.len()));
            std::fs::write(file, &shorter)?;
            if run_limited(program, &["fuzz-try", target.name], file)?.status.success() {
                at += piece;
            } else {
                input = shorter;
            }
        }
        piece /= 2;
    }
    Ok(input)
}
