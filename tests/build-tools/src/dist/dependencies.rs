//! What the program is made of besides the product: the packages that are in it, with their licences.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::licences::read_metadata;

/// What the program is linked from, or holds as files: the workspaces and their packages. It holds the engine and the interpreter of the page,
/// and the book, which is made with files of `mdbook-html`.
const CARGO_ROOTS: [(&str, &str); 4] = [
    ("Cargo.toml", "convengine-server"),
    ("Cargo.toml", "convengine-wasm"),
    ("Cargo.toml", "mdbook-html"),
    ("python/Cargo.toml", "convengine-python"),
];

/// What the scripts of the page are bundled from, and where its packages are installed.
const NPM_ROOTS: [&str; 11] = [
    "@codemirror/autocomplete",
    "@codemirror/commands",
    "@codemirror/lang-json",
    "@codemirror/language",
    "@codemirror/lint",
    "@codemirror/search",
    "@codemirror/view",
    "@lezer/highlight",
    "eventsource-parser",
    "idb",
    "svelte",
];
const NPM_LOCK: &str = "web-demo/package-lock.json";

/// How the names of files begin that hold a licence or a notice.
const LICENCE_FILES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// Where packages come from, as package URLs name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Registry {
    /// Rust.
    Cargo,
    /// JavaScript.
    Npm,
}

/// A package that is in the program.
#[derive(Debug, Clone)]
pub struct Dependency {
    /// Its registry.
    pub registry: Registry,
    /// Its name on the registry.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its licence as an SPDX expression.
    pub licence: String,
    /// Its folder.
    folder: PathBuf,
}

/// All packages that are in the program, by registry, name and version.
pub struct Dependencies {
    /// The packages.
    pub packages: Vec<Dependency>,
}

impl Dependencies {
    /// Reads the packages that are in the program, on any platform.
    pub fn read() -> Result<Self> {
        let mut found = BTreeMap::new();
        for (manifest, root) in CARGO_ROOTS {
            read_cargo(manifest, root, &mut found)?;
        }
        read_npm(&serde_json::from_slice(&super::read(Path::new(NPM_LOCK))?)?, &mut found)?;
        Ok(Self { packages: found.into_values().collect() })
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

/// Packages by registry, name and version.
type Found = BTreeMap<(Registry, String, String), Dependency>;

fn add(found: &mut Found, dependency: Dependency) {
    found.insert((dependency.registry, dependency.name.clone(), dependency.version.clone()), dependency);
}

/// Adds the package and what it uses at run time.
fn read_cargo(manifest: &str, root: &str, found: &mut Found) -> Result<()> {
    let metadata = read_metadata(manifest)?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|package| (text(&package["id"]), package)).collect();
    let nodes: BTreeMap<String, Value> = list(&metadata["resolve"]["nodes"]).into_iter().map(|node| (text(&node["id"]), node)).collect();
    let id = packages.iter().find(|(_, package)| package["name"] == root).with_context(|| format!("'{manifest}' has no package {root}"))?.0;
    let mut reached = BTreeSet::from([id.clone()]);
    let mut open = vec![id.clone()];
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
    reached.iter().map(|id| &packages[id]).filter(|package| !package["source"].is_null()).for_each(|it| add(found, dependency(it)));
    Ok(())
}

/// Adds the packages of the page and what they use.
fn read_npm(lock: &Value, found: &mut Found) -> Result<()> {
    let mut open: Vec<String> = NPM_ROOTS.iter().map(|it| (*it).to_owned()).collect();
    let mut reached = BTreeSet::new();
    while let Some(name) = open.pop() {
        if !reached.insert(name.clone()) {
            continue;
        }
        let path = format!("node_modules/{name}");
        let package = &lock["packages"][&path];
        let version = package["version"].as_str().with_context(|| format!("'{NPM_LOCK}' has no package {name}"))?;
        open.extend(package["dependencies"].as_object().into_iter().flatten().map(|it| it.0.clone()));
        let folder = Path::new(NPM_LOCK).with_file_name(&path);
        add(found, Dependency { registry: Registry::Npm, name, version: version.to_owned(), licence: text(&package["license"]), folder });
    }
    Ok(())
}

fn dependency(package: &Value) -> Dependency {
    let manifest = text(&package["manifest_path"]);
    Dependency {
        registry: Registry::Cargo,
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
