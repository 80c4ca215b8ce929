//! Packages for programs in Python that take part in tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::sh;

/// Creates an environment with the packages of a list, unless it has them; returns its interpreter. `what` says what is installed.
pub fn install(list: &Path, folder: &Path, what: &str) -> Result<PathBuf> {
    if !sh::is_on_path("python3") {
        bail!("no Python; install version 3.10 or later, on Debian with `sudo apt-get install python3-venv`");
    }
    let interpreter = folder.join("bin/python");
    if is_current(&folder.join("installed"), list)? {
        return Ok(interpreter);
    }
    sh::print_progress(&format!("installing {what}: pip install"));
    sh::run_quietly(Command::new("python3").args(["-m", "venv"]).arg(folder)).context("on Debian, python3-venv has the module venv")?;
    sh::run_quietly(Command::new(&interpreter).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]).arg(list))?;
    fs::copy(list, folder.join("installed"))?;
    Ok(interpreter)
}

/// Whether the copy of a list of packages, which is made after they are installed, is that of the list.
pub fn is_current(copy: &Path, list: &Path) -> Result<bool> {
    let current = fs::read(list).with_context(|| format!("cannot read '{}'", list.display()))?;
    Ok(fs::read(copy).is_ok_and(|it| it == current))
}
