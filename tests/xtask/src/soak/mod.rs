//! The long ones: what only many turns show. `cargo xtask test` runs each in short.

mod crash;
mod fuzz;
mod load;
mod size;
mod streams;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::postgres::{Disk, Postgres};
use crate::project::Project;
use crate::sh;

/// A long run, which answers what is not as it must be.
type Run = fn(&mut Soak<'_>) -> Result<Vec<String>>;

/// The runs by name.
const RUNS: [(&str, Run); 5] =
    [("crash", crash::run), ("load", load::run), ("size", size::run), ("streams", streams::run), ("fuzz", fuzz::run)];

/// Runs one of the long ones, or all.
pub fn run(project: &Project, words: &[&str]) -> Result<()> {
    let chosen: Vec<(&str, Run)> = match words {
        [] => RUNS.to_vec(),
        [name] if RUNS.iter().any(|it| it.0 == *name) => RUNS.into_iter().filter(|it| it.0 == *name).collect(),
        _ => bail!("type: cargo xtask soak [{}]", RUNS.map(|it| it.0).join(" | ")),
    };
    sh::say("building the server and what talks with it");
    // Each program more is another one to link with everything in it.
    let programs = ["--bin", "convengine", "--bin", "soak", "--bin", "ceiling"];
    let build = ["build", "--release", "--package", "convengine-server", "--package", "convengine-tests"];
    sh::run(&mut project.cargo(&[&build[..], &programs].concat()))?;
    let mut soak = Soak { project, postgres: Postgres::start(Disk::Durable)? };
    let mut broken = Vec::new();
    for (_, run) in chosen {
        broken.extend(run(&mut soak)?);
    }
    ensure!(broken.is_empty(), "{}", broken.join("; "));
    Ok(())
}

/// Where the runs take place.
struct Soak<'p> {
    project: &'p Project,
    postgres: Postgres,
}

impl Soak<'_> {
    /// Both databases, by the name of each.
    fn databases(&self) -> [(&'static str, String); 2] {
        [("SQLite", "sqlite".to_owned()), ("PostgreSQL", self.postgres.url())]
    }

    fn program(&self) -> PathBuf {
        self.project.target.join("release/soak")
    }

    /// Calls the program that talks, which prints what it saw.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.project.command(self.program());
        command.args(arguments).stderr(Stdio::inherit());
        command
    }

    fn talk(&self, arguments: &[&str]) -> Result<Seen> {
        let text = sh::output(&mut self.command(arguments)).context("the load failed")?;
        Seen::parse(&text)
    }
}

/// What a load saw.
struct Seen(Value);

impl Seen {
    fn parse(text: &str) -> Result<Seen> {
        Ok(Seen(serde_json::from_str(text.trim()).with_context(|| format!("the load printed: {text}"))?))
    }

    fn number(&self, path: &str) -> Result<f64> {
        self.0.pointer(path).and_then(Value::as_f64).with_context(|| format!("no '{path}' in what the load saw: {}", self.0))
    }

    /// A line for each kind of failure.
    fn failures(&self, what: &str) -> Result<Vec<String>> {
        let failures = self.number("/failures")?;
        let words: Vec<&str> =
            self.0.pointer("/failed").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        Ok(if failures > 0.0 { vec![format!("{what}: {failures} failures, such as {}", words.join(" / "))] } else { Vec::new() })
    }
}
