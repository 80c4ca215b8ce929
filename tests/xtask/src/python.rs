//! Builds the Python interpreter of script nodes: one module for the server and the page.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::install::{self, WASM_TARGET, WasmCompiler};
use crate::project::Project;
use crate::{build_tools, compress, page, sh, wasm};

/// The largest memory of an instance: 192 MiB, since a buffer that grows exists twice for a moment.
const MAX_PAGES: u64 = 3072;

/// Flags of the compiler: our own source of bytes for hash tables.
const FLAGS: &str = "--cfg getrandom_backend=\"custom\"";

/// The optimiser's passes.
const PASSES: [&str; 3] = ["-O1", "--strip-debug", "--strip-producers"];

/// The name of the module in the page.
const FILE: &str = "python.wasm";

/// The module and its compressed forms, by the ending of the file name.
const ENDINGS: [&str; 3] = ["", ".br", ".gz"];

/// Builds the module into the page's public folder, unless a module of the same content is in the cache.
pub fn build(project: &Project) -> Result<()> {
    let cached = cached_module(project)?;
    if !cached.is_file() {
        install::ensure_node_packages(project)?;
        sh::print_progress("building the interpreter of scripts, which takes a few minutes and is then cached");
        compile(project, &ensure_compiler(project)?, &cached)?;
    }
    publish(project, &cached)
}

/// Copies the module from the cache into the page's public folder, or removes one of another content from there; returns whether it is there.
pub fn restore(project: &Project) -> Result<bool> {
    let cached = cached_module(project)?;
    if cached.is_file() {
        return publish(project, &cached).map(|()| true);
    }
    for ending in ENDINGS {
        let stale = with_ending(&module_path(project), ending);
        if stale.is_file() {
            fs::remove_file(&stale).with_context(|| format!("cannot remove '{}'", stale.display()))?;
        }
    }
    Ok(false)
}

/// Starts a process that builds the module, and does not wait for it.
pub fn build_in_background(project: &Project) -> Result<()> {
    let log = cache_folder(project).join("build.log");
    fs::create_dir_all(cache_folder(project))?;
    let file = fs::File::create(&log).with_context(|| format!("cannot write '{}'", log.display()))?;
    let itself = std::env::current_exe().context("cannot find this program")?;
    let mut command = project.command(itself);
    command.arg("python").env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR")).env("CARGO_TARGET_DIR", &project.target);
    command
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .spawn()
        .context("cannot start building the interpreter of scripts")?;
    sh::print_progress(&format!("building the interpreter of scripts in the background; its output is in {}", log.display()));
    Ok(())
}

/// Copies a built module to where the page is built from, and to the built page, which a running server serves.
fn publish(project: &Project, cached: &Path) -> Result<()> {
    let mut folders = vec![project.web_demo().join("public")];
    folders.extend(Some(page::folder(project)).filter(|it| it.is_dir()));
    // The module comes last, because its presence means that all are there.
    for ending in ENDINGS.into_iter().rev() {
        let cached = with_ending(cached, ending);
        let bytes = fs::read(&cached).with_context(|| format!("cannot read '{}'", cached.display()))?;
        for folder in &folders {
            let file = with_ending(&folder.join(FILE), ending);
            if fs::read(&file).ok().as_ref() != Some(&bytes) {
                let unfinished = with_ending(&file, ".part");
                fs::write(&unfinished, &bytes)
                    .and_then(|()| fs::rename(&unfinished, &file))
                    .with_context(|| format!("cannot write '{}'", file.display()))?;
            }
        }
    }
    Ok(())
}

/// Returns where the module of these sources is or will be in the cache.
fn cached_module(project: &Project) -> Result<PathBuf> {
    Ok(cache_folder(project).join(format!("{}.wasm", fingerprint(project)?)))
}

/// Returns the compiler that the interpreter requires, which is later than that of the rest of the product.
fn ensure_compiler(project: &Project) -> Result<WasmCompiler> {
    let manifest = source_folder(project).join("Cargo.toml");
    let text = fs::read_to_string(&manifest).with_context(|| format!("cannot read '{}'", manifest.display()))?;
    let required =
        text.lines().find_map(|it| it.strip_prefix("rust-version = ")).context("expected a `rust-version` in 'python/Cargo.toml'")?;
    install::ensure_wasm_compiler(project, required.trim_matches('"'))
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Returns the path of the module in the page's public folder.
pub fn module_path(project: &Project) -> PathBuf {
    project.web_demo().join("public").join(FILE)
}

fn source_folder(project: &Project) -> PathBuf {
    project.root.join("python")
}

fn cache_folder(project: &Project) -> PathBuf {
    project.target.join("python")
}

fn compile(project: &Project, compiler: &WasmCompiler, cached: &Path) -> Result<()> {
    sh::run(&mut compile_command(project, compiler))?;
    // Waits for whoever builds the workspace in the meantime, which the module does not need.
    sh::run(&mut build_tools::compile(project))?;
    // Another process may have built it in the meantime.
    if cached.is_file() {
        return Ok(());
    }
    let compiled = cache_folder(project).join(WASM_TARGET).join("release/convengine_python.wasm");
    let unfinished = cached.with_extension(format!("{}.part", std::process::id()));
    fs::copy(&compiled, &unfinished).with_context(|| format!("cannot copy '{}'", compiled.display()))?;
    sh::run(build_tools::command(project).arg("meter").arg(&unfinished).arg(MAX_PAGES.to_string()))?;
    let mut optimise = project.command(project.web_demo().join("node_modules/.bin/wasm-opt"));
    sh::run(optimise.args(PASSES).args(wasm::FEATURES).arg(&unfinished).arg("-o").arg(&unfinished))?;
    compress::compress_file(project, &unfinished)?;
    // The module comes last, because its presence means that all are there.
    for ending in ENDINGS.into_iter().rev() {
        fs::rename(with_ending(&unfinished, ending), with_ending(cached, ending))?;
    }
    Ok(())
}

fn compile_command(project: &Project, compiler: &WasmCompiler) -> Command {
    let mut command = wasm::cargo(project, compiler, &["build", "--release", "--locked", "--target", WASM_TARGET], FLAGS);
    command.current_dir(source_folder(project)).env("CARGO_TARGET_DIR", cache_folder(project));
    command
}

/// Hashes everything that determines what the module does: all files but the documentation, and the tools other than the compiler.
fn fingerprint(project: &Project) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    let mut files = Vec::new();
    list_files(&source_folder(project), &mut files)?;
    files.sort();
    for file in files {
        hasher.write(file.strip_prefix(&project.root)?.as_os_str().as_encoded_bytes());
        hasher.write(&fs::read(&file).with_context(|| format!("cannot read '{}'", file.display()))?);
    }
    for text in [FLAGS, compress::SCRIPT, include_str!("../../build-tools/src/meter.rs")].into_iter().chain(PASSES) {
        hasher.write(text.as_bytes());
    }
    hasher.write(&fs::read(project.web_demo().join("package-lock.json"))?);
    hasher.write_u64(MAX_PAGES);
    Ok(format!("{:016x}", hasher.finish()))
}

fn list_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list '{}'", folder.display()))? {
        let entry = entry?;
        let path = entry.path();
        if !entry.file_type()?.is_dir() {
            files.extend((path.extension() != Some("md".as_ref())).then_some(path));
        } else if entry.file_name() != "target" {
            list_files(&path, files)?;
        }
    }
    Ok(())
}
