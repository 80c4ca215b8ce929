//! Finds or installs the tools that the commands need.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::postgres::{Programs, is_root};
use crate::project::Project;
use crate::sh;

/// A compiler for the browser.
pub enum WasmCompiler {
    /// The active toolchain, which has the target.
    Active,
    /// Another toolchain of rustup, by its name.
    Toolchain(String),
    /// The distribution's compiler.
    Distribution {
        /// Whether the standard library is compiled from its source, because there is no package of it for the browser.
        builds_std: bool,
    },
}

/// A compiler for another platform.
pub enum CrossCompiler {
    /// The active toolchain, which has the target.
    Active,
    /// The distribution's compiler, which compiles the standard library from its source.
    Distribution,
}

/// The target the modules of the browser are compiled for.
pub const WASM_TARGET: &str = "wasm32-unknown-unknown";

const DISTRIBUTION_COMPILER: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld-19"];
const DISTRIBUTION_RUSTC: &str = "/usr/bin/rustc";
const STD_SOURCE: &str = "/usr/lib/rustlib/src/rust/library/std/Cargo.toml";

/// Variables of the active toolchain, which would mix it into a build by another one.
pub const ACTIVE_ONLY: [&str; 4] = ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTDOC", "LD_LIBRARY_PATH"];

/// The time in which rustup must have reached its host; where it cannot, it would wait forever.
const PROBE_LIMIT: Duration = Duration::from_secs(10);

/// The time in which rustup must have downloaded what is missing.
const RUSTUP_LIMIT: Duration = Duration::from_secs(300);

/// Parts of a build run at once, and installers exclude one another only by failing.
static INSTALLING: Mutex<()> = Mutex::new(());

/// Returns a compiler for the browser that is at least as new as `required`, such as `1.95`; installs one if there is none.
///
/// First the active toolchain with the target of rustup, then another toolchain of rustup, then the distribution's compiler.
pub fn ensure_wasm_compiler(project: &Project, required: &str) -> Result<WasmCompiler> {
    let version = parse_minor_version(required).with_context(|| format!("expected a version of Rust, not '{required}'"))?;
    let installing = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(compiler) = find_toolchain(project, version) {
        return Ok(compiler);
    }
    if can_reach_rustup(project) {
        let arguments: &[&str] = if is_version(project.command("rustc"), version) {
            &["target", "add", WASM_TARGET]
        } else {
            &["toolchain", "install", required, "--profile", "minimal", "--target", WASM_TARGET]
        };
        sh::print_progress(&format!("installing a compiler for the browser: rustup {}", arguments.join(" ")));
        warn(sh::run_within(RUSTUP_LIMIT, project.command("rustup").args(arguments)));
        if let Some(compiler) = find_toolchain(project, version) {
            return Ok(compiler);
        }
    }
    drop(installing);
    if find_distribution_compiler(version).is_none() && can_install() {
        warn(apt_install("a compiler for the browser", &DISTRIBUTION_COMPILER));
    }
    find_distribution_compiler(version).with_context(|| {
        let packages = DISTRIBUTION_COMPILER.join(" ");
        format!(
            "no Rust {required} for the browser; run `rustup target add {WASM_TARGET}` or, on Debian, `sudo apt-get install {packages}`"
        )
    })
}

/// Returns a compiler for another platform, and ensures that there is a C compiler for it; installs what is missing.
pub fn ensure_cross_compiler(project: &Project, target: &str, gcc: &str) -> Result<CrossCompiler> {
    let (compiler, package) = (format!("{gcc}-gcc"), format!("gcc-{gcc}"));
    if !sh::is_on_path(&compiler) && can_install() {
        warn(apt_install("a C compiler for another platform", &[&package]));
    }
    if !sh::is_on_path(&compiler) {
        bail!("no {compiler}; run `sudo apt-get install {package}`");
    }
    let is_active = || has_std_of(project.command("rustc"), target);
    if !is_active() && can_reach_rustup(project) {
        sh::print_progress(&format!("installing a compiler for another platform: rustup target add {target}"));
        warn(sh::run_within(RUSTUP_LIMIT, project.command("rustup").args(["target", "add", target])));
    }
    if is_active() {
        return Ok(CrossCompiler::Active);
    }
    let required = parse_minor_version(env!("CARGO_PKG_RUST_VERSION")).context("expected a version of Rust")?;
    let is_found = || is_version(Command::new(DISTRIBUTION_RUSTC), required) && Path::new(STD_SOURCE).is_file();
    if !is_found() && can_install() {
        warn(apt_install("a compiler for another platform", &DISTRIBUTION_COMPILER));
    }
    if !is_found() {
        let packages = DISTRIBUTION_COMPILER.join(" ");
        bail!("no Rust for {target}; run `rustup target add {target}` or, on Debian, `sudo apt-get install {packages}`");
    }
    Ok(CrossCompiler::Distribution)
}

