//! The files of the repository, without those that are generated or installed.

use std::fs;
use std::path::{Path, PathBuf};

use convengine_tests::root;

/// Generated or installed folders.
const SKIPPED_FOLDERS: [&str; 6] = ["node_modules", "dist", "wasm", "wasm-lint", "target", "convengine"];

/// The hidden folders that belong to the repository; others are those of git and of editors.
const HIDDEN_FOLDERS: [&str; 2] = [".cargo", ".github"];

/// The files below a folder, or of the whole repository if it is empty, whose names end with one of `endings`, sorted.
pub fn files(folder: &str, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                let is_foreign = name.starts_with('.') && !HIDDEN_FOLDERS.contains(&name.as_str());
                if !is_foreign && !SKIPPED_FOLDERS.contains(&name.as_str()) {
                    open.push(path);
                }
            } else if endings.iter().any(|it| name.ends_with(it)) {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "'{folder}' has no files to check");
    found
}

pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
