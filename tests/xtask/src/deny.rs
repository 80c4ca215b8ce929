//! Checks the dependencies: licences, sources, and with cargo-deny also known vulnerabilities where their database can be fetched.

use std::time::Duration;

use anyhow::Result;

use crate::project::Project;
use crate::{build_tools, sh};

/// The timeout of fetching the database of vulnerabilities, whose host cannot be reached from everywhere.
const FETCH_LIMIT: Duration = Duration::from_secs(60);

/// The workspaces, by their manifests.
const MANIFESTS: [&str; 2] = ["Cargo.toml", "python/Cargo.toml"];

/// Checks all dependencies.
pub fn check(project: &Project) -> Result<()> {
    sh::run(&mut build_tools::compile(project))?;
    check_with_built_tools(project)
}

/// Checks all dependencies; the build tools have to be built.
pub fn check_with_built_tools(project: &Project) -> Result<()> {
    sh::print_progress("checking the dependencies");
    if !sh::is_on_path("cargo-deny") {
        sh::print_progress("known vulnerabilities are not checked; for that, run `cargo install --locked cargo-deny`");
        return sh::run(build_tools::command(project).arg("licences").args(MANIFESTS));
    }
    for manifest in MANIFESTS {
        // Several versions of a crate are allowed and only fill the output.
        let arguments = ["--log-level", "error", "--manifest-path", manifest, "check", "bans", "licenses", "sources"];
        sh::run(project.command("cargo-deny").args(arguments))?;
    }
    if let Err(error) = sh::run_within(FETCH_LIMIT, project.command("cargo-deny").args(["fetch", "db"])) {
        sh::print_progress(&format!("known vulnerabilities are not checked, because their database cannot be fetched: {error:#}"));
        return Ok(());
    }
    for manifest in MANIFESTS {
        let arguments = ["--log-level", "error", "--manifest-path", manifest, "check", "--disable-fetch", "advisories"];
        sh::run(project.command("cargo-deny").args(arguments))?;
    }
    Ok(())
}
