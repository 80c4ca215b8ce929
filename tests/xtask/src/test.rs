//! Runs all checks and tests.

use std::thread;

use anyhow::{Context, Result, bail};

use crate::postgres::TestServers;
use crate::project::Project;
use crate::test_run::{self, Scope};
use crate::{budget, build, mcp, sh};

/// Runs all checks and tests; prints the counts last.
pub fn run_all(project: &Project) -> Result<()> {
    check_format(project)?;
    build::build_all(project)?;
    let clients = mcp::tests(project)?;
    sh::print_progress("testing");
    thread::scope(|scope| {
        let counted = scope.spawn(|| budget::check(project));
        let tested = test_run::run(project, Scope::All, clients);
        let counted = counted.join().unwrap_or_else(|_| bail!("counting instructions panicked"));
        tested.and(counted)
    })
}

/// Runs the checks and tests that need neither the browser engine nor the page.
pub fn run_ready(project: &Project) -> Result<()> {
    check_format(project)?;
    build::build_without_browser(project)?;
    sh::print_progress("testing without the browser");
    test_run::run(project, Scope::WithoutPage, Vec::new())
}

/// Builds the server and tests it with independent clients of the Model Context Protocol.
pub fn run_clients(project: &Project) -> Result<()> {
    build::build_native_beside(project, mcp::install)?;
    mcp::tests(project)?.iter_mut().try_for_each(sh::run)
}

/// Runs a command beside the PostgreSQL servers of the tests.
pub fn run_with_postgres(project: &Project, command_line: &[&str]) -> Result<()> {
    let (program, arguments) = command_line.split_first().context("usage: cargo xtask postgres -- COMMAND")?;
    let postgres = TestServers::start(project)?;
    sh::run(postgres.pass_urls_to(project.command(program).args(arguments)))
}

fn check_format(project: &Project) -> Result<()> {
    sh::print_progress("checking the format");
    sh::run(&mut project.cargo(&["fmt", "--all", "--check"]))?;
    sh::run(&mut project.cargo(&["fmt", "--all", "--check", "--manifest-path", "python/Cargo.toml"]))
}
