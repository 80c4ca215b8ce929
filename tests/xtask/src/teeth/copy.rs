//! A copy of the sources for sabotages, with its own target folder.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::project::Project;
use crate::sh;

/// The copy. It is kept between runs, so that only the first run builds everything.
pub struct SourceCopy {
    root: PathBuf,
    /// The target folder.
    pub target: PathBuf,
}

impl SourceCopy {
    /// Copies the files of the repository.
    pub fn from_project(project: &Project) -> Result<SourceCopy> {
        let folder = project.target.join("teeth");
        let copy = SourceCopy { root: folder.join("src"), target: folder.join("target") };
        let mut list = project.command("git");
        list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let list = sh::output(&mut list).context("git cannot list the sources; run this in a clone of the repository")?;
        let mut kept = BTreeSet::new();
        for name in list.split('\0').filter(|it| !it.is_empty()) {
            // Git still lists a deleted file until the deletion is committed.
            if let Ok(bytes) = fs::read(project.root.join(name)) {
                copy.write_if_changed(name, &bytes)?;
                kept.insert(copy.root.join(name));
            }
        }
        remove_stale(&copy.root, &kept)?;
        Ok(copy)
    }

    /// Reads a source.
    pub fn read(&self, name: &str) -> Result<String> {
        fs::read_to_string(self.root.join(name)).with_context(|| name.to_owned())
    }

    /// Writes a source.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        self.write_if_changed(name, text.as_bytes())
    }

    /// Returns a command that starts `program` at the root of the copy.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// Returns a call of cargo for the copy.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // Without debug information linking takes half the time.
        command.args(arguments).env("CARGO_TARGET_DIR", &self.target).env("CARGO_PROFILE_DEV_DEBUG", "none");
        command
    }

    /// Writes a file unless it is unchanged, so that cargo does not rebuild it.
    fn write_if_changed(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.root.join(name);
        if fs::read(&path).is_ok_and(|it| it == bytes) {
            return Ok(());
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, bytes).with_context(|| path.display().to_string())
    }
}

/// Removes the files of an earlier copy that the repository no longer has.
fn remove_stale(folder: &Path, kept: &BTreeSet<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_stale(&path, kept)?;
        } else if !kept.contains(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