/// Returns a call of the distribution's cargo, without what configures the active toolchain.
pub fn distribution_cargo(project: &Project, arguments: &[&str]) -> Command {
    let mut command = project.command("/usr/bin/cargo");
    command.args(arguments);
    for name in ACTIVE_ONLY {
        command.env_remove(name);
    }
    let mut path = OsString::from("/usr/bin:");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    command.env("PATH", path).env("RUSTC", DISTRIBUTION_RUSTC);
    command
}

/// Finds a toolchain of rustup that has the target.
fn find_toolchain(project: &Project, required: (u32, u32)) -> Option<WasmCompiler> {
    let is_found = |rustc: &dyn Fn() -> Command| is_version(rustc(), required) && has_target(rustc());
    if is_found(&|| project.command("rustc")) {
        return Some(WasmCompiler::Active);
    }
    let name = format!("{}.{}", required.0, required.1);
    let named = || {
        let mut rustc = project.command("rustc");
        rustc.env("RUSTUP_TOOLCHAIN", &name).env("RUSTUP_AUTO_INSTALL", "0");
        rustc
    };
    is_found(&named).then(|| WasmCompiler::Toolchain(name.clone()))
}

fn find_distribution_compiler(required: (u32, u32)) -> Option<WasmCompiler> {
    let rustc = || Command::new(DISTRIBUTION_RUSTC);
    if !is_version(rustc(), required) || !Path::new("/usr/bin/cargo").is_file() || !sh::is_on_path("wasm-ld-19") {
        return None;
    }
    let builds_std = !has_target(rustc());
    (!builds_std || Path::new(STD_SOURCE).is_file()).then_some(WasmCompiler::Distribution { builds_std })
}

fn has_target(rustc: Command) -> bool {
    has_std_of(rustc, WASM_TARGET)
}

/// Whether a compiler has the standard library of a target.
fn has_std_of(mut rustc: Command, target: &str) -> bool {
    let folder = sh::output(rustc.args(["--print", "target-libdir", "--target", target]));
    folder.is_some_and(|folder| fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some()))
}

fn is_version(mut rustc: Command, required: (u32, u32)) -> bool {
    sh::output(rustc.arg("--version")).is_some_and(|it| is_new_enough(&it, required))
}

/// Whether rustup can download; says nothing where it cannot, because there are other ways.
fn can_reach_rustup(project: &Project) -> bool {
    /// What `rustup check` ends with when it knows of updates.
    const HAS_UPDATES: i32 = 100;
    let mut check = project.command("rustup");
    let ended =
        sh::is_on_path("rustup").then(|| sh::status_within(PROBE_LIMIT, check.arg("check").stdout(Stdio::null()).stderr(Stdio::null())));
    let code = ended.and_then(Result::ok).flatten().and_then(|it| it.code());
    code.is_some_and(|code| code == 0 || code == HAS_UPDATES)
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

/// Ensures that there is a JDK, which runs an example.
pub fn ensure_java() -> Result<()> {
    // A runtime without the compiler cannot run a source file.
    if !sh::is_on_path("javac") && can_install() {
        warn(apt_install("a JDK for an example", &["default-jdk-headless"]));
    }
    if !sh::is_on_path("javac") {
        bail!("no JDK for an example; install version 17 or later, on Debian with `sudo apt-get install default-jdk-headless`");
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

/// Returns whether `rustc 1.96.0 (…)` is at least a version.
fn is_new_enough(version: &str, required: (u32, u32)) -> bool {
    version.split(' ').nth(1).and_then(parse_minor_version).is_some_and(|it| it >= required)
}

fn parse_minor_version(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

fn can_install() -> bool {
    sh::is_on_path("apt-get") && is_root()
}

fn apt_install(what: &str, packages: &[&str]) -> Result<()> {
    let _installing = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
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
        assert!(is_new_enough("rustc 1.100.0 (built from a source tarball)", (1, 95)));
        assert!(is_new_enough("rustc 1.95.0", (1, 95)));
        assert!(!is_new_enough("rustc 1.63.0", (1, 95)));
        assert!(!is_new_enough("no version", (1, 95)));
    }
}
