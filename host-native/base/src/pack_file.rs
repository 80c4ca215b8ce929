//! Reads pack files and talk files; a talk is converted to a pack.

use std::path::Path;

use convengine_core::pack::{Pack, pack_file_text};
pub use convengine_core::pack::{PackFileError, wrap_document};

/// Returns the JSON text of a pack file; a talk is converted to the pack that it describes.
///
/// # Errors
/// [`PackFileError`] if a file cannot be read or a talk is invalid. Text that is not a pack is returned unchanged.
pub fn read_text(path: &Path) -> Result<String, PackFileError> {
    pack_file_text(path, &|it| std::fs::read(it))
}

/// Reads a pack or a talk.
///
/// # Errors
/// [`PackFileError`] if a file cannot be read or is invalid.
pub fn read(path: &Path) -> Result<Pack, PackFileError> {
    Pack::from_file(path, &|it| std::fs::read(it))
}
