//! The acceptance list of existing clients in all ways in which they run; `cargo xtask test` chooses some in which every two values meet.

use anyhow::Result;

use super::Soak;
use crate::{build, install, sh};

/// Runs the test; returns what failed.
pub fn run(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    install::ensure_chromium()?;
    build::build_all(soak.project)?;
    sh::print_progress("running the acceptance list of clients in all ways");
    Ok(soak.run_long_tests("chat::")?.map(|it| format!("clients: {it}")).into_iter().collect())
}
