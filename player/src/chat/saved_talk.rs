//! The file to which a conversation is saved as a talk. Each turn is written when it has been played, so that none is lost when the program is
//! ended.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf, absolute};

use convengine_core::pack::{OpenTalk, wrap_document};
use convengine_host_base::exit::Failure;
use serde_json::Value;

/// Where a talk is to be saved.
#[derive(Debug)]
pub(super) struct TalkFile {
    path: PathBuf,
    /// The pack, as it is named beside the talk.
    config: String,
}

/// A talk that is being saved.
#[derive(Debug)]
pub(super) struct SavedTalk {
    path: PathBuf,
    file: File,
    has_turns: bool,
}

impl TalkFile {
    /// Checks that a talk can be saved at this path, about the pack of this file.
    ///
    /// # Errors
    /// Exit code 2 if it cannot.
    pub(super) fn new(path: &Path, pack: &Path) -> Result<TalkFile, Failure> {
        let refused = |reason: &str| Failure::invalid_usage(format!("--save {}: {reason}", path.display()));
        if !is_talk(path) {
            return Err(refused("not the name of a talk; let it end in .talk"));
        }
        if path.exists() {
            return Err(refused("file already exists; choose another name"));
        }
        if is_talk(pack) || is_single_document(pack) {
            return Err(refused("a talk is about a pack; name one, not a talk or a single document"));
        }
        let unusable = |error: io::Error| refused(&error.to_string());
        let path = absolute(path).map_err(unusable)?;
        let folder = path.parent().unwrap_or(Path::new("/")).canonicalize().map_err(unusable)?;
        let config = relative_path(&folder, &pack.canonicalize().map_err(unusable)?).display().to_string();
        Ok(TalkFile { path, config })
    }

    /// Creates the file with its header.
    ///
    /// # Errors
    /// Exit code 2 if there is a file by now or none can be created, 3 if it cannot be written.
    pub(super) fn create(&self, talk: &OpenTalk, pack: &str, settings: &[(String, Value)]) -> Result<SavedTalk, Failure> {
        let refused = |error: io::Error| Failure::invalid_usage(format!("--save {}: {error}", self.path.display()));
        let file = File::options().write(true).create_new(true).open(&self.path).map_err(refused)?;
        let name = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let mut saved = SavedTalk { path: self.path.clone(), file, has_turns: false };
        saved.write(&talk.header_text(&name, &format!("A conversation with {pack}."), &self.config, settings))?;
        Ok(saved)
    }
}

impl SavedTalk {
    /// Adds a turn.
    ///
    /// # Errors
    /// Exit code 3 if the file cannot be written.
    pub(super) fn add(&mut self, message: &str, answer: &Value) -> Result<(), Failure> {
        self.has_turns = true;
        self.write(&format!("\n{}", OpenTalk::turn_text(message, answer)))
    }

    /// Removes the file if nothing was said, because a talk has at least one message.
    ///
    /// # Errors
    /// Exit code 3 if the file cannot be removed.
    pub(super) fn finish(self) -> Result<(), Failure> {
        let SavedTalk { path, has_turns, .. } = self;
        if has_turns {
            return Ok(());
        }
        fs::remove_file(&path).map_err(|error| Failure::service_unavailable(format!("cannot remove {}: {error}", path.display())))
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        let failed = |error| Failure::service_unavailable(format!("cannot write {}: {error}", self.path.display()));
        self.file.write_all(text.as_bytes()).map_err(failed)
    }
}

fn is_talk(path: &Path) -> bool {
    path.extension().is_some_and(|it| it.eq_ignore_ascii_case("talk"))
}

/// Whether a file is a document without the pack around it. A file that cannot be read is reported before.
fn is_single_document(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| wrap_document(text.clone()) != text)
}

/// The path of a file as it is seen from a folder; both are absolute and without links.
fn relative_path(folder: &Path, file: &Path) -> PathBuf {
    let shared = folder.components().zip(file.components()).take_while(|(left, right)| left == right).count();
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(file.components().skip(shared)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_are_named_from_the_folder_of_the_talk() {
        for (folder, file, expected) in [
            ("/a", "/a/p.json", "p.json"),
            ("/a/talks", "/a/p.json", "../p.json"),
            ("/a/b/c", "/a/d/p.json", "../../d/p.json"),
            ("/", "/a/p.json", "a/p.json"),
        ] {
            assert_eq!(relative_path(Path::new(folder), Path::new(file)), Path::new(expected));
        }
    }
}
