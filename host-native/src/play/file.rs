//! Reads packs and talks from files.

use std::path::Path;

use anyhow::{Context, Result};
use convengine_core::pack::Pack;

/// Whether a file is a talk, by its ending.
pub(super) fn is_talk(path: &Path) -> bool {
    path.extension().is_some_and(|it| it.eq_ignore_ascii_case("talk"))
}

/// Reads a pack, or a talk with the pack that it names beside it.
///
/// # Errors
/// When a file cannot be read or is not of its form.
pub fn read_pack(path: &Path) -> Result<Pack> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    if !is_talk(path) {
        return Ok(Pack::parse(&text)?);
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    Ok(Pack::parse_talk(&text, |file| std::fs::read_to_string(folder.join(file)).map_err(|it| it.to_string()))?)
}
