//! Checks the dependencies with cargo-deny: licences, bans, sources, and known vulnerabilities where their database can be fetched.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::project::Project;
use crate::sh;

const VERSION: &str = "0.20.2";

/// The timeout of fetching the database of vulnerabilities, whose host cannot be reached from everywhere.
const FETCH_LIMIT: Duration = Duration::from_secs(60);

/// The workspaces, by their manifests.
const MANIFESTS: [&str; 2] = ["Cargo.toml", "python/Cargo.toml"];

/// Checks all dependencies; installs cargo-deny if there is none.
pub fn check(project: &Project) -> Result<()> {
    let program = ensure_cargo_deny(project)?;
    sh::print_progress("checking the dependencies");
    for manifest in MANIFESTS {
        // Several versions of a crate are allowed and only fill the output.
        let arguments = ["--log-level", "error", "--manifest-path", manifest, "check", "bans", "licenses", "sources"];
        sh::run(project.command(&program).args(arguments))?;
    }
    if let Err(error) = sh::run_within(FETCH_LIMIT, project.command(&program).args(["fetch", "db"])) {
        sh::print_progress(&format!("known vulnerabilities are not checked, because their database cannot be fetched: {error:#}"));
        return Ok(());
    }
    for manifest in MANIFESTS {
        let arguments = ["--log-level", "error", "--manifest-path", manifest, "check", "--disable-fetch", "advisories"];
        sh::run(project.command(&program).args(arguments))?;
    }
    Ok(())
}

fn ensure_cargo_deny(project: &Project) -> Result<PathBuf> {
    if sh::is_on_path("cargo-deny") {
        return Ok("cargo-deny".into());
    }
    let folder = project.target.join("tools");
    let program = folder.join("bin/cargo-deny");
    if !program.exists() {
        let version = format!("cargo-deny@{VERSION}");
        sh::print_progress(&format!("installing a tool that checks dependencies: cargo install --locked {version}"));
        let root = folder.to_str().context("the target folder is not UTF-8")?;
        let build = folder.join("build");
        // It runs for seconds: a quick build is worth more than a quick program.
        let mut install = project.cargo(&["install", "--locked", "--root", root, &version]);
        sh::run_quietly(
            install.env("CARGO_TARGET_DIR", &build).env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1").env("CARGO_PROFILE_RELEASE_LTO", "off"),
        )?;
        fs::remove_dir_all(&build)?;
    }
    Ok(program)
}
