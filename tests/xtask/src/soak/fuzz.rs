//! Fuzzing of every target, for ten minutes each.

use anyhow::Result;

use super::Soak;
use crate::sh;

/// The limit of each target.
const LIMIT: &str = "seconds:600";

/// Prints a line for each target; returns what failed.
pub(super) fn run(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    sh::print_progress("fuzzing, ten minutes per target, two targets in parallel");
    let ended = soak.command(&["fuzz", LIMIT]).status()?;
    Ok(if ended.success() { Vec::new() } else { vec![format!("fuzz: {ended}")] })
}
