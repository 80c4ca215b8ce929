//! The initial inputs: parts of the corpus.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use convengine_core::pack::Pack;
use convengine_player::{CorePlayer, Suspend};
use convengine_storage as storage;
use serde_json::Value;

use super::MAX_INPUT_BYTES;
use crate::root;

/// The maximum length of a file that is used as a seed, so that there is room for insertions.
const MAX_SEED_BYTES: usize = MAX_INPUT_BYTES / 2;

/// Reads the files of a folder with an extension.
fn read_files(folder: &str, ending: &str) -> Result<Vec<String>> {
    let folder = root().join("tests").join(folder);
    let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == ending));
    paths.sort();
    paths.iter().map(|path| Ok(fs::read_to_string(path)?)).collect()
}

/// Returns the packs, without their expectations.
///
/// # Errors
/// If a file cannot be read or parsed.
pub fn packs() -> Result<Vec<Value>> {
    let mut packs = Vec::new();
    for folder in ["packs/demo", "packs/lint", "packs/pipeline", "packs/tools", "packs/v1", "talks/config"] {
        for text in read_files(folder, "json")? {
            let mut pack: Value = serde_json::from_str(&text)?;
            for turn in pack["turns"].as_array_mut().into_iter().flatten() {
                turn["expect"].take();
            }
            pack["about"].take();
            packs.push(pack);
        }
    }
    packs.retain(|pack| pack.to_string().len() < MAX_SEED_BYTES);
    Ok(packs)
}

/// Returns the talks.
///
/// # Errors
/// If a file cannot be read.
pub fn talks() -> Result<Vec<String>> {
    read_files("talks", "talk")
}

/// Returns the rows of a table, as one list per pack.
///
/// # Errors
/// If a pack cannot be read or parsed.
pub fn rows(table: &str) -> Result<Vec<Value>> {
    Ok(packs()?.into_iter().map(|mut it| it["tables"][table].take()).filter(Value::is_array).collect())
}

/// Returns all texts in the tables of the packs, sorted and without duplicates.
///
/// # Errors
/// If a pack cannot be read or parsed.
pub fn cells() -> Result<Vec<String>> {
    let mut cells = Vec::new();
    for pack in packs()? {
        let rows = pack["tables"].as_object().into_iter().flatten().flat_map(|table| table.1.as_array().into_iter().flatten());
        cells.extend(rows.filter_map(Value::as_object).flat_map(|it| it.values()).filter_map(Value::as_str).map(str::to_owned));
    }
    cells.sort();
    cells.dedup();
    Ok(cells)
}

/// Returns a pack of the demo.
///
/// # Errors
/// If the file cannot be read or parsed.
pub fn demo(name: &str) -> Result<Pack> {
    Ok(crate::demo(name)?.pack)
}

/// Returns the journals of a pack's turns as JSON, and every second one also in its stored, compressed form.
///
/// # Errors
/// If the pack cannot be run.
pub fn journals(pack: &Pack) -> Result<Vec<Vec<u8>>> {
    let mut player = CorePlayer::new(pack, Suspend::Never);
    let mut journals = Vec::new();
    for turn in 0..pack.turns.len() {
        let journal = player.play(turn)?.journal;
        journals.push(serde_json::to_vec(&journal)?);
        if turn % 2 == 0 {
            journals.push(storage::turn::compress(&journal)?);
        }
    }
    Ok(journals)
}
