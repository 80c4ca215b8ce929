//! Finds or installs the tools that the commands need.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::postgres::{Programs, is_root};
use crate::project::Project;
use crate::sh;

/// The compiler that builds the browser engine.
pub enum WasmCompiler {
    /// The active toolchain, which has the target.
    Active,
    /// Debian's compiler, which builds the standard library from its source.
    Debian,
}

/// The target the browser engine is compiled for.
pub const WASM_TARGET: &str = "wasm32-unknown-unknown";

const DEBIAN_COMPILER: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld-19"];
const DEBIAN_LIBRARY: &str = "/usr/lib/rustlib/src/rust/library/std/Cargo.toml";

/// The timeout of rustup, which waits forever if its host cannot be reached.
const RUSTUP_LIMIT: Duration = Duration::from_secs(20);

/// Returns a compiler for the browser engine; installs one if there is none.
pub fn ensure_wasm_compiler(project: &Project) -> Result<WasmCompiler> {
    if has_active_target(project) {
        return Ok(WasmCompiler::Active);
    }
    if has_debian_compiler() {
        return Ok(WasmCompiler::Debian);
    }
    if can_install() {
        warn(apt_install("a compiler for the browser engine", &DEBIAN_COMPILER));
        if has_debian_compiler() {
            return Ok(WasmCompiler::Debian);
        }
    }
    if sh::is_on_path("rustup") {
        sh::print_progress(&format!("installing the browser target: rustup target add {WASM_TARGET}"));
        let mut rustup = project.command("rustup");
        rustup.args(["target", "add", WASM_TARGET]);
        warn(sh::run_within(RUSTUP_LIMIT, &mut rustup));
        if has_active_target(project) {
            return Ok(WasmCompiler::Active);
        }
    }
    bail!(
        "no compiler for the browser engine; run `rustup target add {WASM_TARGET}` or, on Debian, `sudo apt-get install {}`",
        DEBIAN_COMPILER.join(" ")
    )
}

/// Installs the page's npm packages as its lock file specifies.
pub fn ensure_node_packages(project: &Project) -> Result<()> {
    if !sh::is_on_path("npm") {
        bail!("no Node.js; install version 20 or later, on Debian with `sudo apt-get install nodejs npm`");
    }
    let folder = project.web_demo();
    let lock = folder.join("package-lock.json");
    let required = fs::metadata(&lock).and_then(|file| file.modified()).with_context(|| format!("cannot read '{}'", lock.display()))?;
    // npm writes this file at the end of an installation.
    let installed = fs::metadata(folder.join("node_modules/.package-lock.json")).and_then(|file| file.modified());
    if installed.is_ok_and(|installed| installed >= required) {
        return Ok(());
    }
    sh::print_progress("installing the page's packages: npm ci");
    sh::run_quietly(&mut project.npm(&["ci"]))
}

/// Ensures that there is a Chromium for the browser tests.
pub fn ensure_chromium() -> Result<()> {
    if !sh::is_on_path("chromium") && can_install() {
        warn(apt_install("a browser for the tests", &["chromium"]));
    }
    if !sh::is_on_path("chromium") {
        bail!("no Chromium for the browser tests; run `sudo apt-get install chromium`");
    }
    Ok(())
}

/// Ensures that there is a valgrind for counting instructions.
pub fn ensure_valgrind() -> Result<()> {
    if !sh::is_on_path("valgrind") && can_install() {
        warn(apt_install("a tool that counts instructions", &["valgrind"]));
    }
    if !sh::is_on_path("valgrind") {
        bail!("no valgrind to count instructions; run `sudo apt-get install valgrind`");
    }
    Ok(())
}

/// Returns the programs of PostgreSQL; installs it if there is none.
pub fn ensure_postgres() -> Result<Programs> {
    if let Some(programs) = Programs::find() {
        return Ok(programs);
    }
    if can_install() {
        warn(apt_install("a database server for the tests", &["postgresql"]));
    }
    Programs::find().context("no PostgreSQL 15 or later for the tests; run `sudo apt-get install postgresql`")
}

/// Installs the distribution's package of the extension `vector` for a version of PostgreSQL; returns whether there was one to install.
pub fn install_pgvector(version: u32) -> bool {
    let package = format!("postgresql-{version}-pgvector");
    let is_available = can_install() && sh::output(Command::new("apt-cache").args(["show", &package])).is_some_and(|it| !it.is_empty());
    if is_available {
        warn(apt_install("vectors in PostgreSQL", &[&package]));
    }
    is_available
}

fn has_active_target(project: &Project) -> bool {
    let mut rustc = project.command("rustc");
    rustc.args(["--print", "target-libdir", "--target", WASM_TARGET]);
    let Some(folder) = sh::output(&mut rustc) else {
        return false;
    };
    fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some())
}

fn has_debian_compiler() -> bool {
    let version = sh::output(Command::new("/usr/bin/rustc").arg("--version"));
    version.is_some_and(|version| is_new_enough(&version))
        && Path::new("/usr/bin/cargo").is_file()
        && Path::new(DEBIAN_LIBRARY).is_file()
        && sh::is_on_path("wasm-ld-19")
}

/// Returns whether `rustc 1.96.0 (…)` is at least the version that the workspace requires.
fn is_new_enough(version: &str) -> bool {
    let found = version.split(' ').nth(1).and_then(parse_minor_version);
    let required = parse_minor_version(env!("CARGO_PKG_RUST_VERSION"));
    found.is_some() && found >= required
}

fn parse_minor_version(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

fn can_install() -> bool {
    sh::is_on_path("apt-get") && is_root()
}

fn apt_install(what: &str, packages: &[&str]) -> Result<()> {
    sh::print_progress(&format!("installing {what}: apt-get install {}", packages.join(" ")));
    sh::run_quietly(Command::new("apt-get").arg("update"))?;
    let mut install = Command::new("apt-get");
    install.args(["install", "-y"]).args(packages);
    sh::run_quietly(install.env("DEBIAN_FRONTEND", "noninteractive"))
}

/// Prints why an attempt failed; the caller tries the next one.
fn warn(outcome: Result<()>) {
    if let Err(error) = outcome {
        eprintln!("warning: {error:#}");
    }
}

#[cfg(test)]
mod tests {
    use super::is_new_enough;

    #[test]
    fn compares_compiler_versions_by_number() {
        assert!(is_new_enough("rustc 1.100.0 (built from a source tarball)"));
        assert!(is_new_enough(concat!("rustc ", env!("CARGO_PKG_RUST_VERSION"), ".0")));
        assert!(!is_new_enough("rustc 1.63.0"));
        assert!(!is_new_enough("no version"));
    }
}
