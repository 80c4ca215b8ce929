//! The corpus of packs and talks, for programs that need no host: what reads it, and what plays it in the core.

pub mod checks;
pub mod durations;
pub mod effect_free;
pub mod retrieval;
pub mod synthetic;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use convengine_core::pack::Pack;
use convengine_player::{KnownDifferences, read_pack};

/// The folders of packs and talks, below `tests`.
const PACKS: [&str; 6] = ["packs/demo", "packs/pipeline", "packs/recorded", "packs/tools", "packs/v1", "talks"];

/// The folders of talks of flow documents, below `tests`.
const FLOWS: [&str; 5] = ["packs/agent", "packs/chain", "packs/flow", "packs/mcp", "packs/workflow"];

/// The packs whose turns request what only a host can answer, such as a query or a script; `convengine-tests` plays them.
pub const NEEDS_HOST: [&str; 8] = [
    "document_search",
    "helpdesk",
    "inventory_lookup",
    "python_failures",
    "python_scripts",
    "python_seeded_random_replays",
    "queries",
    "s35_mcp_db_tool",
];

/// A pack with its file.
#[derive(Debug, Clone)]
pub struct Case {
    /// The file.
    pub path: PathBuf,
    /// The parsed pack.
    pub pack: Pack,
}

impl Case {
    /// Returns the name of the file and of its folder, such as `pipeline::policy_types`.
    pub fn name(&self) -> String {
        let name = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        format!("{}::{}", self.path.parent().map(name).unwrap_or_default(), name(&self.path))
    }

    /// Whether the pack is a talk of a flow document, a workflow graph, an AI agent or a chain.
    pub fn is_flow(&self) -> bool {
        FLOWS.iter().any(|name| self.path.parent().is_some_and(|folder| folder.ends_with(name)))
    }

    /// Whether the pack is among those that need a host.
    pub fn needs_host(&self) -> bool {
        NEEDS_HOST.contains(&self.pack.name.as_str())
    }
}

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("")).to_owned()
}

/// Returns all packs and talks of the corpus, sorted by path.
///
/// # Errors
/// If a file cannot be read or parsed.
pub fn corpus() -> Result<Vec<Case>> {
    read_cases(&PACKS, |_| true)
}

/// Returns the talks of flow documents, workflow graphs, AI agents and chains, sorted by path.
///
/// # Errors
/// If a file cannot be read or parsed.
pub fn flows() -> Result<Vec<Case>> {
    read_cases(&FLOWS, |path| path.extension().is_some_and(|extension| extension == "talk"))
}

fn read_cases(folders: &[&str], filter: impl Fn(&Path) -> bool) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for folder in folders {
        let folder = root().join("tests").join(folder);
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_file() && filter(&path) {
                cases.push(read_case(path)?);
            }
        }
    }
    cases.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(cases)
}

/// Returns the recordings that call other paths or change the database; they can be played over HTTP only.
///
/// # Errors
/// If a file cannot be read or parsed.
pub fn http_only_recordings() -> Result<Vec<Case>> {
    read_cases(&["packs/recorded/rest"], |_| true)
}

/// Returns a pack of the demo.
///
/// # Errors
/// If the file cannot be read or parsed.
pub fn demo(name: &str) -> Result<Case> {
    read_case(root().join("tests/packs/demo").join(name))
}

/// Returns a pack or a talk of a flow document.
///
/// # Errors
/// If the file cannot be read or parsed.
pub fn flow(name: &str) -> Result<Case> {
    read_case(root().join("tests/packs/flow").join(name))
}

/// Returns a talk.
///
/// # Errors
/// If the file cannot be read or parsed.
pub fn talk(name: &str) -> Result<Case> {
    read_case(root().join("tests/talks").join(name))
}

/// Reads a pack or a talk at a path below `tests`.
///
/// # Errors
/// If the file cannot be read or parsed.
pub fn read_case(path: impl AsRef<Path>) -> Result<Case> {
    let path = root().join("tests").join(path);
    let pack = read_pack(&path).with_context(|| path.display().to_string())?;
    Ok(Case { path, pack })
}

/// Returns the differences from recordings that a decision explains.
///
/// # Errors
/// If the rules cannot be read or parsed.
pub fn known_differences() -> Result<KnownDifferences> {
    KnownDifferences::parse(&std::fs::read_to_string(root().join("tests/explained.yaml"))?)
}
