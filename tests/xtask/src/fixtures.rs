//! Makes the fixtures of a release, which every later build opens and replays. (tests/README.md#fixtures)

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::postgres::TestServers;
use crate::project::Project;
use crate::test_run::{self, Scope};
use crate::{build, sh};

/// The version of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Plays the story on this build, on both databases and a Restate cluster, writes what it has stored, and tests that.
pub fn make(project: &Project, version: &str) -> Result<()> {
    ensure!(version == VERSION, "this is version {VERSION}; check out the release {version}, or set the version of the workspace");
    let folder = project.root.join("tests/fixtures").join(version);
    ensure!(
        !folder.exists(),
        "'{}' exists; fixtures of a release are made once. Delete them only if {version} has not been released",
        folder.display()
    );
    build::build_without_browser(project)?;
    let postgres = TestServers::start(project)?;
    fs::create_dir_all(&folder).with_context(|| format!("cannot create '{}'", folder.display()))?;
    let made = write_and_test(project, &postgres, &folder);
    if made.is_err() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove '{}'", folder.display()))?;
    }
    made
}

fn write_and_test(project: &Project, postgres: &TestServers, folder: &Path) -> Result<()> {
    sh::print_progress("playing the story");
    let mut story = suite(project)?;
    test_run::run_programs(postgres.pass_urls_to(story.arg("fixtures::make::").env("CONVENGINE_FIXTURES", folder)))?.ensure_passed()?;
    sh::print_progress("testing the fixtures");
    test_run::run_programs(postgres.pass_urls_to(suite(project)?.arg("fixtures::")))?.ensure_passed()?;
    let sizes = list_sizes(folder)?;
    sizes.iter().for_each(|(path, bytes)| println!("{bytes:>10} {}", path.strip_prefix(&project.root).unwrap_or(path).display()));
    Ok(())
}

fn suite(project: &Project) -> Result<Command> {
    test_run::tests(project, &["test", "--workspace", "--test", "suite"], Scope::WithoutPage)
}

/// Returns the files below a folder with their sizes.
fn list_sizes(folder: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => found.extend(list_sizes(&path)?),
            false => found.push((path.clone(), fs::metadata(&path)?.len())),
        }
    }
    found.sort();
    Ok(found)
}
