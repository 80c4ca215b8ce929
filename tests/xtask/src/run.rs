//! Starts the server with the demo.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, bail};

use crate::project::Project;
use crate::wasm::Purpose;
use crate::{build, install, page, python, sh, wasm};

/// The packs of the demo: tables, and an assistant with a knowledge base.
const PACKS: [&str; 2] = ["tests/packs/demo/help_desk.json", "tests/packs/flow/helpdesk.json"];

/// Builds everything and replaces this process by the server, on a new database with the demo.
///
/// The interpreter of scripts is not waited for, unless an earlier call has built it: the server takes it up when it is there.
pub fn run(project: &Project, options: &[&str]) -> Result<()> {
    install::ensure_node_packages(project)?;
    // The last compilations of each keep only one processor busy.
    thread::scope(|scope| {
        let modules = scope.spawn(|| wasm::compile(project, Purpose::Development));
        let server = build::build_server(project);
        server.and(modules.join().unwrap_or_else(|_| bail!("compiling for the browser panicked")))
    })?;
    wasm::bind(project, Purpose::Development)?;
    let has_interpreter = python::restore(project)?;
    page::bundle(project, Purpose::Development)?;
    let database = create_database(project)?;
    sh::run(&mut server_command(project, &database, &["migrate"]))?;
    for pack in PACKS {
        sh::run(&mut server_command(project, &database, &["import", pack]))?;
    }
    if !has_interpreter {
        python::build_in_background(project)?;
    }
    // A child process would outlive this one if only this one is killed.
    let error = server_command(project, &database, &["serve"]).args(options).exec();
    Err(error).context("cannot start the server")
}

/// Each pack brings the replies to its own calls.
fn model_specs() -> String {
    let [tables, assistant] = PACKS;
    format!("scripted:{tables},intent_match=scripted:{assistant},synthesis=scripted:{assistant}")
}

fn create_database(project: &Project) -> Result<String> {
    let folder = project.target.join("tmp/demo");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty '{}'", folder.display()))?;
    }
    fs::create_dir_all(&folder)?;
    Ok(format!("sqlite:{}", folder.join("demo.db").display()))
}

/// Returns a call of the server. Settings are passed as environment variables, so that the caller's options override them.
fn server_command(project: &Project, database: &str, arguments: &[&str]) -> Command {
    let mut command = project.command(project.target.join("debug/convengine"));
    command
        .args(arguments)
        .env("CONVENGINE_DATABASE", database)
        .env("CONVENGINE_LISTEN", "127.0.0.1:8080")
        .env("CONVENGINE_LLM", model_specs());
    command
}
