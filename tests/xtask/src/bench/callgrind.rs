//! Instructions and allocations of a server that runs under callgrind.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::Bench;
use super::database::Database;
use super::server::{Scenario, Server, engine_command};
use crate::sh;

/// What a part of a run cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    pub instructions: u64,
    pub allocations: u64,
}

impl Cost {
    /// Returns the cost of one of `count`.
    pub fn per(self, count: u64) -> Cost {
        Cost { instructions: self.instructions / count, allocations: self.allocations / count }
    }
}

/// A server under callgrind; nothing is counted but what [`CountedServer::count`] runs.
pub struct CountedServer {
    pub server: Server,
    out: PathBuf,
    parts: u32,
}

impl CountedServer {
    /// Starts an engine.
    pub fn start(bench: &Bench<'_>, engine: &Path, scenario: Scenario<'_>, database: &Database<'_>) -> Result<Self> {
        let out = database.file("callgrind");
        let counted = engine_command(bench, engine, scenario, &database.url())?;
        let mut command = bench.project.command("valgrind");
        command.args(["--tool=callgrind", "--instr-atstart=no", "--dump-instr=no", "--dump-line=no"]);
        command.arg(format!("--callgrind-out-file={}", out.display()));
        command.arg(counted.get_program()).args(counted.get_args());
        Ok(Self { server: Server::start(command, database)?, out, parts: 0 })
    }

    /// Runs `work` and returns what the server did meanwhile.
    pub fn count<T>(&mut self, work: impl FnOnce() -> Result<T>) -> Result<(T, Cost)> {
        self.control(&["instrumentation", "on"])?;
        let done = work()?;
        self.control(&["dump"])?;
        self.control(&["instrumentation", "off"])?;
        self.parts += 1;
        let file = self.out.with_extension(format!("callgrind.{}", self.parts));
        let text = fs::read_to_string(&file).with_context(|| format!("no profile '{}'", file.display()))?;
        fs::remove_file(file)?;
        Ok((done, parse_profile(&text)?))
    }

    fn control(&self, command: &[&str]) -> Result<()> {
        let mut control = Command::new("vgdb");
        sh::run_quietly(control.arg(format!("--pid={}", self.server.process_id())).args(command))
    }
}

impl Drop for CountedServer {
    fn drop(&mut self) {
        // Best effort: callgrind writes it at the end of the process, and only if that is not killed.
        let _ = fs::remove_file(&self.out);
    }
}

/// Sums up a profile. Calls between functions of an allocator, such as from `__rust_alloc` to `malloc`, are not further allocations.
fn parse_profile(text: &str) -> Result<Cost> {
    let mut functions = Functions::default();
    let (mut caller_allocates, mut callee_allocates) = (false, false);
    let mut allocations = 0;
    for line in text.lines() {
        if let Some(function) = line.strip_prefix("fn=") {
            caller_allocates = functions.allocates(function);
        } else if let Some(function) = line.strip_prefix("cfn=") {
            callee_allocates = functions.allocates(function);
        } else if let Some(calls) = line.strip_prefix("calls=")
            && callee_allocates
            && !caller_allocates
        {
            let count = calls.split_whitespace().next().and_then(|count| count.parse::<u64>().ok());
            allocations += count.with_context(|| format!("no number of calls in '{line}'"))?;
        }
    }
    let totals = text.lines().find_map(|it| it.strip_prefix("totals: ")).context("no totals in the profile")?;
    Ok(Cost { instructions: totals.trim().parse()?, allocations })
}

/// The functions of a profile: whether the function of a number allocates.
#[derive(Default)]
struct Functions<'t>(HashMap<&'t str, bool>);

impl<'t> Functions<'t> {
    /// Returns whether a function allocates; it is `(NUMBER) NAME`, or `(NUMBER)` when it was named before.
    fn allocates(&mut self, function: &'t str) -> bool {
        match function.split_once(' ') {
            Some((number, name)) => *self.0.entry(number).insert_entry(is_allocator(name)).get(),
            None => self.0.get(function).copied().unwrap_or_default(),
        }
    }
}

/// Returns whether a function of the C library, of Rust or of mimalloc returns new memory.
fn is_allocator(name: &str) -> bool {
    // Callgrind adds the depth of a recursion, and the C library a version or an alias.
    let name = name.split(['\'', '@']).next().unwrap_or_default();
    let suffixes =
        ["rust_alloc", "rust_alloc_zeroed", "rust_realloc", "rdl_alloc", "rdl_alloc_zeroed", "rdl_realloc", "rg_alloc", "rg_realloc"];
    let is_rust = suffixes.iter().any(|suffix| name.ends_with(&format!("__{suffix}")));
    let is_mimalloc = name.contains("mi_") && name.contains("alloc");
    is_rust || is_mimalloc || ["malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "memalign"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_allocators_are_counted_once() {
        let profile = "totals: 99\nfn=(1) turn\n0 5\ncfn=(2) _RNvCs_7___rustc::__rust_alloc\ncalls=3 0\n0 10\ncfn=(4) free\ncalls=9 0\n0 1\n\n\
            fn=(2)\n0 5\ncfn=(3) malloc\ncalls=3 0\n0 5\n\nfn=(5) sqlite3_step\ncfn=(3)\ncalls=4 0\n0 1\n";
        assert_eq!(parse_profile(profile).unwrap(), Cost { instructions: 99, allocations: 7 });
        assert!(is_allocator("mi_malloc_aligned") && is_allocator("__rdl_realloc") && is_allocator("malloc'2"));
        assert!(!is_allocator("mi_free") && !is_allocator("__rust_dealloc") && !is_allocator("sqlite3_malloc"));
    }
}
