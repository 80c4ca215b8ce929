//! The released server: compiled with a profile of the turns of the benchmarks, which tells the compiler what is hot.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::project::Project;
use crate::{bench, install, page, sh};

/// Builds the page and the server; the server is `target/optimised/convengine`.
pub fn build(project: &Project) -> Result<()> {
    page::build(project)?;
    let tool = install::ensure_profile_tool(project)?;
    let folder = project.target.join("optimised");
    let (records, profile) = (folder.join("records"), folder.join("turns.profdata"));
    if records.exists() {
        fs::remove_dir_all(&records).with_context(|| format!("cannot empty '{}'", records.display()))?;
    }
    fs::create_dir_all(&records)?;
    sh::print_progress("building a server that records what is hot");
    let recorder = compile(project, &folder.join("recorder"), &format!("-Cprofile-generate={}", records.display()))?;
    sh::print_progress("recording the turns of the benchmarks");
    bench::play_for_profile(project, &recorder)?;
    let mut merge = project.command(tool);
    merge.arg("merge").arg("--output").arg(&profile);
    for record in fs::read_dir(&records)? {
        merge.arg(record?.path());
    }
    sh::run_quietly(&mut merge)?;
    sh::print_progress("building the server");
    let server = compile(project, &folder.join("server"), &format!("-Cprofile-use={}", profile.display()))?;
    let released = folder.join("convengine");
    fs::copy(&server, &released)?;
    sh::print_progress(&format!("the server is {}", released.display()));
    Ok(())
}

/// Compiles the server with compiler flags of its own. A target is named, so that the flags are not those of build scripts and macros.
fn compile(project: &Project, folder: &Path, flags: &str) -> Result<PathBuf> {
    let host = install::host_target(project)?;
    let mut build = project.cargo(&["build", "--release", "--package", "convengine-server", "--target", &host]);
    sh::run(build.env("CARGO_TARGET_DIR", folder).env("RUSTFLAGS", flags))?;
    Ok(folder.join(host).join("release/convengine"))
}
