//! `crates.md`: which crate uses which, from Cargo's metadata, and which modules within a crate use one another, from their imports.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::markdown::{code, fence, table};
use super::{Page, prose};
use crate::root;

/// What users are, by the names of what they use.
type Arrows = BTreeMap<String, BTreeSet<String>>;

/// The folders of crates that no product is made of.
const NO_PRODUCT: [&str; 2] = ["tests", "examples"];

/// A crate of the product.
struct Crate {
    name: String,
    folder: PathBuf,
    uses: BTreeSet<String>,
}

/// Generates the page.
///
/// # Errors
/// If Cargo cannot list the crates, or a source cannot be read.
pub fn page() -> Result<Page> {
    let crates = read_crates()?;
    let arrows: Arrows = crates.iter().map(|package| (package.name.clone(), package.uses.clone())).collect();
    let mut body = prose(include_str!("data/crates_intro.txt"));
    body.push_str(&format!("\n\n{}", fence("mermaid", &draw(&without_shortcuts(&arrows)))));
    let rows: Vec<Vec<String>> = arrows.iter().map(|(name, uses)| vec![code(name), list(uses)]).collect();
    body.push_str(&format!("\n{}\n## Within the crates\n\n", table(&["Crate", "Uses"], &rows)));
    body.push_str(&prose(include_str!("data/crates_modules.txt")));
    let modules: Vec<Vec<String>> = crates.iter().map(module_row).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    body.push_str(&format!("\n\n{}", table(&["Crate", "Modules", "Arrows", "Modules that use one another in a circle"], &modules)));
    let summary = "which crate uses which, and where modules use one another in a circle";
    Ok(Page { file: "crates.md", title: "Crates", summary, body, gaps: Vec::new() })
}

/// Reads the crates of the product from Cargo.
fn read_crates() -> Result<Vec<Crate>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let output = Command::new(cargo).args(arguments).current_dir(root()).output().context("cannot start cargo")?;
    ensure!(output.status.success(), "cargo cannot list the crates: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo lists no crates")?;
    let mut crates: Vec<Crate> = packages.iter().filter_map(read_crate).collect();
    crates.sort_by(|a, b| a.name.cmp(&b.name));
    let names: BTreeSet<String> = crates.iter().map(|it| it.name.clone()).collect();
    for one in &mut crates {
        one.uses.retain(|used| names.contains(used));
    }
    Ok(crates)
}

fn read_crate(package: &Value) -> Option<Crate> {
    let folder = Path::new(package["manifest_path"].as_str()?).parent()?.to_path_buf();
    let place = folder.strip_prefix(root().canonicalize().ok()?).ok()?.to_path_buf();
    if NO_PRODUCT.iter().any(|it| place.starts_with(it)) {
        return None;
    }
    // Tests may use what is above their crate.
    let used = package["dependencies"].as_array()?.iter().filter(|it| it["kind"].is_null());
    let uses = used.filter_map(|it| it["name"].as_str()).map(str::to_owned).collect();
    Some(Crate { name: package["name"].as_str()?.to_owned(), folder, uses })
}

/// The row of a crate with several modules.
fn module_row(one: &Crate) -> Result<Option<Vec<String>>> {
    let arrows = read_modules(&one.folder.join("src"))?;
    if arrows.len() < 2 {
        return Ok(None);
    }
    let circles = find_circles(&arrows);
    let shown: Vec<String> = circles.iter().map(list).collect();
    let count: usize = arrows.values().map(BTreeSet::len).sum();
    Ok(Some(vec![code(&one.name), arrows.len().to_string(), count.to_string(), shown.join("; ")]))
}

/// Reads which modules of a crate use which, but for those of its tests.
fn read_modules(source: &Path) -> Result<Arrows> {
    let mut files = Vec::new();
    list_sources(source, &mut files)?;
    let module_of = |file: &Path| -> Option<String> {
        let first = file.strip_prefix(source).ok()?.components().next()?.as_os_str().to_str()?;
        let name = first.strip_suffix(".rs").unwrap_or(first);
        (!["lib", "main", "tests", "bin"].contains(&name)).then(|| name.to_owned())
    };
    let names: BTreeSet<String> = files.iter().filter_map(|it| module_of(it)).collect();
    let mut arrows: Arrows = names.iter().map(|name| (name.clone(), BTreeSet::new())).collect();
    for file in &files {
        let Some(module) = module_of(file) else { continue };
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let depth = file.strip_prefix(source).map_or(1, depth_of);
        let used = used_modules(&text, depth).into_iter().filter(|used| names.contains(used) && *used != module);
        arrows.entry(module.clone()).or_default().extend(used.collect::<Vec<_>>());
    }
    Ok(arrows)
}

fn list_sources(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).with_context(|| folder.display().to_string())?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    entries.sort();
    for entry in entries {
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if entry.is_dir() && name != "tests" {
            list_sources(&entry, files)?;
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            files.push(entry);
        }
    }
    Ok(())
}

