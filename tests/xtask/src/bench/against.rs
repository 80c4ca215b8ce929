//! The older server that the current one is compared with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::project::Project;
use crate::sh;

/// Returns a copy, in `folder`, of the server that `chosen` names: a binary, or a commit, whose server is built.
pub fn provide(project: &Project, chosen: &str, folder: &Path) -> Result<PathBuf> {
    let copy = folder.join("convengine-before");
    let file = Path::new(chosen);
    if file.is_file() {
        fs::copy(file, &copy)?;
        return Ok(copy);
    }
    sh::print_progress(&format!("building the server of {chosen}"));
    let tree = Worktree::add(project, chosen, folder.join("before"))?;
    let mut build = project.cargo(&["build", "--release", "--package", "convengine-server"]);
    // The target folder is the same, so that dependencies are built once.
    sh::run(build.current_dir(&tree.folder))?;
    fs::copy(project.target.join("release/convengine"), &copy)?;
    Ok(copy)
}

/// A checked-out commit; it is removed when dropped.
struct Worktree<'p> {
    project: &'p Project,
    folder: PathBuf,
}

impl<'p> Worktree<'p> {
    fn add(project: &'p Project, commit: &str, folder: PathBuf) -> Result<Self> {
        // The folder of an aborted run is gone, but git may remember it.
        sh::run_quietly(project.command("git").args(["worktree", "prune"]))?;
        let tree = Self { project, folder };
        let add = sh::run_quietly(tree.git().args(["add", "--detach"]).arg(&tree.folder).arg(commit));
        add.with_context(|| format!("'{commit}' is neither a binary nor a commit"))?;
        Ok(tree)
    }

    fn git(&self) -> Command {
        let mut command = self.project.command("git");
        command.arg("worktree");
        command
    }
}

impl Drop for Worktree<'_> {
    fn drop(&mut self) {
        if let Err(error) = sh::run_quietly(self.git().args(["remove", "--force"]).arg(&self.folder)) {
            eprintln!("warning: {error:#}");
        }
    }
}
