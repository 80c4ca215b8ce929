//! Makes the fixtures of a release, which every later build opens and replays. (tests/README.md#fixtures)

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::postgres::{Durability, Postgres};
use crate::project::Project;
use crate::{restate, sh, test};

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
    restate::install(project)?;
    test::build(project)?;
    let postgres = Postgres::start(Durability::Relaxed)?;
    fs::create_dir_all(&folder).with_context(|| format!("cannot create '{}'", folder.display()))?;
    let made = write_and_test(project, &postgres, &folder);
    if made.is_err() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove '{}'", folder.display()))?;
    }
    made
}

fn write_and_test(project: &Project, postgres: &Postgres, folder: &Path) -> Result<()> {
    for database in ["sqlite", "postgres"] {
        sh::print_progress(&format!("playing the story on {database}"));
        let mut story = suite(project, postgres, database, &["--ignored", "--exact", "fixtures::make::a_story_is_played_and_written"]);
        sh::run(story.env("CONVENGINE_FIXTURES", folder).env("CONVENGINE_PG_DUMP", postgres.program("pg_dump")))?;
    }
    for database in ["sqlite", "postgres"] {
        sh::print_progress(&format!("testing the fixtures on {database}"));
        let skipped: &[&str] = if database == "sqlite" { &["--skip", "restate::"] } else { &[] };
        sh::run(&mut suite(project, postgres, database, &[&["fixtures::"], skipped].concat()))?;
    }
    let sizes = list_sizes(folder)?;
    sizes.iter().for_each(|(path, bytes)| println!("{bytes:>10} {}", path.strip_prefix(&project.root).unwrap_or(path).display()));
    Ok(())
}

/// Returns a call of the suite on a database.
fn suite(project: &Project, postgres: &Postgres, database: &str, arguments: &[&str]) -> Command {
    let mut command = project.cargo(&[&["test", "--workspace", "--test", "suite", "--"], arguments].concat());
    postgres.pass_url_to(&mut command).env("CONVENGINE_TEST_DATABASE", database);
    command
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
