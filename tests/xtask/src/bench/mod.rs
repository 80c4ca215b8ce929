//! Benchmarks: the cost of a turn, with a baseline in the same run.
//!
//! Bytes, instructions, allocations and statements are the same on similar machines and have limits in `tests/budget.txt`. Timings are
//! printed and never fail.

mod against;
mod callgrind;
mod classifier;
mod counts;
mod database;
mod knowledge;
mod page;
mod process;
mod proxy;
mod replay;
mod runtimes;
mod scale;
mod server;
mod turns;

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
use self::turns::{Databases, Instructions, WholeTurns};
use crate::project::Project;
use crate::{sh, size};

/// The pack whose conversation is run.
const PACK: &str = "tests/packs/bench/plain.json";

/// The pack whose flow is run.
const FLOW_PACK: &str = "tests/packs/bench/flow.json";

const USAGE: &str =
    "usage: cargo xtask bench [turns] [--quick | --counts] [--against COMMIT|FILE] [--sqlite | --postgres], or bench runtimes";

/// The extent of the timings.
#[derive(Clone, Copy)]
struct Extent {
    rounds: usize,
    seconds: u64,
    /// The number of the last turn of a long conversation.
    longest: u64,
    /// The number of turns over which memory is read.
    memory_turns: u64,
    /// How often the page is opened in each configuration.
    page_rounds: usize,
    /// The number of searches in each knowledge base.
    searches: u64,
}

impl Extent {
    const FULL: Extent = Extent { rounds: 5, seconds: 4, longest: 1_000, memory_turns: 100_000, page_rounds: 5, searches: 2_000 };
    const QUICK: Extent = Extent { rounds: 1, seconds: 2, longest: 100, memory_turns: 10_000, page_rounds: 1, searches: 200 };
}

/// The options of the command.
struct Options<'o> {
    /// Whether only whole turns are measured.
    only_turns: bool,
    /// `None` measures only what needs no timings.
    extent: Option<Extent>,
    /// A commit or a binary that is measured, too.
    against: Option<&'o str>,
    databases: Databases,
}

impl<'o> Options<'o> {
    fn parse(words: &[&'o str]) -> Result<Self> {
        let mut options = Self { only_turns: false, extent: Some(Extent::FULL), against: None, databases: Databases::Both };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "turns" => options.only_turns = true,
                "--quick" => options.extent = Some(Extent::QUICK),
                "--counts" => options.extent = None,
                "--against" => options.against = Some(words.next().context(USAGE)?),
                "--sqlite" => options.databases = Databases::Sqlite,
                "--postgres" => options.databases = Databases::Postgres,
                _ => bail!(USAGE),
            }
        }
        Ok(options)
    }
}

/// Runs the benchmarks, or only those of whole turns, or those of the runtimes, which no other run includes.
pub fn run(project: &Project, words: &[&str]) -> Result<()> {
    if let ["runtimes", words @ ..] = words {
        return runtimes::run(project, words);
    }
    let options = Options::parse(words)?;
    let folder = create_folder(project)?;
    // Built first, because the current server takes its place.
    let before = options.against.map(|it| against::provide(project, it, &folder)).transpose()?;
    sh::print_progress("building the server and the benchmarks");
    let mut build = project.cargo(&["build", "--release", "--package", "convengine-server", "--package", "convengine-tests"]);
    if options.only_turns {
        build.args(["--bin", "convengine", "--bin", "ceiling", "--bin", "test-tools"]);
    }
    sh::run(&mut build)?;
    let bench = Bench { project, folder };
    let mut report = Report::default();
    if !options.only_turns {
        let counts = Counts::measure(&bench)?;
        counts.print();
        report.add(counts.targets(), counts.budget_figures());
        let scale = Scale::measure(&bench)?;
        scale.print();
        report.add(scale.targets(), scale.budget_figures());
    }
    let instructions = Instructions::measure(&bench, before.as_deref())?;
    instructions.print();
    report.add(Vec::new(), instructions.budget_figures());
    if let Some(extent) = options.extent {
        let turns = WholeTurns::measure(&bench, extent, options.databases, before.as_deref())?;
        turns.print();
        report.add(turns.targets(), Vec::new());
        if !options.only_turns {
            measure_parts(&bench, extent, &mut report)?;
        }
    }
    println!("\ntargets");
    report.targets.iter().for_each(Target::print);
    let exceeded = size::find_exceeded(project, &report.budget_figures)?;
    if !exceeded.is_empty() {
        bail!("{}", exceeded.join("; "));
    }
    Ok(())
}

/// Times what is not a turn of the server.
fn measure_parts(bench: &Bench<'_>, extent: Extent, report: &mut Report) -> Result<()> {
    let replay = Replay::measure(bench, extent.seconds)?;
    replay.print();
    report.add(replay.targets(), Vec::new());
    let knowledge = Knowledge::measure(bench, extent.searches)?;
    knowledge.print();
    report.add(knowledge.targets(), Vec::new());
    let classifier = Classifier::measure(bench)?;
    classifier.print();
    report.add(classifier.targets(), Vec::new());
    let page = Page::measure(bench, extent.page_rounds)?;
    page.print();
    report.add(page.targets(), Vec::new());
    Ok(())
}

/// The targets and the figures with limits, of all benchmarks.
#[derive(Default)]
struct Report {
    targets: Vec<Target>,
    budget_figures: Vec<(&'static str, Option<u64>)>,
}

impl Report {
    fn add(&mut self, targets: Vec<Target>, budget_figures: Vec<(&'static str, Option<u64>)>) {
        self.targets.extend(targets);
        self.budget_figures.extend(budget_figures);
    }
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
fn number(figures: &Value, name: &str) -> u64 {
    figures.get(name).and_then(Value::as_u64).unwrap_or_default()
}

/// A target with its measurement.
struct Target {
    label: String,
    measured: String,
    /// `None` if this run did not measure it.
    met: Option<bool>,
}

impl Target {
    fn at_most(label: String, measured: f64, limit: f64, decimals: usize, unit: &str) -> Self {
        Self::new(&format!("{label} at most {limit}{unit}"), measured, measured <= limit, decimals, unit)
    }

    fn at_least(label: String, measured: f64, limit: f64, decimals: usize, unit: &str) -> Self {
        Self::new(&format!("{label} at least {limit}{unit}"), measured, measured >= limit, decimals, unit)
    }

    fn new(label: &str, measured: f64, met: bool, decimals: usize, unit: &str) -> Self {
        Self { label: label.to_owned(), measured: format!("{measured:.decimals$}{unit}"), met: Some(met) }
    }

    fn print(&self) {
        let verdict = match self.met {
            Some(true) => "met",
            Some(false) => "NOT MET",
            None => "not measured",
        };
        println!("  {:<84}{:>16}  {verdict}", self.label, self.measured);
    }
}

/// Measured values of one quantity.
struct Sampled {
    median: f64,
    least: f64,
    greatest: f64,
}

impl Sampled {
    fn new(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_unstable_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or_default();
        Self { median: at(values.len() / 2), least: at(0), greatest: at(values.len().saturating_sub(1)) }
    }

    fn format(&self, decimals: usize) -> String {
        let Self { median, least, greatest } = self;
        format!("{median:.decimals$} [{least:.decimals$} – {greatest:.decimals$}]")
    }
}
