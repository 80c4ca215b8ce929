//! Runs the test programs beside a PostgreSQL, counts, and says which tests were slow.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use anyhow::{Context, Result, bail, ensure};

use crate::postgres::TestServers;
use crate::project::Project;
use crate::{build, sh};

/// What is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Every test.
    All,
    /// Not those marked `#[ignore]`, which need what `cargo xtask ready` does not build: the page with its browser, the interpreter of
    /// scripts, or the example extension.
    WithoutPage,
}

/// The programs of all tests but those of the documentation.
const PROGRAMS: [&str; 3] = ["test", "--workspace", "--tests"];

/// The tests of the documentation.
const DOCUMENTATION: [&str; 3] = ["test", "--workspace", "--doc"];

/// The page whose table names the test that shows each row.
const ATTACKS: &str = "docs/spec/attacks.md";

/// What the attribute `test` of `tests/macros` appends to the names of tests.
const ENVIRONMENTS: [&str; 5] = ["sqlite", "postgres", "pgvector", "browser", "no_database"];

/// The variable with the file to which tests append their durations.
const DURATIONS: &str = "CONVENGINE_TEST_DURATIONS";

/// The variable that says that the server has been built, so that the tests do not ask whether its sources have changed since.
const SERVER_IS_BUILT: &str = "CONVENGINE_TEST_SERVER_IS_BUILT";

/// The number of slow tests that are printed.
const SLOWEST: usize = 10;

/// Tests mostly wait, for servers, databases, models and timeouts, so there are several for each processor.
const TESTS_PER_PROCESSOR: usize = 4;

/// The fewest and the most tests at a time.
const PARALLEL_TESTS: (usize, usize) = (8, 24);

/// The number of tests by their outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
}

/// A finished run of test programs.
pub struct Ended {
    status: ExitStatus,
    counts: Counts,
    /// What the failed tests printed.
    failures: Failures,
}

impl Ended {
    /// Fails unless tests ran and none failed.
    pub fn ensure_passed(&self) -> Result<()> {
        ensure!(self.status.success(), "the tests ended with {}", self.status);
        ensure!(self.counts.failed == 0 && self.counts.passed > 0, "no tests ran, or some failed");
        Ok(())
    }
}

/// Runs all tests, and `others`, whose results are in the form of the test runner; prints what failed and the counts last.
pub fn run(project: &Project, scope: Scope, others: Vec<Command>) -> Result<()> {
    let postgres = TestServers::start(project)?;
    let listed = list_tests(project)?;
    check_cited_tests(&fs::read_to_string(project.root.join(ATTACKS))?, &listed)?;
    let durations = Durations::new(project)?;
    let programs = run_programs(postgres.pass_urls_to(durations.pass_to(&mut tests(project, &PROGRAMS, scope)?)))?;
    durations.report()?;
    let mut runs = vec![run_programs(&mut tests(project, &DOCUMENTATION, Scope::WithoutPage)?)?];
    for mut other in others {
        runs.push(run_programs(&mut other)?);
    }
    drop(postgres);
    let with_result = programs.counts.total();
    runs.insert(0, programs);
    let counts = runs.iter().fold(Counts::default(), |sum, it| sum.add(it.counts));
    sh::print_progress("all tests have ended");
    runs.iter().for_each(|it| it.failures.print());
    println!("{} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped);
    if let Some(failed) = runs.iter().find(|it| !it.status.success()) {
        bail!("the tests ended with {}", failed.status);
    }
    ensure!(counts.failed == 0 && counts.passed > 0, "no tests ran, or some failed");
    ensure!(with_result == listed.len(), "{with_result} of {} listed tests have a result", listed.len());
    Ok(())
}

/// Returns a call of test programs. The server has to be built.
pub fn tests(project: &Project, programs: &[&str], scope: Scope) -> Result<Command> {
    let ignored: &[&str] = if scope == Scope::All { &["--include-ignored"] } else { &[] };
    let mut command = build::cargo_with_clippy(project, &[programs, &["--no-fail-fast", "--"], ignored].concat())?;
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let (fewest, most) = PARALLEL_TESTS;
    command.env(SERVER_IS_BUILT, "1").env("RUST_TEST_THREADS", (processors * TESTS_PER_PROCESSOR).clamp(fewest, most).to_string());
    // A message says what failed. Backtraces of many would push the messages out of the end of a log.
    command.env("RUST_BACKTRACE", "0");
    Ok(command)
}

/// Returns the names of all tests but those of the documentation, as the test programs list them.
fn list_tests(project: &Project) -> Result<Vec<String>> {
    let mut command = build::cargo_with_clippy(project, &[&PROGRAMS[..], &["--quiet", "--", "--list", "--format", "terse"]].concat())?;
    let output = command.stderr(Stdio::inherit()).output().context("cannot start the tests")?;
    ensure!(output.status.success(), "the tests cannot be listed: {}", output.status);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().filter_map(|it| it.strip_suffix(": test")).map(str::to_owned).collect())
}

