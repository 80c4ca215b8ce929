//! Packs as files; a talk stands for the pack whose turns it tells.

use std::path::Path;

use convengine_core::pack::{Pack, PackError};

/// Why a file gives no pack.
#[derive(Debug, thiserror::Error)]
pub enum PackFileError {
    /// It cannot be read.
    #[error("cannot read {0}: {1}: check the path")]
    Unreadable(String, std::io::Error),
    /// It is neither a pack nor a talk.
    #[error("{0}: {1}")]
    NotOne(String, PackError),
}

/// The text of a pack; of a talk, that of the pack for which it stands.
///
/// # Errors
/// [`PackFileError`] when a file cannot be read or is no talk. A text that is no pack is returned as it is.
pub fn text(path: &Path) -> Result<String, PackFileError> {
    let name = || path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| PackFileError::Unreadable(name(), error))?;
    if !path.extension().is_some_and(|it| it.eq_ignore_ascii_case("talk")) {
        return Ok(text);
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let config = |file: &str| std::fs::read_to_string(folder.join(file)).map_err(|it| it.to_string());
    let pack = Pack::parse_talk(&text, config).map_err(|error| PackFileError::NotOne(name(), error))?;
    Ok(serde_json::to_string(&pack).unwrap_or_default())
}

/// Reads a pack or a talk.
///
/// # Errors
/// [`PackFileError`] when a file cannot be read or is not of its form.
pub fn read(path: &Path) -> Result<Pack, PackFileError> {
    Pack::parse(&text(path)?).map_err(|error| PackFileError::NotOne(path.display().to_string(), error))
}
