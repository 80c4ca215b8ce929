//! Installs what the tests of the clients need (`clients`).

use anyhow::Result;

use crate::project::Project;
use crate::python_packages;

/// Installs the packages of the tests in Python below the target folder, where the suite looks for them.
pub fn install(project: &Project) -> Result<()> {
    let list = project.root.join("clients/python/requirements-test.txt");
    python_packages::install(&list, &project.target.join("clients/python"), "what tests the client in Python").map(|_| ())
}
