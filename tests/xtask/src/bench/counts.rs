//! Counts per turn: instructions, allocations, bytes, statements.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Bench, PACK, Target, turns};
use crate::{install, sh, size};

/// The number of conversations of the shorter of two runs; the difference of both excludes the start of the process.
const CONVERSATIONS: u64 = 20;

/// A flow whose second turn walks through the maximum number of nodes.
const WALK: &str = "walk:64";

/// A chain whose first turn executes this many steps.
const CHAIN: &str = "chain:64";

/// Counts for one turn.
pub struct Counts {
    core_instructions: u64,
    audit_instructions: u64,
    host_instructions: u64,
    allocations: u64,
    audit_rows: u64,
    audit_bytes: u64,
    journal_bytes: u64,
    stored_bytes: u64,
    statements: u64,
    /// Instructions of a flow's turn that walks through 64 nodes.
    walk_instructions: u64,
    /// Instructions of a run that executes 64 steps of a chain.
    chain_instructions: u64,
    /// `None` if the engine is not built.
    engine_brotli: Option<u64>,
}

impl Counts {
    /// Counts everything.
    pub fn measure(bench: &Bench<'_>) -> Result<Self> {
        install::ensure_valgrind()?;
        sh::print_progress("counting instructions and allocations");
        let sums = measure_sums(bench)?;
        let count = read_sum(&sums, "turns")?;
        let per_turn = |key: &str| read_sum(&sums, key).map(|it| it / count);
        let instructions_per_turn = |mode| count_instructions(bench, TurnsRun::for_conversation(mode), CONVERSATIONS).map(|it| it / count);
        let core_instructions = instructions_per_turn("core")?;
        Ok(Self {
            core_instructions,
            audit_instructions: instructions_per_turn("audit")? - core_instructions,
            host_instructions: instructions_per_turn("rows")? - core_instructions,
            allocations: count_allocations(bench, count)?,
            audit_rows: per_turn("audit_rows")?,
            audit_bytes: per_turn("audit_bytes")?,
            journal_bytes: per_turn("journal_bytes")?,
            stored_bytes: per_turn("stored_bytes")?,
            statements: turns::count_statements(bench)?,
            walk_instructions: count_instructions(bench, TurnsRun { pack: WALK, mode: "core", turn: Some(2) }, CONVERSATIONS)?
                / CONVERSATIONS,
            chain_instructions: count_instructions(bench, TurnsRun { pack: CHAIN, mode: "core", turn: Some(1) }, CONVERSATIONS)?
                / CONVERSATIONS,
            engine_brotli: size::engine_brotli(bench.project)?,
        })
    }

    /// Returns the figures that have a limit in the budget file.
    pub fn budget_figures(&self) -> Vec<(&'static str, Option<u64>)> {
        vec![
            ("core_instructions_per_turn", Some(self.core_instructions)),
            ("host_instructions_per_turn", Some(self.host_instructions)),
            ("allocations_per_turn", Some(self.allocations)),
            ("audit_bytes_per_turn", Some(self.audit_bytes)),
            ("journal_bytes_per_turn", Some(self.journal_bytes)),
            ("statements_per_turn", Some(self.statements)),
            ("flow_walk_instructions", Some(self.walk_instructions)),
            ("chain_run_instructions", Some(self.chain_instructions)),
        ]
    }

    /// Prints the table.
    pub fn print(&self) {
        println!("\n{:<52}{:>12}", "per turn without a model, audit ALL", "");
        for (what, count) in [
            ("instructions of the core", self.core_instructions),
            ("instructions to write the audit rows as JSON", self.audit_instructions),
            ("instructions to write all rows, journal, hash", self.host_instructions),
            ("allocations of the core", self.allocations),
            ("audit rows", self.audit_rows),
            ("bytes of the audit rows", self.audit_bytes),
            ("bytes of the journal", self.journal_bytes),
            ("bytes of all rows, the journal in hexadecimal", self.stored_bytes),
            ("statements, including begin and commit", self.statements),
        ] {
            println!("{what:<52}{count:>12}");
        }
        println!("{:<52}{:>12}", "instructions of a walk through 64 nodes of a flow", self.walk_instructions);
        println!("{:<52}{:>12}", "instructions of a run of 64 steps of a chain", self.chain_instructions);
        let engine = self.engine_brotli.map_or("not built".to_owned(), |it| it.to_string());
        println!("{:<52}{engine:>12}", "bytes of the browser engine, brotli");
    }

