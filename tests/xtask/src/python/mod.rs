//! Builds the Python interpreter of script nodes: one module for the server and the page.

mod meter;

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::install::{self, WASM_TARGET, WasmCompiler};
use crate::project::Project;
use crate::{sh, wasm};

/// The largest memory of an instance: 192 MiB, since a buffer that grows exists twice for a moment.
const MAX_PAGES: u64 = 3072;

/// Flags of the compiler: those of the browser engine, and our own source of bytes for hash tables.
const FLAGS: &str = "--cfg getrandom_backend=\"custom\"";

/// The optimiser's passes.
const PASSES: [&str; 3] = ["-O1", "--strip-debug", "--strip-producers"];

/// Compresses the file that is its argument as the page's build does with others: that takes half a minute, so the result is cached as well.
const COMPRESS: &str = "
const { readFileSync, writeFileSync } = require('node:fs');
const { brotliCompressSync, constants, gzipSync } = require('node:zlib');
const bytes = readFileSync(process.argv[1]);
const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length, [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS };
writeFileSync(process.argv[1] + '.br', brotliCompressSync(bytes, { params }));
writeFileSync(process.argv[1] + '.gz', gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }));
";

/// The module and its compressed forms, by the ending of the file name.
const ENDINGS: [&str; 3] = ["", ".br", ".gz"];

/// Builds the module into the page's public folder, unless a module of the same content is in the cache.
pub fn build(project: &Project) -> Result<()> {
    let compiler = install::ensure_wasm_compiler(project)?;
    let cached = cache_folder(project).join(format!("{}.wasm", fingerprint(project, &compiler)?));
    if !cached.is_file() {
        install::ensure_node_packages(project)?;
        sh::print_progress("building the Python interpreter, which takes a few minutes and is then cached");
        compile(project, &compiler, &cached)?;
    }
    for ending in ENDINGS {
        let (cached, public) = (with_ending(&cached, ending), with_ending(&module_path(project), ending));
        let bytes = fs::read(&cached).with_context(|| format!("cannot read '{}'", cached.display()))?;
        if fs::read(&public).ok().as_ref() != Some(&bytes) {
            fs::write(&public, bytes).with_context(|| format!("cannot write '{}'", public.display()))?;
        }
    }
    Ok(())
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Returns the path of the module in the page's public folder.
pub fn module_path(project: &Project) -> PathBuf {
    project.web_demo().join("public/python.wasm")
}

fn source_folder(project: &Project) -> PathBuf {
    project.root.join("python")
}

fn cache_folder(project: &Project) -> PathBuf {
    project.target.join("python")
}

fn compile(project: &Project, compiler: &WasmCompiler, cached: &Path) -> Result<()> {
    sh::run(&mut compile_command(project, compiler))?;
    let compiled = cache_folder(project).join(WASM_TARGET).join("release/convengine_python.wasm");
    let metered = meter::add(&fs::read(&compiled)?, MAX_PAGES)?;
    let unfinished = cached.with_extension("part");
    fs::write(&unfinished, metered)?;
    let mut optimise = project.command(project.web_demo().join("node_modules/.bin/wasm-opt"));
    sh::run(optimise.args(PASSES).args(wasm::FEATURES).arg(&unfinished).arg("-o").arg(&unfinished))?;
    sh::run(project.command("node").args(["-e", COMPRESS]).arg(&unfinished))?;
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

/// Hashes everything that determines the module's content: all files but the documentation, and the tools.
fn fingerprint(project: &Project, compiler: &WasmCompiler) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    let mut files = Vec::new();
    list_files(&source_folder(project), &mut files)?;
    files.sort();
    for file in files {
        hasher.write(file.strip_prefix(&project.root)?.as_os_str().as_encoded_bytes());
        hasher.write(&fs::read(&file).with_context(|| format!("cannot read '{}'", file.display()))?);
    }
    let version = sh::output(wasm::rustc(project, compiler).arg("--version")).context("the compiler has no version")?;
    for text in [&version, FLAGS, wasm::PANIC_FLAGS, COMPRESS, include_str!("meter.rs")].into_iter().chain(PASSES) {
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
