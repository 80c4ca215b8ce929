//! Every check and every test, in the order in which they fail soonest.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::project::Project;
use crate::{install, page, sh, size, wasm};

/// Runs every check and every test; the test runner's counts come last.
pub fn everything(project: &Project) -> Result<()> {
    install::node_packages(project)?;
    install::wasm_compiler(project)?;
    install::chromium()?;
    check(project)?;
    sh::say("checking the page");
    sh::run(&mut project.npm(&["run", "--silent", "check"]))?;
    sh::run(&mut project.npm(&["test", "--silent"]))?;
    page::build(project)?;
    size::page(project)?;
    wasm::extension(project)?;
    build(project)?;
    sh::say("testing");
    counted(&mut project.cargo(&["test", "--workspace"]))
}

/// Runs the checks and tests that need neither the engine in the browser nor the page.
pub fn ready(project: &Project) -> Result<()> {
    check(project)?;
    build(project)?;
    sh::say("testing without the browser");
    let mut tests = project.cargo(&["test", "--workspace", "--", "--skip", "browser"]);
    counted(tests.env("CONVENGINE_READY", "1"))
}

/// Runs the tests and closes with the sum of the runner's own counts, which it prints once for each of its programs.
fn counted(tests: &mut Command) -> Result<()> {
    let mut child = tests.stdout(Stdio::piped()).spawn().context("cannot start the tests")?;
    let stdout = child.stdout.take().context("the tests have no output")?;
    let (mut passed, mut failed) = (0, 0);
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        println!("{line}");
        passed += count(&line, " passed");
        failed += count(&line, " failed");
    }
    let status = child.wait()?;
    println!("{passed} passed, {failed} failed");
    ensure!(status.success() && failed == 0, "the tests ended with {status}");
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