    /// Returns the targets.
    pub fn targets(&self) -> Vec<Target> {
        let at_most = |what: &str, measured: Option<u64>, limit: u64| Target {
            label: what.to_owned(),
            measured: measured.map_or("-".to_owned(), |it| it.to_string()),
            met: measured.map(|it| it <= limit),
        };
        vec![
            at_most("core: at most 2,000,000 instructions per turn", Some(self.core_instructions), 2_000_000),
            at_most("journal: at most 4,096 bytes per turn", Some(self.journal_bytes), 4096),
            at_most("rows: at most 32,768 bytes per turn", Some(self.stored_bytes), 32_768),
            at_most("statements: at most 8 per turn", Some(self.statements), 8),
            at_most("flow: at most 1,000,000 instructions for a walk through 64 nodes", Some(self.walk_instructions), 1_000_000),
            at_most("engine: at most 665,600 bytes brotli", self.engine_brotli, 665_600),
            at_most("engine: at most 460,800 bytes brotli (long-term)", self.engine_brotli, 460_800),
        ]
    }
}

/// A run of the program `turns`, without the number of repetitions.
#[derive(Clone, Copy)]
pub(super) struct TurnsRun<'p> {
    pub pack: &'p str,
    pub mode: &'p str,
    /// One turn of a long conversation, instead of the whole conversation.
    pub turn: Option<u64>,
}

impl<'p> TurnsRun<'p> {
    /// Returns a run of the whole conversation of the pack.
    fn for_conversation(mode: &'p str) -> Self {
        TurnsRun { pack: PACK, mode, turn: None }
    }

    fn command(self, bench: &Bench<'_>, times: u64) -> Command {
        let mut command = bench.project.command(bench.release_binary("turns"));
        command.args([self.pack, &times.to_string(), self.mode]).args(self.turn.map(|it| it.to_string()));
        command
    }
}

fn measure_sums(bench: &Bench<'_>) -> Result<Value> {
    let text = sh::output(&mut TurnsRun::for_conversation("bytes").command(bench, CONVERSATIONS)).context("cannot run the turns")?;
    Ok(serde_json::from_str(&text)?)
}

fn read_sum(sums: &Value, key: &str) -> Result<u64> {
    sums.get(key).and_then(Value::as_u64).with_context(|| format!("no '{key}' in the sums"))
}

/// Returns the instructions of `times` repetitions, without the start of the process.
pub(super) fn count_instructions(bench: &Bench<'_>, played: TurnsRun<'_>, times: u64) -> Result<u64> {
    let collected = |times| run_valgrind(bench, "callgrind", "Collected : ", &played.command(bench, times));
    Ok(collected(2 * times)? - collected(times)?)
}

fn count_allocations(bench: &Bench<'_>, turns: u64) -> Result<u64> {
    let conversation = TurnsRun::for_conversation("core");
    let allocated = |times| run_valgrind(bench, "memcheck", "total heap usage: ", &conversation.command(bench, times));
    Ok((allocated(2 * CONVERSATIONS)? - allocated(CONVERSATIONS)?) / turns)
}

/// Runs turns under a tool of valgrind; returns the number after `mark` in its report.
fn run_valgrind(bench: &Bench<'_>, tool: &str, mark: &str, turns: &Command) -> Result<u64> {
    let mut command = bench.project.command("valgrind");
    command.arg(format!("--tool={tool}"));
    if tool == "callgrind" {
        command.arg("--callgrind-out-file=/dev/null");
    }
    let output = command.arg(turns.get_program()).args(turns.get_args()).output().context("cannot start valgrind")?;
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "the turns failed under valgrind:\n{report}");
    let (_, number) = report.rsplit_once(mark).with_context(|| format!("no '{mark}' in valgrind's report:\n{report}"))?;
    let digits: String = number.chars().take_while(|it| it.is_ascii_digit() || *it == ',').filter(char::is_ascii_digit).collect();
    digits.parse().with_context(|| format!("no number after '{mark}'"))
}
