//! Builds the engine as an npm package, for pages and Node.js programs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::project::Project;
use crate::sh;
use crate::wasm::{self, Module};

/// The files that are not generated, besides the manifest and the license.
const STATIC_FILES: [&str; 14] = [
    "README.md",
    "conversation.d.ts",
    "conversation.js",
    "convengine.d.ts",
    "convengine.js",
    "edge.d.ts",
    "edge.js",
    "modules.js",
    "node.js",
    "turn-runner.d.ts",
    "turn-runner.js",
    "worker-client.d.ts",
    "worker-client.js",
    "worker.js",
];

/// Builds the modules and the package, and prints the package's size.
pub fn build(project: &Project) -> Result<()> {
    wasm::build(project, wasm::Purpose::Release)?;
    assemble(project)
}

/// Builds the package from the last build of the modules.
pub fn assemble(project: &Project) -> Result<()> {
    sh::print_progress("building the npm package");
    let folder = folder(project);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty '{}'", folder.display()))?;
    }
    fs::create_dir_all(&folder)?;
    let source = project.root.join("host-wasm/npm");
    for name in STATIC_FILES {
        copy(&source.join(name), &folder.join(name))?;
    }
    copy(&project.root.join("LICENSE"), &folder.join("LICENSE"))?;
    for module in Module::ALL {
        let (name, module) = (module.name(), wasm::module_path(project, module));
        copy(&module, &folder.join(name).with_extension("wasm"))?;
        for (generated, extension) in [("convengine_wasm.js", "js"), ("convengine_wasm.d.ts", "d.ts")] {
            let text = read(&module.with_file_name(generated))?;
            fs::write(folder.join(format!("{name}.{extension}")), rename_files(&text, name))?;
        }
    }
    let manifest: Value = serde_json::from_str(&read(&source.join("package.json"))?)?;
    fs::write(folder.join("package.json"), serde_json::to_string_pretty(&with_version(manifest))? + "\n")?;
    let packed = pack(project, &folder)?;
    println!("{:<24}{:>12}{:>12}", "npm package", "bytes", "unpacked");
    println!("{:<24}{:>12}{:>12}", packed.name, packed.bytes, packed.unpacked);
    Ok(())
}

/// Returns the folder of the finished package.
pub fn folder(project: &Project) -> PathBuf {
    project.target.join("npm/convengine")
}

/// Copies the finished package, as it is published, into another folder.
pub fn copy_package(project: &Project, to: &Path) -> Result<()> {
    let name = format!("convengine-{}.tgz", env!("CARGO_PKG_VERSION"));
    copy(&project.target.join("npm").join(&name), &to.join(&name))
}

/// Replaces the file names that wasm-bindgen derives from the crate's name.
fn rename_files(text: &str, name: &str) -> String {
    text.replace("convengine_wasm_bg.wasm", &format!("{name}.wasm")).replace("convengine_wasm.d.ts", &format!("{name}.d.ts"))
}

fn with_version(mut manifest: Value) -> Value {
    // All packages of the workspace have the same version.
    manifest["version"] = env!("CARGO_PKG_VERSION").into();
    manifest
}

struct PackageInfo {
    name: String,
    bytes: u64,
    unpacked: u64,
}

/// Packs like `npm publish` would, and checks that the package has exactly the expected files.
fn pack(project: &Project, folder: &Path) -> Result<PackageInfo> {
    let mut npm = project.npm(&["pack", "--json", "--pack-destination", ".."]);
    let output = sh::output(npm.current_dir(folder)).context("`npm pack` failed")?;
    let output: Value = serde_json::from_str(&output)?;
    let package = output.get(0).or_else(|| output.get("convengine")).context("`npm pack` reported no package")?;
    let files = package["files"].as_array().context("`npm pack` reported no files")?;
    let mut names: Vec<&str> = files.iter().filter_map(|it| it["path"].as_str()).collect();
    names.sort_unstable();
    let expected = package_files();
    ensure!(names == expected, "unexpected files in the package: {names:?}, expected {expected:?}");
    let number = |key: &str| package[key].as_u64().with_context(|| format!("`npm pack` reported no {key}"));
    let name = package["filename"].as_str().unwrap_or_default().to_owned();
    Ok(PackageInfo { name, bytes: number("size")?, unpacked: number("unpackedSize")? })
}

/// Returns the files of the package, sorted.
fn package_files() -> Vec<String> {
    let generated = Module::ALL.iter().flat_map(|module| ["js", "d.ts", "wasm"].map(|ending| format!("{}.{ending}", module.name())));
    let mut files: Vec<String> =
        STATIC_FILES.iter().chain(&["LICENSE", "package.json"]).map(|it| (*it).to_owned()).chain(generated).collect();
    files.sort_unstable();
    files
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read '{}'; run `cargo xtask wasm`", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy '{}'; run `cargo xtask wasm`", from.display()))?;
    Ok(())
}
