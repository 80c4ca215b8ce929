//! The test corpus (packs, talks, flow documents) and what runs it: simulated faults, invariants, fuzzing, soak and contract tests.

pub mod contract;
pub mod fuzz;
pub mod invariants;
pub mod nlu;
pub mod reference;
mod server_program;
pub mod simulate;
pub mod soak;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use uuid::Uuid;

pub use server_program::{server_binary, target_folder};

pub use convengine_corpus::{
    Case, NEEDS_HOST, checks, corpus, demo, durations, effect_free, flow, flows, http_only_recordings, known_differences, read_case,
    retrieval, root, synthetic, talk,
};

/// Returns the corpus, the flows and the packs of extensions. An extension pack has one message, which is sent twice.
///
/// # Errors
/// If a file cannot be read or parsed, or if an extension's module has not been built.
pub fn corpus_with_extension() -> Result<Vec<Case>> {
    let mut cases = corpus()?;
    cases.extend(flows()?);
    cases.extend(extension_cases()?);
    Ok(cases)
}

/// Returns the packs of extensions. Each has one message, which is sent twice.
///
/// # Errors
/// If a file cannot be read or parsed, or if an extension's module has not been built.
pub fn extension_cases() -> Result<Vec<Case>> {
    // A module is loaded from the folder of its pack.
    let folder = std::env::temp_dir().join(format!("convengine-extension-{}", Uuid::new_v4()));
    std::fs::create_dir(&folder)?;
    let extended = read_extension_cases(&folder);
    // Best effort: the folder is below the system's temporary folder.
    let _ = std::fs::remove_dir_all(&folder);
    extended
}

fn read_extension_cases(folder: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(root().join("tests/packs/extension"))? {
        let path = entry?.path();
        let name = path.file_stem().context("file without a name")?;
        let module = extension_module(&name.to_string_lossy())?;
        let copied = folder.join(name).with_extension("json");
        std::fs::copy(&path, &copied)?;
        std::fs::copy(module, folder.join(name).with_extension("wasm"))?;
        let mut case = read_case(copied)?;
        case.path = path;
        case.pack.turns.extend(case.pack.turns.clone());
        cases.push(case);
    }
    Ok(cases)
}

/// Returns the path of an extension as `cargo xtask extension` builds it.
fn extension_module(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let file = Path::new("wasm/wasm32-unknown-unknown/wasm-dev").join(name).with_extension("wasm");
    let found = own.ancestors().map(|it| it.join(&file)).find(|it| it.is_file());
    found.with_context(|| format!("extension '{name}' is not built; run `cargo xtask extension` first"))
}

/// Returns the script of a reference server of the Model Context Protocol, as `cargo xtask` installs it below the target folder.
///
/// # Errors
/// If it is not installed.
pub fn reference_server(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let file = format!("mcp/node/node_modules/@modelcontextprotocol/server-{name}/dist/index.js");
    let found = own.ancestors().map(|it| it.join(&file)).find(|it| it.is_file());
    found.context("the reference servers are not installed; run `cargo xtask mcp` first")
}

/// Returns the interpreter of Python with what tests the client in Python, as `cargo xtask` installs it below the target folder.
///
/// # Errors
/// If it is not installed.
pub fn client_test_python() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let found = own.ancestors().map(|it| it.join("clients/python/bin/python")).find(|it| it.is_file());
    found.context("what tests the client in Python is not installed; run `cargo xtask ready` first")
}

/// Returns the path of a program that was built into the folder of this one.
///
/// # Errors
/// If the folder of this program is unknown.
pub fn sibling_program(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    Ok(own.parent().context("cannot find the folder of this program")?.join(name))
}

/// Returns the program of the Restate server, as `cargo xtask` installs it below the target folder.
///
/// # Errors
/// If it is not installed.
pub fn restate_binary() -> Result<PathBuf> {
    let platform = if cfg!(target_arch = "aarch64") { "linux-arm64" } else { "linux-x64" };
    let own = std::env::current_exe()?;
    let file = format!("restate/node_modules/@restatedev/restate-server-{platform}/bin/restate-server");
    let found = own.ancestors().map(|it| it.join(&file)).find(|it| it.is_file());
    found.context("Restate is not installed; run `cargo xtask restate` once")
}
