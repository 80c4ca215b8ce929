//! The browser engines, one for each family of configurations: compiled, bound to JavaScript, made small.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::Bindgen;

use crate::install::{self, WASM_TARGET, WasmCompiler};
use crate::project::Project;
use crate::sh;

/// What every current browser has and the compiler may have used.
const FEATURES: [&str; 6] = [
    "--enable-bulk-memory",
    "--enable-sign-ext",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-multivalue",
    "--enable-mutable-globals",
];

/// More passes make the module smaller and its compressed form larger, which is what travels: they leave less that repeats.
const PASSES: [&str; 7] =
    ["-O1", "--dae-optimizing", "--duplicate-function-elimination", "--rse", "--vacuum", "--reorder-locals", "--strip-target-features"];

/// Set by an outer cargo or for the native build; each would mislead the browser engine's compiler.
const NATIVE_ONLY: [&str; 5] =
    ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTC_WORKSPACE_WRAPPER"];

/// What a panic says and where it comes from is of no use in a module without names and without a place to print to, and costs bytes:
/// it ends the module at once, as it would after saying so.
const PANICS: &str = "-Zunstable-options -Cpanic=immediate-abort -Zlocation-detail=none";

/// Belong to the active toolchain, and would bring parts of it into a build by another.
const ACTIVE_ONLY: [&str; 4] = ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTDOC", "LD_LIBRARY_PATH"];

/// A family of configurations, which has an engine of its own: a page loads the one that it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Control tables.
    Tables,
    /// Flow documents.
    Flow,
}

impl Family {
    /// Both.
    pub const ALL: [Family; 2] = [Family::Tables, Family::Flow];

    /// The feature that compiles its program in.
    fn feature(self) -> &'static str {
        match self {
            Family::Tables => "tables",
            Family::Flow => "flow",
        }
    }

    /// The folder of its module below the page's sources.
    fn folder(self, project: &Project) -> PathBuf {
        let name = match self {
            Family::Tables => "src/wasm",
            Family::Flow => "src/wasm-flow",
        };
        project.web_demo().join(name)
    }
}

/// Builds the browser engines into the page's source folder.
pub fn build(project: &Project) -> Result<()> {
    install::node_packages(project)?;
    let compiler = install::wasm_compiler(project)?;
    Family::ALL.into_iter().try_for_each(|family| engine(project, &compiler, family))
}

fn engine(project: &Project, compiler: &WasmCompiler, family: Family) -> Result<()> {
    let feature = family.feature();
    sh::say(&format!("building the browser engine of {feature}"));
    let features = ["--no-default-features", "--features", feature];
    sh::run(&mut compile(project, compiler, &[&["--package", "convengine-wasm"], &features[..]].concat(), &[]))?;
    let compiled = project.wasm_target().join(WASM_TARGET).join("wasm/convengine_wasm.wasm");
    let stamp = project.wasm_target().join(format!("engine.{feature}.stamp"));
    if fs::read_to_string(&stamp).is_ok_and(|stamp| fingerprint(project, &compiled, family).is_ok_and(|now| now == stamp)) {
        return Ok(());
    }
    bind(&compiled, &family.folder(project))?;
    sh::say("making it small");
    sh::run(&mut optimise(project, family))?;
    fs::write(&stamp, fingerprint(project, &compiled, family)?)?;
    Ok(())
}

/// Builds the worked extension, as its author would: the file that server and page run.
pub fn extension(project: &Project) -> Result<()> {
    let compiler = install::wasm_compiler(project)?;
    sh::say("building the extension");
    sh::run(&mut compile(project, &compiler, &["--package", "fee_check"], &["-C", "strip=symbols"]))
}

/// Returns the finished module of a family, as the page loads it.
pub fn module(project: &Project, family: Family) -> PathBuf {
    family.folder(project).join("convengine_wasm_bg.wasm")
}

/// `last` goes to the compiler of the package itself.
fn compile(project: &Project, compiler: &WasmCompiler, package: &[&str], last: &[&str]) -> Command {
    let build = [&["rustc", "--lib", "--target", WASM_TARGET, "--profile", "wasm"], package].concat();
    let mut command = match compiler {
        WasmCompiler::Active => project.cargo(&build),
        WasmCompiler::Debian => debian_cargo(project, &build),
    };
    command.arg("--").args(last);
    for name in NATIVE_ONLY {
        command.env_remove(name);
    }
    // Two compilers in one folder would rebuild each other's work.
    command.env("CARGO_TARGET_DIR", project.wasm_target());
    command
}

fn debian_cargo(project: &Project, build: &[&str]) -> Command {
    let mut command = project.command("/usr/bin/cargo");
    // The standard library is built here anyway, so it is built for size as well.
    command.args(build).args(["-Z", "build-std=std,panic_abort", "-Z", "build-std-features=optimize_for_size"]);
    for name in ACTIVE_ONLY {
        command.env_remove(name);
    }
    let mut path = std::ffi::OsString::from("/usr/bin:");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    command
        .env("PATH", path)
        .env("RUSTC", "/usr/bin/rustc")
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", PANICS)
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "wasm-ld-19");
    command
}

fn bind(compiled: &Path, folder: &Path) -> Result<()> {
    Bindgen::new()
        .input_path(compiled)
        .web(true)?
        .omit_default_module_path(false)
        .typescript(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(folder)
        .context("cannot write the browser engine's bindings")
}

fn optimise(project: &Project, family: Family) -> Command {
    let module = module(project, family);
    let mut command = project.command(project.web_demo().join("node_modules/.bin/wasm-opt"));
    command.args(PASSES).args(FEATURES).arg(&module).arg("-o").arg(&module);
    command
}

/// Covers what binding and optimising read and what they wrote, so that a file changed by hand is written again.
fn fingerprint(project: &Project, compiled: &Path, family: Family) -> Result<String> {
    let folder = family.folder(project);
    let files = [
        compiled.to_path_buf(),
        project.web_demo().join("node_modules/binaryen/package.json"),
        module(project, family),
        folder.join("convengine_wasm.js"),
        folder.join("convengine_wasm.d.ts"),
    ];
    let mut hasher = DefaultHasher::new();
    for file in files {
        hasher.write(&fs::read(&file).with_context(|| format!("cannot read `{}`", file.display()))?);
    }
    FEATURES.iter().chain(&PASSES).for_each(|it| hasher.write(it.as_bytes()));
    Ok(format!("{:016x}", hasher.finish()))
}
