//! Imports packs in this process, as `convengine import` does in a process of its own.

use std::path::Path;

use anyhow::Result;
use convengine_content::config::import::{self, ImportTarget};
use convengine_settings::{Options, Settings};
use tokio::runtime::Runtime;

/// Imports a pack file into a database, whose tables are created if it has none.
///
/// # Errors
/// Returns an error when the file is not a pack that can be stored, or the database cannot be used.
pub fn import_pack(runtime: &Runtime, path: &Path, database: &str) -> Result<()> {
    let settings = Settings::load(&Options { database: Some(database.to_owned()), ..Options::default() })?;
    let pack = import::read_with_scripts(path)?;
    runtime.block_on(import::apply(&ImportTarget::from_settings(&settings), &pack, false, false))?;
    Ok(())
}