/// The modules at the top of a crate that the code of a file `depth` modules below it names: behind `crate::` or as many `super::`, alone or
/// in a group.
fn used_modules(text: &str, depth: usize) -> BTreeSet<String> {
    // Tests are at the end of a file; those that have a file of their own are only named.
    let code = text.replace("#[cfg(test)]\nmod tests;", "");
    let code = code.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    let mut used = BTreeSet::new();
    for path_to_top in ["crate::".to_owned(), "super::".repeat(depth)] {
        let parts: Vec<&str> = code.split(&path_to_top).collect();
        for (before, after) in parts.iter().zip(parts.iter().skip(1)) {
            match after.strip_prefix('{') {
                _ if before.ends_with("super::") || after.starts_with("super::") => {}
                Some(group) => used.extend(names_of_group(group)),
                None => used.extend(leading_name(after)),
            }
        }
    }
    used
}

/// The groups of modules of the crate in a folder that use one another in a circle.
///
/// # Errors
/// If a source cannot be read.
pub fn circles_of(folder: &str) -> Result<Vec<BTreeSet<String>>> {
    Ok(find_circles(&read_modules(&root().join(folder).join("src"))?))
}

/// How many modules below the top of its crate the code of a file is.
fn depth_of(file: &Path) -> usize {
    let is_folder = file.file_name().is_some_and(|it| it == "mod.rs");
    file.components().count() - usize::from(is_folder)
}

/// The first names of the entries of a group, up to its end.
fn names_of_group(group: &str) -> Vec<String> {
    let (mut depth, mut names, mut begins) = (0_usize, Vec::new(), true);
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            _ if begins && depth == 0 && !letter.is_whitespace() => {
                begins = false;
                names.extend(leading_name(&group[at..]));
            }
            _ => {}
        }
    }
    names
}

fn leading_name(text: &str) -> Option<String> {
    let name: String = text.chars().take_while(|character| character.is_ascii_alphanumeric() || *character == '_').collect();
    (!name.is_empty()).then_some(name)
}

/// Everything that a name uses, directly or not.
fn reachable(arrows: &Arrows, from: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        open.extend(arrows.get(name).into_iter().flatten().filter(|used| found.insert((*used).clone())).map(String::as_str));
    }
    found
}

/// Groups of names that all use one another, directly or not.
fn find_circles(arrows: &Arrows) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&str, BTreeSet<String>> = arrows.keys().map(|name| (name.as_str(), reachable(arrows, name))).collect();
    let mut circles: Vec<BTreeSet<String>> = Vec::new();
    for (name, uses) in &reached {
        let circle: BTreeSet<String> =
            uses.iter().filter(|used| reached.get(used.as_str()).is_some_and(|uses| uses.contains(*name))).cloned().collect();
        if !circle.is_empty() && !circles.contains(&circle) {
            circles.push(circle);
        }
    }
    circles
}

/// Leaves out arrows to what is also reached through another one.
fn without_shortcuts(arrows: &Arrows) -> Arrows {
    let is_shortcut =
        |used: &str, uses: &BTreeSet<String>| uses.iter().any(|other| other != used && reachable(arrows, other).contains(used));
    let direct = |uses: &BTreeSet<String>| uses.iter().filter(|used| !is_shortcut(used, uses)).cloned().collect();
    arrows.iter().map(|(name, uses)| (name.clone(), direct(uses))).collect()
}

fn draw(arrows: &Arrows) -> String {
    let short = |name: &str| name.strip_prefix("convengine-").unwrap_or(name).to_owned();
    let mut drawn = "flowchart BT".to_owned();
    for (name, uses) in arrows {
        for used in uses {
            drawn.push_str(&format!("\n    {} --> {}", short(name), short(used)));
        }
    }
    drawn
}

fn list(names: &BTreeSet<String>) -> String {
    names.iter().map(|it| code(it)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrows(crates: &[(&str, &[&str])]) -> Arrows {
        crates.iter().map(|(name, uses)| ((*name).to_owned(), uses.iter().map(|used| (*used).to_owned()).collect())).collect()
    }

    #[test]
    fn modules_are_read_from_imports_paths_and_groups() {
        let text = "use crate::a::B;\nuse crate::{c, d::{E, f}, g};\n// crate::h\nfn x() { crate::i::y() }\n#[cfg(test)]\nmod tests { use crate::j; }";
        assert_eq!(used_modules(text, 1).into_iter().collect::<Vec<_>>(), ["a", "c", "d", "g", "i"]);
        assert_eq!(used_modules("#[cfg(test)]\nmod tests;\nuse crate::a;", 1), ["a".to_owned()].into());
        let text = "use super::super::k;\nuse super::l;\nuse super::super::super::m;\nuse super::super::{n, o::P};";
        assert_eq!(used_modules(text, 2).into_iter().collect::<Vec<_>>(), ["k", "n", "o"]);
        assert_eq!(["a.rs", "a/mod.rs", "a/b.rs", "a/b/mod.rs"].map(|path| depth_of(Path::new(path))), [1, 1, 2, 2]);
    }

    #[test]
    fn circles_and_shortcuts_are_found() {
        let all = arrows(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[]), ("d", &["e"]), ("e", &["d", "a"])]);
        assert_eq!(find_circles(&all), [["d", "e"].map(str::to_owned).into()]);
        assert_eq!(without_shortcuts(&all)["a"], ["b".to_owned()].into());
    }
}
