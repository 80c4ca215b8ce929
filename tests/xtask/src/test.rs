//! Every check and every test, in the order in which they fail soonest.

use anyhow::Result;

use crate::project::Project;
use crate::{install, page, sh, size};

/// Runs every check and every test; the test runner's counts come last.
pub fn everything(project: &Project) -> Result<()> {
    install::node_packages(project)?;
    install::wasm_compiler(project)?;
    install::chromium()?;
    check(project)?;
    sh::say("checking the page");
    sh::run(&mut project.npm(&["run", "--silent", "check"]))?;
    sh::run(&mut project.npm(&["test", "--silent"]))?;
    page::build(project)?;
    size::page(project)?;
    build_server(project)?;
    sh::say("testing");
    sh::run(&mut project.cargo(&["test", "--workspace"]))
}

/// Runs the checks and tests that need neither the engine in the browser nor the page.
pub fn ready(project: &Project) -> Result<()> {
    check(project)?;
    build_server(project)?;
    sh::say("testing without the browser");
    let mut tests = project.cargo(&["test", "--workspace", "--", "--skip", "browser"]);
    sh::run(tests.env("CONVENGINE_READY", "1"))
}

fn check(project: &Project) -> Result<()> {
    sh::say("checking the format");
    sh::run(&mut project.cargo(&["fmt", "--all", "--check"]))?;
    sh::say("checking the lints");
    sh::run(&mut project.cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

/// Tests start the server as a program, which the test runner does not build by itself.
fn build_server(project: &Project) -> Result<()> {
    sh::say("building the server");
    sh::run(&mut project.cargo(&["build", "--package", "convengine-server"]))
}
