//! The folder of a project: its packs and its talks.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use convengine_host_base::exit::Failure;
use sha2::{Digest, Sha256};

/// How many folders deep talks are looked for.
const MAX_DEPTH: usize = 8;

/// A folder whose `*.json` files are packs, and which has talks in any folder below.
#[derive(Debug)]
pub struct ProjectFolder {
    path: PathBuf,
    /// Whether a file that was found is a pack, by name. It is looked for several times a second, so only what was saved is read again.
    found: Mutex<BTreeMap<String, (Stamp, bool)>>,
}

/// What changes when a file is saved: its time and its size.
pub type Stamp = (SystemTime, u64);

/// The files of a project.
pub type Fingerprint = BTreeMap<PathBuf, Stamp>;

/// Why a file is not written.
#[derive(Debug)]
pub enum WriteError {
    /// The text of the file is not the one that the change was made to.
    Conflict,
    /// The file cannot be written.
    Io(io::Error),
}

impl ProjectFolder {
    /// Opens a folder.
    ///
    /// # Errors
    /// Exit code 2 if it is not a folder or holds no pack.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let unreadable = |error| Failure::invalid_usage(format!("cannot read the folder {}: {error}", path.display()));
        let folder = Self { path: path.canonicalize().map_err(unreadable)?, found: Mutex::default() };
        let packs = folder.packs().map_err(unreadable)?;
        if packs.is_empty() {
            let name = folder.path.display();
            return Err(Failure::invalid_usage(format!("{name} holds no pack (*.json with tables or documents); run `convengine init`")));
        }
        Ok(folder)
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the packs, sorted.
    ///
    /// # Errors
    /// If the folder cannot be read. A file that vanishes meanwhile is none.
    pub fn packs(&self) -> io::Result<Vec<String>> {
        let mut known = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(&self.path)? {
            let path = entry?.path();
            let Some(name) = path.file_name().and_then(|it| it.to_str()) else { continue };
            if !has_ending(&path, "json") || name.starts_with('.') {
                continue;
            }
            let Some(stamp) = stamp(&path) else { continue };
            let holds_pack = match known.get(name) {
                Some((before, holds_pack)) if *before == stamp => *holds_pack,
                Some(_) | None => {
                    // A file that cannot be read is tried again.
                    let Ok(text) = fs::read_to_string(&path) else { continue };
                    is_pack(&text)
                }
            };
            found.insert(name.to_owned(), (stamp, holds_pack));
        }
        let names = found.iter().filter(|it| it.1.1).map(|it| it.0.clone()).collect();
        *known = found;
        Ok(names)
    }

    /// The text of a pack; `None` if there is no pack of this name.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn read(&self, name: &str) -> io::Result<Option<String>> {
        // A name from the list has no path in it.
        if !self.packs()?.iter().any(|it| it == name) {
            return Ok(None);
        }
        fs::read_to_string(self.path.join(name)).map(Some)
    }

    /// Replaces the text of a pack, if its hash is still `expected`.
    ///
    /// # Errors
    /// If the file has another text by now, or cannot be written.
    pub fn write(&self, name: &str, text: &str, expected: &str) -> Result<(), WriteError> {
        let current = self.read(name).map_err(WriteError::Io)?;
        if current.is_none_or(|it| hash(&it) != expected) {
            return Err(WriteError::Conflict);
        }
        // A reader never sees half a file.
        let unfinished = self.path.join(format!(".{name}.part"));
        fs::write(&unfinished, text).and_then(|()| fs::rename(&unfinished, self.path.join(name))).map_err(WriteError::Io)
    }

    /// The talks, sorted by path.
    pub fn talks(&self) -> Vec<PathBuf> {
        let mut talks = Vec::new();
        collect_talks(&self.path, MAX_DEPTH, &mut talks);
        talks.sort();
        talks
    }

    /// What the packs and talks look like from outside. A file that cannot be read is left out.
    pub fn fingerprint(&self) -> Fingerprint {
        let packs = self.packs().unwrap_or_default().into_iter().map(|name| self.path.join(name));
        packs.chain(self.talks()).filter_map(|path| stamp(&path).map(|stamp| (path, stamp))).collect()
    }
}

/// The hash by which a page recognizes a text.
pub fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns whether a path is that of a talk.
pub fn is_talk(path: &Path) -> bool {
    has_ending(path, "talk")
}

