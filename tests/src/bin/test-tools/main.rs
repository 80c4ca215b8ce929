//! The programs beside the tests, one a command: `cargo xtask` calls them for long tests, benchmarks and generated pages.

mod classifier;
mod cluster;
mod faults;
mod knowledge;
mod load;
mod reference;
mod replay;
mod restate;
mod retrieval;
mod soak;
mod synthetic;
mod teeth;

use std::process::ExitCode;

use anyhow::{Result, bail};

const COMMANDS: &str = "classifier, cluster, faults, knowledge, load, reference, replay, restate, retrieval, soak, synthetic, teeth; each is described in its file";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a command; returns whether what it checks holds.
fn run(words: &[&str]) -> Result<bool> {
    let done = match words {
        ["faults", words @ ..] => return faults::run(words),
        ["teeth"] => return teeth::run(),
        ["classifier", words @ ..] => classifier::run(words),
        ["cluster", words @ ..] => cluster::run(words),
        ["knowledge", words @ ..] => knowledge::run(words),
        ["load", words @ ..] => load::run(words),
        ["reference"] => reference::run(),
        ["replay", words @ ..] => replay::run(words),
        ["restate", words @ ..] => restate::run(words),
        ["retrieval", words @ ..] => retrieval::run(words),
        ["soak", words @ ..] => soak::run(words),
        ["synthetic", words @ ..] => synthetic::run(words),
        _ => bail!("usage: test-tools COMMAND; commands: {COMMANDS}"),
    };
    done.map(|()| true)
}
