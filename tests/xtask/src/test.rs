//! Every check and every test, in the order in which they fail soonest.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::postgres::{Disk, Postgres};
use crate::project::Project;
use crate::{install, npm, page, sh, size, wasm};

/// Runs every check and every test; the test runner's counts come last.
pub fn everything(project: &Project) -> Result<()> {
    install::node_packages(project)?;
    install::wasm_compiler(project)?;
    install::chromium()?;
    install::postgres()?;
    check(project)?;
    sh::say("checking the page");
    sh::run(&mut project.npm(&["run", "--silent", "check"]))?;
    sh::run(&mut project.npm(&["test", "--silent"]))?;
    page::build(project)?;
    size::page(project)?;
    npm::assemble(project)?;
    wasm::extension(project)?;
    build(project)?;
    sh::say("testing");
    let most = project.cargo(&["test", "--workspace", "--no-fail-fast", "--", "--skip", "chat::"]);
    // It minds how long a text is shown, so nothing else runs beside it.
    let alone = project.cargo(&["test", "--workspace", "--test", "suite", "--", "chat::"]);
    counted(&mut [most, alone, on_postgres(project)])
}

/// Runs the checks and tests that need neither the engine in the browser nor the page.
pub fn ready(project: &Project) -> Result<()> {
    check(project)?;
    build(project)?;
    sh::say("testing without the browser");
    let tests = project.cargo(&["test", "--workspace", "--no-fail-fast", "--", "--skip", "browser"]);
    let mut both = [tests, on_postgres(project)];
    for tests in &mut both {
        tests.env("CONVENGINE_READY", "1");
    }
    counted(&mut both)
}

/// Runs a command that needs a PostgreSQL.
pub fn beside_postgres(project: &Project, words: &[&str]) -> Result<()> {
    let (program, arguments) = words.split_first().context("type: cargo xtask postgres -- COMMAND")?;
    let postgres = Postgres::start(Disk::Lazy)?;
    sh::run(postgres.known_to(project.command(program).args(arguments)))
}

/// What the second run of the suite leaves out: what needs no database, and what is about SQLite alone.
///
/// All else is played again, so that a new test is forgotten on neither database.
const ON_SQLITE_ALONE: [&str; 10] =
    ["browser", "sqlite", "budget::", "core::", "faults::", "fuzz::", "protocol::", "readme::", "scaled::", "tidy::"];

/// The suite again, with its databases on PostgreSQL.
fn on_postgres(project: &Project) -> Command {
    let mut tests = project.cargo(&["test", "--workspace", "--test", "suite", "--"]);
    for name in ON_SQLITE_ALONE {
        tests.args(["--skip", name]);
    }
    tests.env("CONVENGINE_TEST_DATABASE", "postgres");
    tests
}

/// Runs the tests beside a PostgreSQL and closes with the sum of the runner's own counts, which it prints once for each of its programs.
fn counted(runs: &mut [Command]) -> Result<()> {
    let postgres = Postgres::start(Disk::Lazy)?;
    let (mut passed, mut failed) = (0, 0);
    let mut ends = Vec::new();
    for tests in runs {
        let mut child = postgres.known_to(tests).stdout(Stdio::piped()).spawn().context("cannot start the tests")?;
        let stdout = child.stdout.take().context("the tests have no output")?;
        for line in BufReader::new(stdout).lines() {
            let line = line?;
            println!("{line}");
            passed += count(&line, " passed");
            failed += count(&line, " failed");
        }
        ends.push(child.wait()?);
    }
    drop(postgres);
    println!("{passed} passed, {failed} failed");
    let bad = ends.iter().find(|it| !it.success());
    ensure!(bad.is_none() && failed == 0, "the tests ended with {}", bad.or(ends.last()).map_or(String::new(), ToString::to_string));
    ensure!(passed > 0, "no test was run");
    Ok(())
}

/// The number before a word in a line of results.
fn count(line: &str, word: &str) -> usize {
    let Some(results) = line.strip_prefix("test result: ") else { return 0 };
    let before = results.split_once(word).map_or("", |it| it.0);
    before.rsplit(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0)
}

fn check(project: &Project) -> Result<()> {
    sh::say("checking the format");
    sh::run(&mut project.cargo(&["fmt", "--all", "--check"]))?;
    sh::say("checking the lints");
    sh::run(&mut project.cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

/// Tests start the server as a program, which the test runner does not build by itself.
///
/// Everything is built at once: the server alone would be built with fewer features of what it depends on, and all of that twice.
fn build(project: &Project) -> Result<()> {
    sh::say("building the server and the tests");
    sh::run(&mut project.cargo(&["build", "--workspace", "--all-targets"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_lines_of_results() {
        let line = "test result: FAILED. 17 passed; 1 failed; 0 ignored; 0 measured; 2 filtered out; finished in 9.62s";
        assert_eq!((count(line, " passed"), count(line, " failed")), (17, 1));
        assert_eq!(count("17 passed", " passed"), 0);
    }
}
