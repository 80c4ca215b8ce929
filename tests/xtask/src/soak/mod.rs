//! The long tests: problems that only many turns show. `cargo xtask test` runs a short version of each.

mod background;
mod clients;
mod corpus;
mod crash;
mod fuzz;
mod load;
mod restate;
mod runs;
mod size;
mod storm;
mod streams;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::postgres::{Durability, Postgres};
use crate::project::Project;
use crate::sh;
use crate::test_run::{self, Scope};

/// A long test; returns its failures.
type LongTest = fn(&mut Soak<'_>) -> Result<Vec<String>>;

/// The long tests by name.
const LONG_TESTS: [(&str, LongTest); 11] = [
    ("crash", crash::run),
    ("load", load::run),
    ("runs", runs::run),
    ("background", background::run),
    ("size", size::run),
    ("storm", storm::run),
    ("streams", streams::run),
    ("restate", restate::run),
    ("corpus", corpus::run),
    ("clients", clients::run),
    ("fuzz", fuzz::run),
];

/// Runs one of the long tests, or all.
pub fn run(project: &Project, arguments: &[&str]) -> Result<()> {
    let chosen: Vec<(&str, LongTest)> = match arguments {
        [] => LONG_TESTS.to_vec(),
        [name] if LONG_TESTS.iter().any(|it| it.0 == *name) => LONG_TESTS.into_iter().filter(|it| it.0 == *name).collect(),
        _ => bail!("usage: cargo xtask soak [{}]", LONG_TESTS.map(|it| it.0).join(" | ")),
    };
    sh::print_progress("building the server and the load generator");
    // Building only these programs saves linking the others.
    let programs = ["--bin", "convengine", "--bin", "test-tools", "--bin", "ceiling"];
    let build = ["build", "--release", "--package", "convengine-server", "--package", "convengine-tests"];
    sh::run(&mut project.cargo(&[&build[..], &programs].concat()))?;
    let mut soak = Soak { project, postgres: Postgres::start(Durability::Durable)? };
    let mut failures = Vec::new();
    for (_, run) in chosen {
        failures.extend(run(&mut soak)?);
    }
    ensure!(failures.is_empty(), "{}", failures.join("; "));
    Ok(())
}

/// The context of the long tests.
struct Soak<'p> {
    project: &'p Project,
    postgres: Postgres,
}

impl Soak<'_> {
    /// Returns the name and the URL of both databases.
    fn databases(&self) -> [(&'static str, String); 2] {
        [("SQLite", "sqlite".to_owned()), ("PostgreSQL", self.postgres.url())]
    }

    fn program(&self) -> PathBuf {
        self.project.target.join("release/test-tools")
    }

    /// Returns a call of `test-tools soak`, which prints its results.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.project.command(self.program());
        command.arg("soak").args(arguments).stderr(Stdio::inherit());
        command
    }

    /// Runs the tests of the suite whose names contain some words, those with a long version at full length; returns how they failed.
    fn run_long_tests(&self, words: &str) -> Result<Option<String>> {
        let mut suite = test_run::tests(self.project, &["test", "--workspace", "--test", "suite"], Scope::All)?;
        let ended = test_run::run_programs(self.postgres.pass_url_to(suite.arg(words).env("CONVENGINE_TEST_LONG", "1")))?;
        Ok(ended.ensure_passed().err().map(|error| format!("{words}: {error}")))
    }

    fn run_program(&self, arguments: &[&str]) -> Result<SoakResults> {
        let text = sh::output(&mut self.command(arguments)).context("the load failed")?;
        SoakResults::parse(&text)
    }

    /// Runs the program, and stops PostgreSQL for a time once its load is steady.
    fn run_during_outage(&mut self, arguments: &[&str], outage: Duration) -> Result<SoakResults> {
        let mut command = self.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start the load")?;
        let mut out = BufReader::new(child.stdout.take().context("the load has no output")?);
        let mut line = String::new();
        out.read_line(&mut line)?;
        ensure!(line.trim() == "steady", "the load did not become steady: {line}");
        self.postgres.crash()?;
        thread::sleep(outage);
        self.postgres.start_server()?;
        child.stdin.take().context("the load has no input")?.write_all(b"restored\n")?;
        let mut text = String::new();
        out.read_to_string(&mut text)?;
        ensure!(child.wait()?.success(), "the load failed");
        SoakResults::parse(&text)
    }
}

/// The results that `test-tools soak` printed.
struct SoakResults(Value);

impl SoakResults {
    fn parse(text: &str) -> Result<SoakResults> {
        Ok(SoakResults(serde_json::from_str(text.trim()).with_context(|| format!("the load printed: {text}"))?))
    }

    fn number(&self, path: &str) -> Result<f64> {
        self.0.pointer(path).and_then(Value::as_f64).with_context(|| format!("no '{path}' in the results of the load: {}", self.0))
    }

    /// Returns a line for the failures, if any.
    fn failures(&self, what: &str) -> Result<Vec<String>> {
        let failures = self.number("/failures")?;
        let examples: Vec<&str> =
            self.0.pointer("/failed").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        Ok(if failures > 0.0 { vec![format!("{what}: {failures} failures, for example {}", examples.join(" / "))] } else { Vec::new() })
    }
}
