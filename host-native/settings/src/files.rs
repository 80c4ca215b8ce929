//! Directories that tools may read: `convengine.files.roots.NAME = PATH`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Directories by the name under which tools refer to them.
pub type Roots = BTreeMap<String, PathBuf>;

/// Resolves the directories.
pub fn resolve_roots(paths: &BTreeMap<String, String>, problems: &mut Vec<String>) -> Roots {
    let mut roots = Roots::new();
    for (name, path) in paths {
        match resolve_folder(path) {
            Ok(path) => {
                roots.insert(name.clone(), path);
            }
            Err(reason) => problems.push(format!("convengine.files.roots.{name}: cannot use '{path}': {reason}; set a directory")),
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
    use serde_json::{Value, json};

    #[test]
    fn a_root_is_a_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.txt");
        std::fs::write(&file, "x").expect("a file");
        let roots = json!({"good": folder.path(), "file": file, "none": folder.path().join("none"), "empty": "", "number": 5});
        let roots = serde_json::from_value::<BTreeMap<String, Value>>(roots).expect("a map");
        let roots = roots.into_iter().map(|(name, path)| (name, path.as_str().unwrap_or_default().to_owned())).collect();
        let mut problems = Vec::new();
        let found = resolve_roots(&roots, &mut problems);
        assert_eq!(found.into_keys().collect::<Vec<_>>(), ["good"]);
        let names: Vec<&str> = problems.iter().filter_map(|problem| problem.split(':').next()).collect();
        let names: Vec<&str> = names.iter().filter_map(|it| it.strip_prefix("convengine.files.roots.")).collect();
        assert_eq!(names, ["empty", "file", "none", "number"]);
        assert!(problems[1].ends_with("not a directory; set a directory"), "{problems:?}");
    }
}
