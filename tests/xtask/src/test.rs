//! Runs all checks and tests, those that fail fastest first.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::postgres::{Durability, Postgres};
use crate::project::Project;
use crate::{budget, deny, install, mcp, npm, page, sh, size, suites, wasm};

/// Runs all checks and tests; prints the test runner's counts last.
pub fn run_all(project: &Project) -> Result<()> {
    install::ensure_node_packages(project)?;
    install::ensure_wasm_compiler(project)?;
    install::ensure_chromium()?;
    install::ensure_postgres()?;
    run_checks(project)?;
    sh::print_progress("checking the page");
    sh::run(&mut project.npm(&["run", "--silent", "check"]))?;
    sh::run(&mut project.npm(&["test", "--silent"]))?;
    deny::check(project)?;
    page::build(project)?;
    size::check_page(project)?;
    npm::assemble(project)?;
    wasm::build_extension(project)?;
    build(project)?;
    budget::check(project)?;
    let clients = mcp::tests(project)?;
    suites::install(project)?;
    sh::print_progress("testing");
    let parallel = project.cargo(&["test", "--workspace", "--no-fail-fast", "--", "--skip", "chat::"]);
    // These tests depend on timing, so nothing else runs beside them.
    let sequential = project.cargo(&["test", "--workspace", "--test", "suite", "--", "chat::"]);
    let mut runs = vec![parallel, sequential, suite_on_postgres(project)];
    runs.extend(clients);
    run_and_count(&mut runs)
}

/// Runs the checks and tests that need neither the browser engine nor the page.
pub fn run_ready(project: &Project) -> Result<()> {
    run_checks(project)?;
    build(project)?;
    mcp::install_node_packages(project)?;
    suites::install(project)?;
    sh::print_progress("testing without the browser");
    let tests = project.cargo(&["test", "--workspace", "--no-fail-fast", "--", "--skip", "browser"]);
    let mut both = [tests, suite_on_postgres(project)];
    for tests in &mut both {
        tests.env("CONVENGINE_READY", "1");
    }
    run_and_count(&mut both)
}

/// Builds the server and tests it with independent clients of the Model Context Protocol.
pub fn run_clients(project: &Project) -> Result<()> {
    sh::run(&mut project.cargo(&["build", "--package", "convengine-server"]))?;
    mcp::tests(project)?.iter_mut().try_for_each(sh::run)
}

/// Runs a command beside a PostgreSQL.
pub fn run_with_postgres(project: &Project, command_line: &[&str]) -> Result<()> {
    let (program, arguments) = command_line.split_first().context("usage: cargo xtask postgres -- COMMAND")?;
    let postgres = Postgres::start(Durability::Relaxed)?;
    sh::run(postgres.pass_url_to(project.command(program).args(arguments)))
}

/// The tests that the second run of the suite skips: those without a database and those for SQLite only.
///
/// All others run again, so that a new test runs on both databases by default.
const SQLITE_ONLY: [&str; 10] =
    ["browser", "sqlite", "budget::", "core::", "faults::", "fuzz::", "protocol::", "readme::", "scaled::", "tidy::"];

/// Returns the run of the suite on PostgreSQL.
fn suite_on_postgres(project: &Project) -> Command {
    let mut tests = project.cargo(&["test", "--workspace", "--test", "suite", "--"]);
    for name in SQLITE_ONLY {
        tests.args(["--skip", name]);
    }
    tests.env("CONVENGINE_TEST_DATABASE", "postgres");
    tests
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

fn run_checks(project: &Project) -> Result<()> {
    sh::print_progress("checking the format");
    sh::run(&mut project.cargo(&["fmt", "--all", "--check"]))?;
    sh::run(&mut project.cargo(&["fmt", "--all", "--check", "--manifest-path", "python/Cargo.toml"]))?;
    sh::print_progress("running clippy");
    sh::run(&mut project.cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

/// Builds the server, which tests start as a program and the test runner does not build.
///
/// Everything is built in one call: the server alone would be built with fewer features of its dependencies, which would then be built
/// twice.
fn build(project: &Project) -> Result<()> {
    sh::print_progress("building the server and the tests");
    sh::run(&mut project.cargo(&["build", "--workspace", "--all-targets"]))
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
