//! Builds the WebAssembly modules of the browser, the engine and lint: compiles, binds to JavaScript and optimises them.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::install::{self, ACTIVE_ONLY, WASM_TARGET, WasmCompiler};
use crate::project::Project;
use crate::{build_tools, sh};

/// The WebAssembly features that all current browsers support and the compiler may use.
pub const FEATURES: [&str; 6] = [
    "--enable-bulk-memory",
    "--enable-sign-ext",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-multivalue",
    "--enable-mutable-globals",
];

/// The optimiser's passes.
const PASSES: [&str; 2] = ["-O2", "--strip-target-features"];

/// Variables of an outer cargo or of the native build, which would misconfigure the build of the browser engine.
const NATIVE_ONLY: [&str; 5] =
    ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTC_WORKSPACE_WRAPPER"];

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
    /// To be published.
    Release,
    /// To be tried and tested on the machine that builds them: the minutes count.
    Development,
}

impl Purpose {
    /// Returns the profile of cargo.
    fn profile(self) -> &'static str {
        match self {
            Purpose::Release => "wasm",
            Purpose::Development => "wasm-dev",
        }
    }
}

/// Builds the modules into the page's source folder.
pub fn build(project: &Project, purpose: Purpose) -> Result<()> {
    sh::run(&mut build_tools::compile(project))?;
    compile(project, purpose)?;
    bind(project, purpose)
}

/// Compiles the modules, in the target folder of the browser.
pub fn compile(project: &Project, purpose: Purpose) -> Result<()> {
    let compiler = ensure_compiler(project)?;
    for module in Module::ALL {
        let name = module.name();
        sh::print_progress(&format!("compiling the WebAssembly module of the {name}"));
        let arguments = ["--package", "convengine-wasm", "--no-default-features", "--features", name];
        sh::run(&mut compile_command(project, &compiler, purpose, &arguments))?;
        // Both modules are compiled to the same file.
        copy_if_changed(&compiled_file(project, purpose, "convengine_wasm"), &compiled_file(project, purpose, name))?;
    }
    Ok(())
}

/// Binds the compiled modules to JavaScript, in the page's source folder, and optimises those of a release. The build tools have to be built.
pub fn bind(project: &Project, purpose: Purpose) -> Result<()> {
    install::ensure_node_packages(project)?;
    for module in Module::ALL {
        let compiled = compiled_file(project, purpose, module.name());
        let stamp = project.wasm_target().join(format!("{}.stamp", module.name()));
        if fs::read_to_string(&stamp).is_ok_and(|stamp| fingerprint(project, &compiled, module, purpose).is_ok_and(|now| now == stamp)) {
            continue;
        }
        sh::run(build_tools::command(project).arg("bind").arg(&compiled).arg(module.folder(project)))?;
        if purpose == Purpose::Release {
            sh::print_progress(&format!("optimising the WebAssembly module of the {}", module.name()));
            sh::run(&mut optimise_command(project, module))?;
        }
        fs::write(&stamp, fingerprint(project, &compiled, module, purpose)?)?;
    }
    Ok(())
}

/// Builds the example extension.
pub fn build_extension(project: &Project) -> Result<()> {
    let compiler = ensure_compiler(project)?;
    sh::print_progress("building the example extension");
    sh::run(&mut compile_command(project, &compiler, Purpose::Development, &["--package", "fee_check"]))
}

/// Returns the path of a module in the page's source folder.
pub fn module_path(project: &Project, module: Module) -> PathBuf {
    module.folder(project).join("convengine_wasm_bg.wasm")
}

fn ensure_compiler(project: &Project) -> Result<WasmCompiler> {
    install::ensure_wasm_compiler(project, env!("CARGO_PKG_RUST_VERSION"))
}

fn compiled_file(project: &Project, purpose: Purpose, name: &str) -> PathBuf {
    project.wasm_target().join(WASM_TARGET).join(purpose.profile()).join(name).with_extension("wasm")
}

fn copy_if_changed(from: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(from).with_context(|| format!("cannot read '{}'", from.display()))?;
    if fs::read(to).ok().as_ref() != Some(&bytes) {
        fs::write(to, bytes).with_context(|| format!("cannot write '{}'", to.display()))?;
    }
    Ok(())
}

/// Returns a call of cargo that compiles a package for the browser.
fn compile_command(project: &Project, compiler: &WasmCompiler, purpose: Purpose, package: &[&str]) -> Command {
    let build = [&["rustc", "--lib", "--target", WASM_TARGET, "--profile", purpose.profile()], package].concat();
    let mut command = cargo(project, compiler, &build, "");
    // A folder of its own, so that the native build does not wait, and another compiler does not invalidate its output.
    command.env("CARGO_TARGET_DIR", project.wasm_target());
    command
}

/// Returns a call of cargo for the browser; `flags` are passed to the compiler of every package.
pub fn cargo(project: &Project, compiler: &WasmCompiler, arguments: &[&str], flags: &str) -> Command {
    let mut command = match compiler {
        WasmCompiler::Active => project.cargo(arguments),
        WasmCompiler::Toolchain(name) => {
            let mut command = project.command("cargo");
            without_active_toolchain(&mut command).args(arguments).env("RUSTUP_TOOLCHAIN", name);
            command
        }
        WasmCompiler::Distribution { builds_std } => distribution_cargo(project, arguments, *builds_std),
    };
    for name in NATIVE_ONLY {
        command.env_remove(name);
    }
    if !flags.is_empty() {
        command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", flags);
    }
    command
}

fn without_active_toolchain(command: &mut Command) -> &mut Command {
    for name in ACTIVE_ONLY {
        command.env_remove(name);
    }
    command
}

fn distribution_cargo(project: &Project, arguments: &[&str], builds_std: bool) -> Command {
    let mut command = install::distribution_cargo(project, arguments);
    if builds_std {
        command.args(["-Z", "build-std=std,panic_abort"]).env("RUSTC_BOOTSTRAP", "1");
    }
    command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "wasm-ld-19");
    command
}

fn optimise_command(project: &Project, module: Module) -> Command {
    let module = module_path(project, module);
    let mut command = project.command(project.web_demo().join("node_modules/.bin/wasm-opt"));
    command.args(PASSES).args(FEATURES).arg(&module).arg("-o").arg(&module);
    command
}

/// Hashes the inputs and outputs of binding and optimising, so that a file that was changed by hand is regenerated.
fn fingerprint(project: &Project, compiled: &Path, module: Module, purpose: Purpose) -> Result<String> {
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
    hasher.write(purpose.profile().as_bytes());
    FEATURES.iter().chain(&PASSES).for_each(|option| hasher.write(option.as_bytes()));
    Ok(format!("{:016x}", hasher.finish()))
}
