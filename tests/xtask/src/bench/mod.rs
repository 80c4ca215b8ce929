//! Benchmarks: the cost of a turn, with a baseline in the same run.
//!
//! Bytes, instructions, allocations and statements are the same on similar machines and have limits in `tests/budget.txt`. Timings are
//! printed and never fail.

mod classifier;
mod counts;
mod knowledge;
mod page;
mod replay;
mod scale;
mod server;
mod speed;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use self::classifier::Classifier;
use self::counts::Counts;
use self::knowledge::Knowledge;
use self::page::Page;
use self::replay::Replay;
use self::scale::Scale;
use self::speed::{Extent, Speed};
use crate::project::Project;
use crate::{sh, size};

/// The pack whose conversation is run.
const PACK: &str = "tests/packs/bench/plain.json";

/// Runs the benchmarks; `--quick` shortens the timings, `--counts` skips them.
pub fn run(project: &Project, options: &[&str]) -> Result<()> {
    let extent = match options {
        [] => Some(Extent::FULL),
        ["--quick"] => Some(Extent::QUICK),
        ["--counts"] => None,
        _ => bail!("usage: cargo xtask bench [--quick | --counts]"),
    };
    sh::print_progress("building the server and the benchmarks");
    sh::run(&mut project.cargo(&["build", "--release", "--package", "convengine-server", "--package", "convengine-tests"]))?;
    let bench = Bench { project, folder: create_folder(project)? };
    let counts = Counts::measure(&bench)?;
    counts.print();
    let scale = Scale::measure(&bench)?;
    scale.print();
    let speed = extent.map(|extent| Speed::measure(&bench, extent)).transpose()?;
    if let Some(speed) = &speed {
        speed.print();
    }
    let replay = extent.map(|extent| Replay::measure(&bench, extent.seconds)).transpose()?;
    if let Some(replay) = &replay {
        replay.print();
    }
    let knowledge = extent.map(|extent| Knowledge::measure(&bench, extent.searches)).transpose()?;
    if let Some(knowledge) = &knowledge {
        knowledge.print();
    }
    let classifier = extent.map(|_| Classifier::measure(&bench)).transpose()?;
    if let Some(classifier) = &classifier {
        classifier.print();
    }
    let page = extent.map(|extent| Page::measure(&bench, extent.page_rounds)).transpose()?;
    if let Some(page) = &page {
        page.print();
    }
    println!("\ntargets");
    let timed = speed.iter().flat_map(Speed::targets).chain(replay.iter().flat_map(Replay::targets));
    let timed = timed
        .chain(knowledge.iter().flat_map(Knowledge::targets))
        .chain(classifier.iter().flat_map(Classifier::targets))
        .chain(page.iter().flat_map(Page::targets));
    for aim in counts.targets().into_iter().chain(scale.targets()).chain(timed) {
        aim.print();
    }
    let limited = [counts.budget_figures(), scale.budget_figures()].concat();
    let exceeded = size::find_exceeded(project, &limited)?;
    if !exceeded.is_empty() {
        bail!("{}", exceeded.join("; "));
    }
    Ok(())
}

/// The context of the benchmarks.
struct Bench<'p> {
    project: &'p Project,
    folder: PathBuf,
}

impl Bench<'_> {
    fn release_binary(&self, binary: &str) -> PathBuf {
        self.project.target.join("release").join(binary)
    }

    /// Creates a database with the pack.
    fn create_database(&self, name: &str) -> Result<PathBuf> {
        let path = self.folder.join(name).with_extension("db");
        let url = format!("sqlite:{}", path.display());
        for arguments in [&["migrate"][..], &["import", PACK]] {
            sh::run_quietly(self.project.command(self.release_binary("convengine")).args(arguments).args(["--database", &url]))?;
        }
        Ok(path)
    }
}

fn create_folder(project: &Project) -> Result<PathBuf> {
    let folder = project.target.join("bench");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty '{}'", folder.display()))?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Returns a number that a benchmark has printed; 0 if it is absent.
fn number(of: &Value, name: &str) -> u64 {
    of.get(name).and_then(Value::as_u64).unwrap_or_default()
}

/// A target with its measurement.
struct Target {
    label: String,
    measured: String,
    /// `None` if this run did not measure it.
    met: Option<bool>,
}

impl Target {
    fn print(&self) {
        let verdict = match self.met {
            Some(true) => "met",
            Some(false) => "NOT MET",
            None => "not measured",
        };
        println!("  {:<66}{:>16}  {verdict}", self.label, self.measured);
    }
}
