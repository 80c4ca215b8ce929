//! The whole corpus on a Restate cluster and on the database; `cargo xtask test` plays every twelfth pack.

use anyhow::Result;

use super::Soak;
use crate::{build, restate, sh};

/// Runs the test; returns what failed.
pub fn run(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    restate::install(soak.project)?;
    build::build_native(soak.project)?;
    sh::print_progress("playing the corpus on a Restate cluster and on the database, which takes about 15 minutes");
    Ok(soak.run_long_tests("restate::packs_of_")?.map(|it| format!("corpus: {it}")).into_iter().collect())
}
