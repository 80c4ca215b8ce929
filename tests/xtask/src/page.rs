//! The simulator page.

use std::path::PathBuf;
use std::process::Command;
use std::thread;

use anyhow::{Result, bail};

use crate::project::Project;
use crate::wasm::Purpose;
use crate::{build_tools, compress, install, python, sh, wasm};

/// Builds the browser engine, the interpreter of scripts and the page, as they are published.
pub fn build(project: &Project) -> Result<()> {
    // Both need them, and would install them at once.
    install::ensure_node_packages(project)?;
    // The last compilation of each keeps only one processor busy.
    thread::scope(|scope| {
        let interpreter = scope.spawn(|| python::build(project));
        let engine = wasm::build(project, Purpose::Release);
        engine.and(interpreter.join().unwrap_or_else(|_| bail!("building the interpreter panicked")))
    })?;
    bundle(project, Purpose::Release)
}

/// Builds the page from the engine that was built last, and the book beside it. The build tools have to be built.
pub fn bundle(project: &Project, purpose: Purpose) -> Result<()> {
    sh::print_progress("building the page");
    sh::run(&mut bundle_command(project, purpose))?;
    sh::print_progress("building the book");
    let book = folder(project).join("docs");
    sh::run(build_tools::command(project).arg("book").arg("docs").arg(&book))?;
    compress::compress_below(project, &book, purpose)
}

fn bundle_command(project: &Project, purpose: Purpose) -> Command {
    match purpose {
        Purpose::Release => project.npm(&["run", "--silent", "build"]),
        Purpose::Development => project.npm(&["run", "--silent", "build", "--", "--mode", "quick"]),
    }
}

/// Returns the folder of the finished page.
pub fn folder(project: &Project) -> PathBuf {
    project.web_demo().join("dist")
}
