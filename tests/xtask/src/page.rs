//! The simulator page.

use std::path::PathBuf;

use anyhow::Result;

use crate::project::Project;
use crate::{python, sh, wasm};

/// Builds the browser engine, the script interpreter and the page.
pub fn build(project: &Project) -> Result<()> {
    wasm::build(project)?;
    python::build(project)?;
    sh::print_progress("building the page");
    sh::run(&mut project.npm(&["run", "--silent", "build"]))
}

/// Returns the folder of the finished page.
pub fn folder(project: &Project) -> PathBuf {
    project.web_demo().join("dist")
}
