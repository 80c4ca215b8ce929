//! The engine as a package for npm: what a page or a Node.js program embeds.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::project::Project;
use crate::sh;
use crate::wasm::{self, Family};

/// What the package has, by name.
const FILES: [&str; 8] =
    ["LICENSE", "README.md", "convengine.d.ts", "convengine.js", "convengine.wasm", "package.json", "turn-runner.d.ts", "turn-runner.js"];

/// What is written by hand.
const BY_HAND: [&str; 3] = ["README.md", "turn-runner.d.ts", "turn-runner.js"];

/// Builds the browser engine and the package, and prints the package's size.
pub fn build(project: &Project) -> Result<()> {
    wasm::build(project)?;
    assemble(project)
}

/// Makes the package of the browser engine as it was built last.
pub fn assemble(project: &Project) -> Result<()> {
    sh::say("making the npm package");
    let folder = folder(project);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty `{}`", folder.display()))?;
    }
    fs::create_dir_all(&folder)?;
    let source = project.root.join("host-wasm/npm");
    for name in BY_HAND {
        copy(&source.join(name), &folder.join(name))?;
    }
    copy(&project.root.join("LICENSE"), &folder.join("LICENSE"))?;
    let module = wasm::module(project, Family::Tables);
    copy(&module, &folder.join("convengine.wasm"))?;
    for (generated, name) in [("convengine_wasm.js", "convengine.js"), ("convengine_wasm.d.ts", "convengine.d.ts")] {
        fs::write(folder.join(name), renamed(&read(&module.with_file_name(generated))?))?;
    }
    let manifest: Value = serde_json::from_str(&read(&source.join("package.json"))?)?;
    fs::write(folder.join("package.json"), serde_json::to_string_pretty(&with_version(manifest))? + "\n")?;
    let packed = packed(project, &folder)?;
    println!("{:<24}{:>12}{:>12}", "npm package", "bytes", "unpacked");
    println!("{:<24}{:>12}{:>12}", packed.name, packed.bytes, packed.unpacked);
    Ok(())
}

/// Returns the folder of the finished package.
pub fn folder(project: &Project) -> PathBuf {
    project.target.join("npm/convengine")
}

/// What wasm-bindgen calls by the name of our crate.
fn renamed(text: &str) -> String {
    text.replace("convengine_wasm_bg.wasm", "convengine.wasm").replace("convengine_wasm.d.ts", "convengine.d.ts")
}

fn with_version(mut manifest: Value) -> Value {
    // All packages of the workspace have the same.
    manifest["version"] = env!("CARGO_PKG_VERSION").into();
    manifest
}

struct Packed {
    name: String,
    bytes: u64,
    unpacked: u64,
}

/// Packs as `npm publish` would, and makes sure that what is meant is in it and nothing else.
fn packed(project: &Project, folder: &Path) -> Result<Packed> {
    let mut npm = project.npm(&["pack", "--json", "--pack-destination", ".."]);
    let told = sh::output(npm.current_dir(folder)).context("`npm pack` failed")?;
    let told: Value = serde_json::from_str(&told)?;
    let package = told.get(0).or_else(|| told.get("convengine")).context("`npm pack` told of no package")?;
    let files = package["files"].as_array().context("`npm pack` told of no files")?;
    let mut names: Vec<&str> = files.iter().filter_map(|it| it["path"].as_str()).collect();
    names.sort_unstable();
    ensure!(names == FILES, "the package has {names:?} and should have {FILES:?}");
    let number = |key: &str| package[key].as_u64().with_context(|| format!("`npm pack` told of no {key}"));
    let name = package["filename"].as_str().unwrap_or_default().to_owned();
    Ok(Packed { name, bytes: number("size")?, unpacked: number("unpackedSize")? })
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read `{}`, type: cargo xtask wasm", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy `{}`, type: cargo xtask wasm", from.display()))?;
    Ok(())
}
