//! Directories that tools may read: `convengine.files.roots.NAME = PATH`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Directories by the name under which tools refer to them.
pub type Roots = BTreeMap<String, PathBuf>;

/// Reads the directories from a normalized tree.
pub fn read_roots(tree: &Value, problems: &mut Vec<String>) -> Roots {
    let mut roots = Roots::new();
    for (name, path) in tree.pointer("/files/roots").and_then(Value::as_object).into_iter().flatten() {
        match resolve_folder(path.as_str().unwrap_or_default()) {
            Ok(path) => {
                roots.insert(name.clone(), path);
            }
            Err(reason) => problems.push(format!("convengine.files.roots.{name}: cannot use {path}: {reason}; set a directory")),
        }
    }
    roots
}

fn resolve_folder(path: &str) -> Result<PathBuf, String> {
    let path = Path::new(path.trim()).canonicalize().map_err(|it| it.to_string())?;
    if path.is_dir() { Ok(path) } else { Err("not a directory".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_root_is_a_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.txt");
        std::fs::write(&file, "x").expect("a file");
        let mut problems = Vec::new();
        let roots = json!({"good": folder.path(), "file": file, "none": folder.path().join("none"), "empty": "", "number": 5});
        let found = read_roots(&json!({"files": {"roots": roots}}), &mut problems);
        assert_eq!(found.into_keys().collect::<Vec<_>>(), ["good"]);
        let names: Vec<&str> = problems.iter().filter_map(|it| it.split(':').next()).collect();
        let names: Vec<&str> = names.iter().filter_map(|it| it.strip_prefix("convengine.files.roots.")).collect();
        assert_eq!(names, ["file", "none", "empty", "number"]);
        assert!(problems[0].ends_with("not a directory; set a directory"), "{problems:?}");
    }
}
