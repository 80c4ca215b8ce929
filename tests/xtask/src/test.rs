//! Runs all checks and tests, those that fail fastest first.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail, ensure};

use crate::postgres::{Durability, Postgres};
use crate::project::Project;
use crate::{budget, build, mcp, sh};

/// Runs all checks and tests; prints the test runner's counts last.
pub fn run_all(project: &Project) -> Result<()> {
    check_format(project)?;
    build::build_all(project)?;
    let clients = mcp::tests(project)?;
    sh::print_progress("testing");
    let arguments = ["test", "--workspace", "--no-fail-fast", "--", "--skip", "chat::", "--skip", POSTGRES_ONLY];
    let parallel = build::cargo_with_clippy(project, &arguments)?;
    // These tests depend on timing, so nothing else runs beside them.
    let sequential = build::cargo_with_clippy(project, &["test", "--workspace", "--test", "suite", "--", "chat::"])?;
    let mut runs = vec![parallel, sequential, suite_on_postgres(project)?];
    runs.extend(clients);
    thread::scope(|scope| {
        let counted = scope.spawn(|| budget::check(project));
        let tested = run_and_count(&mut runs);
        counted.join().unwrap_or_else(|_| bail!("counting panicked")).and(tested)
    })
}

/// Runs the checks and tests that need neither the browser engine nor the page.
pub fn run_ready(project: &Project) -> Result<()> {
    check_format(project)?;
    build::build_without_browser(project)?;
    sh::print_progress("testing without the browser");
    let arguments = ["test", "--workspace", "--no-fail-fast", "--", "--skip", "browser", "--skip", POSTGRES_ONLY];
    let tests = build::cargo_with_clippy(project, &arguments)?;
    let mut both = [tests, suite_on_postgres(project)?];
    for tests in &mut both {
        tests.env("CONVENGINE_READY", "1");
    }
    run_and_count(&mut both)
}

/// Builds the server and tests it with independent clients of the Model Context Protocol.
pub fn run_clients(project: &Project) -> Result<()> {
    build::build_native(project)?;
    mcp::tests(project)?.iter_mut().try_for_each(sh::run)
}

/// Runs a command beside a PostgreSQL.
pub fn run_with_postgres(project: &Project, command_line: &[&str]) -> Result<()> {
    let (program, arguments) = command_line.split_first().context("usage: cargo xtask postgres -- COMMAND")?;
    let postgres = Postgres::start(Durability::Relaxed)?;
    sh::run(postgres.pass_url_to(project.command(program).args(arguments)))
}

/// The tests that only the second run has: processes of a cluster share a database.
const POSTGRES_ONLY: &str = "restate::";

/// The tests that the second run of the suite skips: those without a database and those for SQLite only.
///
/// All others run again, so that a new test runs on both databases by default.
const SQLITE_ONLY: [&str; 20] = [
    "browser",
    "sqlite",
    "budget::",
    "core::",
    "embed::",
    "faults::",
    "flow::",
    "fuzz::",
    "invariants::",
    "json_schema::",
    "links::",
    "nlu::",
    "protocol::",
    "readme::",
    "reference_pages::",
    "retrieval::",
    "scaled::",
    "scripts::",
    "talks::",
    "tidy::",
];

/// Returns the run of the suite on PostgreSQL.
fn suite_on_postgres(project: &Project) -> Result<Command> {
    let mut tests = build::cargo_with_clippy(project, &["test", "--workspace", "--test", "suite", "--"])?;
    for name in SQLITE_ONLY {
        tests.args(["--skip", name]);
    }
    tests.env("CONVENGINE_TEST_DATABASE", "postgres");
    Ok(tests)
}

/// Runs tests beside a PostgreSQL and prints the sum of the counts that the test runner prints for each test program.
fn run_and_count(runs: &mut [Command]) -> Result<()> {
    let postgres = Postgres::start(Durability::Relaxed)?;
    let (mut passed, mut failed) = (0, 0);
    let mut statuses = Vec::new();
    for tests in runs {
        let mut child = postgres.pass_url_to(tests).stdout(Stdio::piped()).spawn().context("cannot start the tests")?;
        let stdout = child.stdout.take().context("the tests have no output")?;
        for line in BufReader::new(stdout).lines() {
            let line = line?;
            println!("{line}");
            passed += parse_count(&line, " passed");
            failed += parse_count(&line, " failed");
        }
        statuses.push(child.wait()?);
    }
    drop(postgres);
    println!("{passed} passed, {failed} failed");
    let failure = statuses.iter().find(|it| !it.success());
    ensure!(
        failure.is_none() && failed == 0,
        "the tests ended with {}",
        failure.or(statuses.last()).map_or(String::new(), ToString::to_string)
    );
    ensure!(passed > 0, "no tests ran");
    Ok(())
}

/// Returns the number before a word in a result line.
fn parse_count(line: &str, word: &str) -> usize {
    let Some(results) = line.strip_prefix("test result: ") else { return 0 };
    let before = results.split_once(word).map_or("", |it| it.0);
    before.rsplit(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0)
}

fn check_format(project: &Project) -> Result<()> {
    sh::print_progress("checking the format");
    sh::run(&mut project.cargo(&["fmt", "--all", "--check"]))?;
    sh::run(&mut project.cargo(&["fmt", "--all", "--check", "--manifest-path", "python/Cargo.toml"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_lines_of_results() {
        let line = "test result: FAILED. 17 passed; 1 failed; 0 ignored; 0 measured; 2 filtered out; finished in 9.62s";
        assert_eq!((parse_count(line, " passed"), parse_count(line, " failed")), (17, 1));
        assert_eq!(parse_count("17 passed", " passed"), 0);
    }
}
