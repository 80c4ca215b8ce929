//! Counts per turn: instructions, allocations, bytes, statements.

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Bench, PACK, Target, turns};
use crate::turns_run::TurnsRun;
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
        let per_turn = |key: &str| read_sum(&sums, key).map(|sum| sum / count);
        let (project, binary) = (bench.project, bench.release_binary("turns"));
        let instructions = |run: TurnsRun<'_>| run.count_instructions(project, &binary, CONVERSATIONS);
        let instructions_per_turn = |mode| instructions(TurnsRun::of_conversation(PACK, mode)).map(|sum| sum / count);
        let core_instructions = instructions_per_turn("core")?;
        Ok(Self {
            core_instructions,
            audit_instructions: instructions_per_turn("audit")? - core_instructions,
            host_instructions: instructions_per_turn("rows")? - core_instructions,
            allocations: TurnsRun::of_conversation(PACK, "core").count_allocations(project, &binary, CONVERSATIONS)? / count,
            audit_rows: per_turn("audit_rows")?,
            audit_bytes: per_turn("audit_bytes")?,
            journal_bytes: per_turn("journal_bytes")?,
            stored_bytes: per_turn("stored_bytes")?,
            statements: turns::count_statements(bench)?,
            walk_instructions: instructions(TurnsRun { pack: WALK, mode: "core", turn: Some(2) })? / CONVERSATIONS,
            chain_instructions: instructions(TurnsRun { pack: CHAIN, mode: "core", turn: Some(1) })? / CONVERSATIONS,
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
            measured: measured.map_or("-".to_owned(), |value| value.to_string()),
            met: measured.map(|value| value <= limit),
        };
        vec![
            at_most("core: at most 2,000,000 instructions per turn", Some(self.core_instructions), 2_000_000),
            at_most("journal: at most 4,096 bytes per turn", Some(self.journal_bytes), 4096),
            at_most("rows: at most 32,768 bytes per turn", Some(self.stored_bytes), 32_768),
            at_most("statements: at most 8 per turn", Some(self.statements), 8),
            at_most("flow: at most 1,000,000 instructions for a walk through 64 nodes", Some(self.walk_instructions), 1_000_000),
            at_most("engine: at most 1,500,000 bytes brotli", self.engine_brotli, 1_500_000),
        ]
    }
}

fn measure_sums(bench: &Bench<'_>) -> Result<Value> {
    let text =
        sh::output(&mut TurnsRun::of_conversation(PACK, "bytes").command(bench.project, &bench.release_binary("turns"), CONVERSATIONS))
            .context("cannot run the turns")?;
    Ok(serde_json::from_str(&text)?)
}

fn read_sum(sums: &Value, key: &str) -> Result<u64> {
    sums.get(key).and_then(Value::as_u64).with_context(|| format!("no '{key}' in the sums"))
}
