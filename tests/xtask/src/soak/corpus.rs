//! The whole corpus on a Restate cluster and on the database; `cargo xtask test` plays every twelfth pack.

use anyhow::Result;

use super::Soak;
use crate::{build, restate, sh};

/// Runs the test; returns what failed.
pub fn run(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    restate::install(soak.project)?;
    build::build_native(soak.project)?;
    sh::print_progress("playing the corpus on a Restate cluster and on the database, which takes about 15 minutes");
    let mut tests = soak.project.cargo(&["test", "--workspace", "--test", "suite", "--", "restate::packs"]);
    tests.env("CONVENGINE_TEST_DATABASE", "postgres").env("CONVENGINE_RESTATE_STRIDE", "1");
    let ended = soak.postgres.pass_url_to(&mut tests).status()?;
    Ok(if ended.success() { Vec::new() } else { vec![format!("corpus: {ended}")] })
}
