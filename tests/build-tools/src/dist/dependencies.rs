//! What the program is made of besides the product: the packages that are linked in, with their licences.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::licences::read_metadata;

/// The package of the program.
const PROGRAM: &str = "convengine-server";

/// How the names of files begin that hold a licence or a notice.
const LICENCE_FILES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// A package that is linked in.
#[derive(Debug, Clone)]
pub struct Dependency {
    /// Its name on the registry.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its licence as an SPDX expression.
    pub licence: String,
    /// Its folder.
    folder: PathBuf,
}

/// All packages that are linked in, by name and version.
pub struct Dependencies {
    /// The packages.
    pub packages: Vec<Dependency>,
}

impl Dependencies {
    /// Reads the packages that the program uses at run time, on any platform.
    pub fn read() -> Result<Self> {
        let metadata = read_metadata("Cargo.toml")?;
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let packages: BTreeMap<String, Value> =
            list(&metadata["packages"]).into_iter().map(|package| (text(&package["id"]), package)).collect();
        let nodes: BTreeMap<String, Value> =
            list(&metadata["resolve"]["nodes"]).into_iter().map(|node| (text(&node["id"]), node)).collect();
        let program = packages.iter().find(|(_, package)| package["name"] == PROGRAM).context("the program is not in the workspace")?.0;
        let mut reached = BTreeSet::from([program.clone()]);
        let mut open = vec![program.clone()];
        while let Some(id) = open.pop() {
            for dependency in list(&nodes[&id]["deps"]) {
                // Build scripts and tests are not linked in; kind null is an ordinary dependency.
                let is_linked = list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
                let id = text(&dependency["pkg"]);
                if is_linked && !is_macro(&packages[&id]) && reached.insert(id.clone()) {
                    open.push(id);
                }
            }
        }
        let mut packages: Vec<Dependency> =
            reached.iter().map(|id| &packages[id]).filter(|package| !package["source"].is_null()).map(dependency).collect();
        packages.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
        Ok(Self { packages })
    }

    /// The licences of all packages, each text once with the packages that have it.
    pub fn notices(&self) -> Result<String> {
        let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut list = String::from("The program convengine contains the following software.\n\n");
        for package in &self.packages {
            writeln!(list, "{} {}: {}", package.name, package.version, package.licence)?;
            for text in licence_texts(&package.folder)? {
                texts.entry(text).or_default().insert(format!("{} {}", package.name, package.version));
            }
        }
        let mut sections: Vec<(BTreeSet<String>, String)> = texts.into_iter().map(|(text, packages)| (packages, text)).collect();
        sections.sort();
        for (packages, text) in sections {
            let names: Vec<String> = packages.into_iter().collect();
            write!(list, "\n{}\n{}\n\n{text}\n", "-".repeat(80), names.join(", "))?;
        }
        Ok(list)
    }
}

fn dependency(package: &Value) -> Dependency {
    let manifest = text(&package["manifest_path"]);
    Dependency {
        name: text(&package["name"]),
        version: text(&package["version"]),
        licence: text(&package["license"]).replace('/', " OR "),
        folder: Path::new(&manifest).parent().unwrap_or(Path::new("")).to_path_buf(),
    }
}

/// Macros run in the compiler.
fn is_macro(package: &Value) -> bool {
    let targets = package["targets"].as_array().cloned().unwrap_or_default();
    targets.iter().any(|target| target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "proc-macro")))
}

fn licence_texts(folder: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read '{}'", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_file() && LICENCE_FILES.iter().any(|prefix| name.starts_with(prefix)) {
            paths.push(path);
        }
    }
    paths.sort();
    let texts = paths.iter().map(|path| {
        let bytes = fs::read(path).with_context(|| format!("cannot read '{}'", path.display()))?;
        Ok(String::from_utf8_lossy(&bytes).replace("\r\n", "\n").trim_end().to_owned())
    });
    texts.collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
