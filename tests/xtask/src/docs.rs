//! The generated pages of the documentation.

use anyhow::Result;

use crate::project::Project;
use crate::sh;

/// Writes `docs/reference` anew.
pub fn generate(project: &Project) -> Result<()> {
    sh::run(&mut project.cargo(&["run", "--quiet", "--package", "convengine-tests", "--bin", "test-tools", "reference"]))
}
