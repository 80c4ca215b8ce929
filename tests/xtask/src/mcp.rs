//! Tests with clients and servers of the Model Context Protocol that others have written, and with its conformance kit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::project::Project;
use crate::python_packages::is_current;
use crate::{python_packages, sh};

/// The tests for Node.js.
const NODE_TESTS: [&str; 2] = ["client.mjs", "conformance.mjs"];

/// The test for Python.
const PYTHON_TEST: &str = "client.py";

/// Installs the clients and reference servers below the target folder.
pub fn install(project: &Project) -> Result<()> {
    install_node_packages(project)?;
    install_python_packages(project).map(|_| ())
}

/// Installs the clients below the target folder, and returns the commands that run the tests. The server has to be built.
pub fn tests(project: &Project) -> Result<Vec<Command>> {
    let node = install_node_packages(project)?;
    let python = install_python_packages(project)?;
    let binary = project.target.join("debug/convengine");
    let test = |program: &Path, folder: &Path, script: &str| {
        let mut command = Command::new(program);
        command.current_dir(folder).arg(folder.join(script)).env("CONVENGINE", &binary);
        command
    };
    let of_node = NODE_TESTS.iter().map(|file| test(Path::new("node"), &node, file));
    Ok(of_node.chain([test(&python, &source(project), PYTHON_TEST)]).collect())
}

fn source(project: &Project) -> PathBuf {
    project.root.join("tests/mcp")
}

/// Installs clients and reference servers; copies the tests to where their packages are, because Node.js looks for those beside them.
pub fn install_node_packages(project: &Project) -> Result<PathBuf> {
    ensure!(sh::is_on_path("npm"), "no Node.js; install version 20 or later, on Debian with `sudo apt-get install nodejs npm`");
    let folder = project.target.join("mcp/node");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create '{}'", folder.display()))?;
    for entry in fs::read_dir(source(project))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "mjs" || extension == "json") {
            fs::copy(&path, folder.join(path.file_name().unwrap_or_default()))?;
        }
    }
    let lock = source(project).join("package-lock.json");
    if is_current(&folder.join("installed"), &lock)? {
        return Ok(folder);
    }
    sh::print_progress("installing the clients and reference servers of the protocol: npm ci");
    let mut npm = project.npm(&["ci"]);
    sh::run_quietly(npm.current_dir(&folder))?;
    fs::copy(&lock, folder.join("installed"))?;
    Ok(folder)
}

/// Creates an environment with the packages; returns its interpreter.
fn install_python_packages(project: &Project) -> Result<PathBuf> {
    let list = source(project).join("requirements.txt");
    python_packages::install(&list, &project.target.join("mcp/python"), "the clients of the protocol")
}
