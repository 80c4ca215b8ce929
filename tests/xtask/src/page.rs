//! The simulator page.

use std::path::PathBuf;
use std::thread;

use anyhow::{Result, bail};

use crate::project::Project;
use crate::wasm::Purpose;
use crate::{install, python, sh, wasm};

/// Builds the browser engine, the script interpreter and the page.
pub fn build(project: &Project, purpose: Purpose) -> Result<()> {
    // Both need them, and would install them at once.
    install::ensure_node_packages(project)?;
    install::ensure_wasm_compiler(project)?;
    // The last compilation of each keeps only one processor busy.
    thread::scope(|scope| {
        let interpreter = scope.spawn(|| python::build(project));
        let engine = wasm::build(project, purpose);
        engine.and(interpreter.join().unwrap_or_else(|_| bail!("building the interpreter panicked")))
    })?;
    sh::print_progress("building the page");
    sh::run(&mut project.npm(&["run", "--silent", "build"]))
}

/// Returns the folder of the finished page.
pub fn folder(project: &Project) -> PathBuf {
    project.web_demo().join("dist")
}
