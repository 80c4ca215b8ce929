//! The program `build-tools`, whose libraries take longer to compile than the rest of these commands.

use std::process::Command;

use crate::project::Project;

/// Returns the build of the program, with the features that its dependencies have beside the server.
pub fn compile(project: &Project) -> Command {
    project.cargo(&["build", "--workspace", "--bin", "build-tools"])
}

/// Returns a call of the built program.
pub fn command(project: &Project) -> Command {
    project.command(project.target.join("debug/build-tools"))
}
