//! Suites of test cases that others maintain for standards.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::project::Project;
use crate::sh;

/// The Python package whose source has the official suite of JSON Schema.
const JSON_SCHEMA: &str = "jsonschema==4.25.1";

/// Installs the suites below the target folder, where the tests look for them.
pub fn install(project: &Project) -> Result<()> {
    let folder = project.target.join("json-schema-suite");
    let stamp = folder.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|it| it == JSON_SCHEMA) {
        return Ok(());
    }
    if !sh::is_on_path("python3") {
        bail!("no Python; install version 3.10 or later, on Debian with `sudo apt-get install python3-venv`");
    }
    sh::print_progress("installing the suite of JSON Schema: pip download");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create '{}'", folder.display()))?;
    let environment = folder.join("python");
    sh::run_quietly(Command::new("python3").args(["-m", "venv"]).arg(&environment))
        .context("on Debian, python3-venv has the module venv")?;
    let download = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", ":all:", JSON_SCHEMA];
    sh::run_quietly(Command::new(environment.join("bin/python")).args(download).current_dir(&folder))?;
    let archive = folder.join(format!("{}.tar.gz", JSON_SCHEMA.replace("==", "-")));
    sh::run_quietly(
        Command::new("tar").args(["--strip-components=2", "-xzf"]).arg(archive).arg("--wildcards").arg("*/json/*").current_dir(&folder),
    )?;
    fs::write(stamp, JSON_SCHEMA)?;
    Ok(())
}