/// Checks that the tests which a page names in code spans are among those that the test programs list.
fn check_cited_tests(page: &str, listed: &[String]) -> Result<()> {
    let of_environment = |name: &'static str| listed.iter().filter_map(move |test| test.strip_suffix(name)?.strip_suffix("::"));
    let known: BTreeSet<&str> = listed.iter().map(String::as_str).chain(ENVIRONMENTS.into_iter().flat_map(of_environment)).collect();
    let cited: Vec<&str> = page.split('`').skip(1).step_by(2).filter(|it| it.contains("::")).collect();
    ensure!(!cited.is_empty(), "{ATTACKS} names no test");
    let missing: Vec<&str> = cited.into_iter().filter(|it| !known.contains(it)).collect();
    ensure!(missing.is_empty(), "{ATTACKS} names tests that no program lists: {}", missing.join(", "));
    Ok(())
}

/// Runs a command, prints its output, and adds up the result lines in it.
pub fn run_programs(command: &mut Command) -> Result<Ended> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start the tests")?;
    let stdout = child.stdout.take().context("the tests have no output")?;
    let mut counts = Counts::default();
    let mut failures = Failures::default();
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        println!("{line}");
        counts = counts.add(Counts::parse(&line));
        failures.read(line);
    }
    Ok(Ended { status: child.wait()?, counts, failures })
}

/// What test programs print of failed tests before their result line: thousands of lines above the counts in the output of a whole run.
#[derive(Default)]
struct Failures {
    lines: Vec<String>,
    reading: bool,
}

impl Failures {
    fn read(&mut self, line: String) {
        self.reading = (self.reading || line == "failures:") && !line.starts_with("test result: ");
        if self.reading {
            self.lines.push(line);
        }
    }

    fn print(&self) {
        self.lines.iter().for_each(|it| println!("{it}"));
    }
}

impl Counts {
    /// Reads a result line of a test program; any other line counts nothing.
    fn parse(line: &str) -> Counts {
        let number_before = |word: &str| {
            let before = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(word)).map_or("", |rest| rest.0);
            before.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
        };
        Counts { passed: number_before(" passed"), failed: number_before(" failed"), skipped: number_before(" ignored") }
    }

    fn add(self, other: Counts) -> Counts {
        Counts { passed: self.passed + other.passed, failed: self.failed + other.failed, skipped: self.skipped + other.skipped }
    }

    fn total(self) -> usize {
        self.passed + self.failed + self.skipped
    }
}

/// The durations of the tests that record theirs, in a file below the target folder.
struct Durations {
    file: PathBuf,
}

impl Durations {
    /// Begins an empty file.
    fn new(project: &Project) -> Result<Durations> {
        let file = project.target.join("test-durations.tsv");
        fs::write(&file, "").with_context(|| format!("cannot write '{}'", file.display()))?;
        Ok(Durations { file })
    }

    fn pass_to<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env(DURATIONS, &self.file)
    }

    /// Sorts the file, the slowest test first, and prints the first lines.
    fn report(&self) -> Result<()> {
        let text = sort_durations(&fs::read_to_string(&self.file)?);
        fs::write(&self.file, &text)?;
        sh::print_progress(&format!("the slowest tests in milliseconds; all are in {}", self.file.display()));
        text.lines().take(SLOWEST).for_each(|it| println!("{it}"));
        Ok(())
    }
}

fn sort_durations(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let milliseconds = |line: &str| line.split('\t').next().and_then(|time| time.parse::<u64>().ok());
    lines.sort_by_key(|line| std::cmp::Reverse(milliseconds(line)));
    lines.iter().map(|it| format!("{it}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_lines_of_results() {
        let line = "test result: FAILED. 17 passed; 1 failed; 3 ignored; 0 measured; 2 filtered out; finished in 9.62s";
        assert_eq!(Counts::parse(line), Counts { passed: 17, failed: 1, skipped: 3 });
        assert_eq!(Counts::parse(line).add(Counts::parse(line)).total(), 42);
        assert_eq!(Counts::parse("17 passed, 1 failed"), Counts::default());
    }

    #[test]
    fn failures_are_kept_up_to_the_result_line() {
        let mut failures = Failures::default();
        let printed =
            ["test a ... FAILED", "failures:", "---- a stdout ----", "1 != 2", "test result: FAILED. 0 passed; 1 failed", "test b ... ok"];
        printed.into_iter().for_each(|line| failures.read(line.to_owned()));
        assert_eq!(failures.lines, ["failures:", "---- a stdout ----", "1 != 2"]);
    }

    #[test]
    fn cited_tests_have_to_be_listed() {
        let listed = ["a::one::sqlite", "a::one::postgres", "b::tests::two"].map(str::to_owned);
        assert!(check_cited_tests("see `a::one`, `b::tests::two` and `not_a_test`", &listed).is_ok());
        for missing in ["`a::two`", "`two::x`", "`tests::two`", "`one`"] {
            assert!(check_cited_tests(missing, &listed).is_err(), "{missing}");
        }
    }

    #[test]
    fn the_slowest_test_comes_first() {
        assert_eq!(sort_durations("5\ta\n40\tb\n7\tc\n"), "40\tb\n7\tc\n5\ta\n");
    }
}