/// The stamp of a file; `None` if it cannot be looked at.
fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|it| it == ending)
}

/// Whether the text of a file is meant to be a pack, also while it is broken.
fn is_pack(text: &str) -> bool {
    text.trim_start().starts_with('{') && ["\"tables\"", "\"documents\""].iter().any(|member| text.contains(member))
}

fn collect_talks(folder: &Path, depth: usize, talks: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_hidden = path.file_name().is_some_and(|it| it.to_string_lossy().starts_with('.'));
        if is_hidden || path.file_name().is_some_and(|it| it == "node_modules") {
            continue;
        }
        // Links are not followed, so that no folder is visited twice.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 => collect_talks(&path, depth - 1, talks),
            Ok(kind) if kind.is_file() && is_talk(&path) => talks.push(path),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::{ProjectFolder, WriteError, hash};

    fn project() -> (tempfile::TempDir, ProjectFolder) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("talks/more")).unwrap();
        fs::create_dir_all(folder.path().join(".hidden")).unwrap();
        for (name, text) in [
            ("shop.json", r#"{"tables": {}}"#),
            ("broken.json", r#"{"documents": ["#),
            ("package.json", r#"{"name": "x"}"#),
            ("talks/a.talk", ""),
            ("talks/more/b.talk", ""),
            (".hidden/c.talk", ""),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let opened = ProjectFolder::open(folder.path()).unwrap();
        (folder, opened)
    }

    #[test]
    fn finds_packs_and_talks() {
        let (folder, project) = project();
        assert_eq!(project.packs().unwrap(), ["broken.json", "shop.json"]);
        let talks: Vec<_> = project.talks().iter().map(|it| it.strip_prefix(folder.path()).unwrap().display().to_string()).collect();
        assert_eq!(talks, ["talks/a.talk", "talks/more/b.talk"]);
    }

    #[test]
    fn only_what_was_saved_is_read_again() {
        let (folder, project) = project();
        let path = folder.path().join("package.json");
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        let set_time = |time| fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        // A text of the same size at the same time looks as if it had not been saved.
        fs::write(&path, r#"{"tables":{}}"#).unwrap();
        set_time(before);
        assert_eq!(project.packs().unwrap(), ["broken.json", "shop.json"]);
        set_time(before + Duration::from_secs(1));
        assert_eq!(project.packs().unwrap(), ["broken.json", "package.json", "shop.json"]);
        fs::remove_file(folder.path().join("shop.json")).unwrap();
        assert_eq!(project.packs().unwrap(), ["broken.json", "package.json"]);
    }

    #[test]
    fn reads_no_file_that_is_not_a_pack() {
        let (folder, project) = project();
        fs::write(folder.path().join("talks/inner.json"), r#"{"tables": {}}"#).unwrap();
        for name in ["package.json", "../shop.json", "talks/inner.json", "/etc/passwd", ""] {
            assert_eq!(project.read(name).unwrap(), None, "{name}");
        }
        assert_eq!(project.read("shop.json").unwrap().unwrap(), r#"{"tables": {}}"#);
    }

    #[test]
    fn writes_only_over_the_text_that_was_changed() {
        let (_folder, project) = project();
        let before = hash(r#"{"tables": {}}"#);
        project.write("shop.json", r#"{"tables": {"a": []}}"#, &before).unwrap();
        assert!(matches!(project.write("shop.json", "{}", &before), Err(WriteError::Conflict)));
        assert!(matches!(project.write("other.json", "{}", &before), Err(WriteError::Conflict)));
        assert_eq!(project.read("shop.json").unwrap().unwrap(), r#"{"tables": {"a": []}}"#);
    }

    #[test]
    fn a_save_changes_the_fingerprint() {
        let (folder, project) = project();
        let before = project.fingerprint();
        assert_eq!(before, project.fingerprint());
        fs::write(folder.path().join("talks/a.talk"), "longer").unwrap();
        assert_ne!(before, project.fingerprint());
    }

    #[test]
    fn a_folder_without_a_pack_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(ProjectFolder::open(folder.path()).unwrap_err().code, 2);
        assert_eq!(ProjectFolder::open(&folder.path().join("absent")).unwrap_err().code, 2);
    }
}
