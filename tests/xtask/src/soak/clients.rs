//! The acceptance list of existing clients in all ways in which they run, and the classifier in the browser on a thousand documents;
//! `cargo xtask test` chooses some.

use anyhow::Result;

use super::Soak;
use crate::{build, install, sh};

/// Runs the tests; returns what failed.
pub fn run(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    install::ensure_chromium()?;
    build::build_all(soak.project)?;
    sh::print_progress("running the acceptance list of clients in all ways");
    let chat = soak.run_long_tests("chat::")?;
    sh::print_progress("comparing the classifier of the browser with that of the server");
    let classifier = soak.run_long_tests("nlu::")?;
    Ok([chat, classifier].into_iter().flatten().map(|it| format!("clients: {it}")).collect())
}
