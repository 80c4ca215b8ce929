//! Builds the WebAssembly modules of the browser, the engine and lint: compiles, binds to JavaScript and optimises them.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::Bindgen;

use crate::install::{self, WASM_TARGET, WasmCompiler};
use crate::project::Project;
use crate::sh;

/// The WebAssembly features that all current browsers support and the compiler may use.
pub const FEATURES: [&str; 6] = [
    "--enable-bulk-memory",
    "--enable-sign-ext",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-multivalue",
    "--enable-mutable-globals",
];

/// The optimiser's passes. More passes make the module smaller, but its compressed form, which is downloaded, larger.
const PASSES: [&str; 9] = [
    "-O1",
    "--dae-optimizing",
    "--duplicate-function-elimination",
    "--rse",
    "--vacuum",
    "--reorder-locals",
    "--strip-target-features",
    "--merge-blocks",
    "--vacuum",
];

/// Variables of an outer cargo or of the native build, which would misconfigure the build of the browser engine.
const NATIVE_ONLY: [&str; 5] =
    ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTC_WORKSPACE_WRAPPER"];

/// Flags that make a panic abort at once: its message and location cost bytes, and the module has nowhere to print them.
pub const PANIC_FLAGS: &str = "-Zunstable-options -Cpanic=immediate-abort -Zlocation-detail=none";

/// Variables of the active toolchain, which would mix it into a build by another one.
const ACTIVE_ONLY: [&str; 4] = ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTDOC", "LD_LIBRARY_PATH"];

/// A module; a page loads only those that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Module {
    /// The engine.
    Engine,
    /// Lint, for people who edit.
    Lint,
}

impl Module {
    /// All modules.
    pub const ALL: [Module; 2] = [Module::Engine, Module::Lint];

    /// Returns the module's name: that of its cargo feature, and of its file in the npm package.
    pub fn name(self) -> &'static str {
        match self {
            Module::Engine => "engine",
            Module::Lint => "lint",
        }
    }

    /// Returns the folder of the module, below the page's sources.
    fn folder(self, project: &Project) -> PathBuf {
        let name = match self {
            Module::Engine => "src/wasm",
            Module::Lint => "src/wasm-lint",
        };
        project.web_demo().join(name)
    }
}

/// What modules are built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To be downloaded: every byte counts.
    Release,
    /// To be tried on the machine that builds them: the minutes count.
    Demo,
}

impl Purpose {
    /// Returns the profile of cargo.
    fn profile(self) -> &'static str {
        match self {
            Purpose::Release => "wasm",
            Purpose::Demo => "wasm-demo",
        }
    }
}

/// Builds the modules into the page's source folder.
pub fn build(project: &Project, purpose: Purpose) -> Result<()> {
    install::ensure_node_packages(project)?;
    let compiler = install::ensure_wasm_compiler(project)?;
    Module::ALL.into_iter().try_for_each(|module| build_module(project, &compiler, module, purpose))
}

fn build_module(project: &Project, compiler: &WasmCompiler, module: Module, purpose: Purpose) -> Result<()> {
    let name = module.name();
    sh::print_progress(&format!("building the WebAssembly module of the {name}"));
    let arguments = ["--package", "convengine-wasm", "--no-default-features", "--features", name];
    sh::run(&mut compile_command(project, compiler, purpose, &arguments, &[]))?;
    let compiled = project.wasm_target().join(WASM_TARGET).join(purpose.profile()).join("convengine_wasm.wasm");
    let stamp = project.wasm_target().join(format!("module.{name}.stamp"));
    if fs::read_to_string(&stamp).is_ok_and(|stamp| fingerprint(project, &compiled, module).is_ok_and(|now| now == stamp)) {
        return Ok(());
    }
    bind(&compiled, &module.folder(project))?;
    if purpose == Purpose::Release {
        sh::print_progress("optimising it");
        sh::run(&mut optimise_command(project, module))?;
    }
    fs::write(&stamp, fingerprint(project, &compiled, module)?)?;
    Ok(())
}

/// Builds the example extension as its author would.
pub fn build_extension(project: &Project) -> Result<()> {
    let compiler = install::ensure_wasm_compiler(project)?;
    sh::print_progress("building the example extension");
    sh::run(&mut compile_command(project, &compiler, Purpose::Release, &["--package", "fee_check"], &["-C", "strip=symbols"]))
}

/// Returns the path of a built module.
pub fn module_path(project: &Project, module: Module) -> PathBuf {
    module.folder(project).join("convengine_wasm_bg.wasm")
}

/// Returns a cargo command for the browser target; `last` is passed to the compiler of the package itself.
fn compile_command(project: &Project, compiler: &WasmCompiler, purpose: Purpose, package: &[&str], rustc_arguments: &[&str]) -> Command {
    let build = [&["rustc", "--lib", "--target", WASM_TARGET, "--profile", purpose.profile()], package].concat();
    let mut command = cargo(project, compiler, &build, "");
    command.arg("--").args(rustc_arguments);
    // Two compilers that share a target folder would invalidate each other's output.
    command.env("CARGO_TARGET_DIR", project.wasm_target());
    command
}

/// Returns a call of cargo for the browser target; `flags` are passed to the compiler of every package.
pub fn cargo(project: &Project, compiler: &WasmCompiler, arguments: &[&str], flags: &str) -> Command {
    let (mut command, panic_flags) = match compiler {
        WasmCompiler::Active => (project.cargo(arguments), ""),
        WasmCompiler::Debian => (debian_cargo(project, arguments), PANIC_FLAGS),
    };
    for name in NATIVE_ONLY {
        command.env_remove(name);
    }
    let flags = format!("{panic_flags} {flags}");
    if !flags.trim().is_empty() {
        command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", flags.trim());
    }
    command
}

/// Returns a call of the compiler for the browser target.
pub fn rustc(project: &Project, compiler: &WasmCompiler) -> Command {
    match compiler {
        WasmCompiler::Active => project.command("rustc"),
        WasmCompiler::Debian => project.command("/usr/bin/rustc"),
    }
}

fn debian_cargo(project: &Project, build: &[&str]) -> Command {
    let mut command = project.command("/usr/bin/cargo");
    // The standard library must be built anyway, so it is also optimised for size.
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
        .context("cannot write the bindings of the browser engine")
}

fn optimise_command(project: &Project, module: Module) -> Command {
    let module = module_path(project, module);
    let mut command = project.command(project.web_demo().join("node_modules/.bin/wasm-opt"));
    command.args(PASSES).args(FEATURES).arg(&module).arg("-o").arg(&module);
    command
}

/// Hashes the inputs and outputs of binding and optimising, so that a file that was changed by hand is regenerated.
fn fingerprint(project: &Project, compiled: &Path, module: Module) -> Result<String> {
    let folder = module.folder(project);
    let files = [
        compiled.to_path_buf(),
        project.web_demo().join("node_modules/binaryen/package.json"),
        module_path(project, module),
        folder.join("convengine_wasm.js"),
        folder.join("convengine_wasm.d.ts"),
    ];
    let mut hasher = DefaultHasher::new();
    for file in files {
        hasher.write(&fs::read(&file).with_context(|| format!("cannot read '{}'", file.display()))?);
    }
    FEATURES.iter().chain(&PASSES).for_each(|it| hasher.write(it.as_bytes()));
    Ok(format!("{:016x}", hasher.finish()))
}
