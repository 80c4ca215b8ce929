//! Readers with inputs that nobody would write, for ten minutes each.

use anyhow::Result;

use super::Soak;
use crate::sh;

/// How long each target is given inputs.
const SECONDS: &str = "600";

/// Prints a line for each target; two of them run side by side.
pub(super) fn run(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    sh::say("giving readers inputs, ten minutes each, two at a time");
    let ended = soak.command(&["fuzz", SECONDS]).status()?;
    Ok(if ended.success() { Vec::new() } else { vec![format!("fuzz: {ended}")] })
}
