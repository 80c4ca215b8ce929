//! The corpus: packs as data, and where to find what plays them.

pub mod contract;
pub mod fuzz;
pub mod invariants;
pub mod plain;
pub mod scaled;
pub mod simulate;
pub mod soak;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use convengine_core::pack::Pack;
use convengine_server::pack_file;
use convengine_server::play::KnownDifferences;
use uuid::Uuid;

/// A pack with its file.
#[derive(Debug, Clone)]
pub struct Case {
    /// The file.
    pub path: PathBuf,
    /// What is in it.
    pub pack: Pack,
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All packs and talks of the corpus, in the order of their names.
///
/// # Errors
/// When a file cannot be read or is neither.
pub fn corpus() -> Result<Vec<Case>> {
    cases(&["packs/demo", "packs/pipeline", "packs/recorded", "packs/tools", "packs/v1", "talks"], |_| true)
}

/// The talks of flow documents, in the order of their names.
///
/// # Errors
/// When a file cannot be read or is none.
pub fn flows() -> Result<Vec<Case>> {
    cases(&["packs/flow"], |it| it.extension().is_some_and(|it| it == "talk"))
}

fn cases(folders: &[&str], wanted: impl Fn(&Path) -> bool) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for folder in folders {
        let folder = root().join("tests").join(folder);
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_file() && wanted(&path) {
                cases.push(case(path)?);
            }
        }
    }
    cases.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(cases)
}

/// The recordings that call other paths or change the database, which are played over HTTP alone.
///
/// # Errors
/// When a file cannot be read.
pub fn recordings_of_other_paths() -> Result<Vec<Case>> {
    ["s23_rest_errors", "s36_cache_semantics"]
        .map(|it| case(root().join(format!("tests/packs/recorded/rest/{it}.json"))))
        .into_iter()
        .collect()
}

/// The corpus and the packs of extensions, whose modules must have been built. These have one message, which is sent twice.
///
/// # Errors
/// As [`corpus`]; also when a module is not there.
pub fn corpus_with_extension() -> Result<Vec<Case>> {
    let mut cases = corpus()?;
    cases.extend(flows()?);
    // A module is read from beside its pack.
    let folder = std::env::temp_dir().join(format!("convengine-extension-{}", Uuid::new_v4()));
    std::fs::create_dir(&folder)?;
    let extended = extended(&folder);
    // It is temporary: what cannot be removed now goes with the system's own cleaning.
    let _ = std::fs::remove_dir_all(&folder);
    cases.extend(extended?);
    Ok(cases)
}

fn extended(folder: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(root().join("tests/packs/extension"))? {
        let path = entry?.path();
        let name = path.file_stem().context("a file without a name")?;
        let module = module(&name.to_string_lossy())?;
        let beside = folder.join(name).with_extension("json");
        std::fs::copy(&path, &beside)?;
        std::fs::copy(module, folder.join(name).with_extension("wasm"))?;
        let mut case = case(beside)?;
        case.path = path;
        case.pack.turns.extend(case.pack.turns.clone());
        cases.push(case);
    }
    Ok(cases)
}

/// An extension as `cargo xtask extension` builds it.
fn module(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let file = Path::new("wasm/wasm32-unknown-unknown/wasm").join(name).with_extension("wasm");
    let found = own.ancestors().map(|it| it.join(&file)).find(|it| it.is_file());
    found.with_context(|| format!("the extension '{name}' is not built; run `cargo xtask extension` first"))
}

/// A pack of the demo.
///
/// # Errors
/// When it cannot be read.
pub fn demo(name: &str) -> Result<Case> {
    case(root().join("tests/packs/demo").join(name))
}

/// A pack or a talk about a flow document.
///
/// # Errors
/// When it cannot be read.
pub fn flow(name: &str) -> Result<Case> {
    case(root().join("tests/packs/flow").join(name))
}

/// A talk.
///
/// # Errors
/// When it cannot be read.
pub fn talk(name: &str) -> Result<Case> {
    case(root().join("tests/talks").join(name))
}

fn case(path: PathBuf) -> Result<Case> {
    let pack = pack_file::read(&path)?;
    Ok(Case { path, pack })
}

/// The differences from recordings that a ruling explains.
///
/// # Errors
/// When the list cannot be read.
pub fn explained() -> Result<KnownDifferences> {
    KnownDifferences::parse(&std::fs::read_to_string(root().join("tests/explained.json"))?)
}

/// The server's binary, which is built beside the tests.
///
/// # Errors
/// When it is not there.
pub fn binary() -> Result<PathBuf> {
    let tests = std::env::current_exe()?;
    let folder = tests.ancestors().nth(2).context("the tests have no target folder")?;
    let binary = folder.join("convengine");
    anyhow::ensure!(binary.is_file(), "the server is not built; run `cargo build -p convengine-server` first");
    Ok(binary)
}
