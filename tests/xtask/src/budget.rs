//! Checks instructions and allocations of turns in the debug build, which tests need anyway; `cargo xtask bench` checks those of a release.

use anyhow::{Result, bail};

use crate::project::Project;
use crate::turns_run::TurnsRun;
use crate::{install, sh, size};

/// Repetitions of the shorter of two runs.
const TIMES: u64 = 2;

/// The turns of the conversation.
const TURNS: u64 = 10;

/// Counts, and fails if a count is above its budget. The build has to be current.
pub fn check(project: &Project) -> Result<()> {
    install::ensure_valgrind()?;
    sh::print_progress("counting instructions and allocations of the debug build");
    let binary = project.target.join("debug/turns");
    let conversation = TurnsRun::of_conversation("tests/packs/bench/plain.json", "core");
    let walk = TurnsRun { pack: "walk:64", mode: "core", turn: Some(2) };
    let counts = [
        ("debug_instructions_per_turn", Some(conversation.count_instructions(project, &binary, TIMES)? / (TIMES * TURNS))),
        ("debug_allocations_per_turn", Some(conversation.count_allocations(project, &binary, TIMES)? / (TIMES * TURNS))),
        ("debug_walk_instructions", Some(walk.count_instructions(project, &binary, TIMES)? / TIMES)),
        ("debug_walk_allocations", Some(walk.count_allocations(project, &binary, TIMES)? / TIMES)),
    ];
    for (key, count) in &counts {
        println!("{key:<32}{:>12}", count.map_or(String::new(), |it| it.to_string()));
    }
    let exceeded = size::find_exceeded(project, &counts)?;
    if exceeded.is_empty() { Ok(()) } else { bail!("{}", exceeded.join("; ")) }
}
