//! What a turn costs, with a baseline in the same run.
//!
//! Bytes, instructions, allocations and statements are the same on every machine of a kind and have limits in
//! `tests/budget.txt`. Times are printed and never fail anything.

mod counts;
mod page;
mod replay;
mod scale;
mod server;
mod speed;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use self::counts::Counts;
use self::page::Page;
use self::replay::Replay;
use self::scale::Scale;
use self::speed::{Extent, Speed};
use crate::project::Project;
use crate::{sh, size};

/// The pack whose conversation is talked.
const PACK: &str = "tests/packs/bench/plain.json";

/// Measures; `--quick` takes less time for times, `--counts` leaves them out.
pub fn run(project: &Project, options: &[&str]) -> Result<()> {
    let extent = match options {
        [] => Some(Extent::WHOLE),
        ["--quick"] => Some(Extent::QUICK),
        ["--counts"] => None,
        _ => bail!("type: cargo xtask bench [--quick | --counts]"),
    };
    sh::say("building the server and what measures it");
    sh::run(&mut project.cargo(&["build", "--release", "--package", "convengine-server", "--package", "convengine-tests"]))?;
    let bench = Bench { project, folder: new_folder(project)? };
    let counts = Counts::take(&bench)?;
    counts.print();
    let scale = Scale::take(&bench)?;
    scale.print();
    let speed = extent.map(|extent| Speed::measure(&bench, extent)).transpose()?;
    if let Some(speed) = &speed {
        speed.print();
    }
    let replay = extent.map(|extent| Replay::measure(&bench, extent.seconds)).transpose()?;
    if let Some(replay) = &replay {
        replay.print();
    }
    let page = extent.map(|extent| Page::measure(&bench, extent.page_rounds)).transpose()?;
    if let Some(page) = &page {
        page.print();
    }
    println!("\naims");
    let timed = speed.iter().flat_map(Speed::aims).chain(replay.iter().flat_map(Replay::aims)).chain(page.iter().flat_map(Page::aims));
    for aim in counts.aims().into_iter().chain(scale.aims()).chain(timed) {
        aim.print();
    }
    let limited = [counts.limited(), scale.limited()].concat();
    let broken = size::above_limit(project, &limited)?;
    if !broken.is_empty() {
        bail!("{}", broken.join("; "));
    }
    Ok(())
}

/// Where the measurements take place.
struct Bench<'p> {
    project: &'p Project,
    folder: PathBuf,
}

impl Bench<'_> {
    fn release(&self, binary: &str) -> PathBuf {
        self.project.target.join("release").join(binary)
    }

    /// A new database with the pack.
    fn database(&self, name: &str) -> Result<PathBuf> {
        let path = self.folder.join(name).with_extension("db");
        let url = format!("sqlite:{}", path.display());
        for arguments in [&["migrate"][..], &["import", PACK]] {
            sh::run_quietly(self.project.command(self.release("convengine")).args(arguments).args(["--database", &url]))?;
        }
        Ok(path)
    }
}

fn new_folder(project: &Project) -> Result<PathBuf> {
    let folder = project.target.join("bench");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty `{}`", folder.display()))?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// One thing that is aimed at, with what was measured.
struct Aim {
    what: String,
    measured: String,
    /// Absent when this run did not measure it.
    met: Option<bool>,
}

impl Aim {
    fn print(&self) {
        let verdict = match self.met {
            Some(true) => "met",
            Some(false) => "NOT MET",
            None => "not measured",
        };
        println!("  {:<66}{:>16}  {verdict}", self.what, self.measured);
    }
}
