//! What inputs begin with: the corpus, in pieces.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use convengine_core::pack::Pack;
use convengine_server::play::{CorePlayer, Suspend};
use convengine_server::store;
use serde_json::Value;

use super::LONGEST;
use crate::root;

/// Longest file that is taken up: an input is to be changed in many places.
const LONG: usize = LONGEST / 2;

/// The texts of a folder's files with an ending.
fn texts(folder: &str, ending: &str) -> Result<Vec<String>> {
    let folder = root().join("tests").join(folder);
    let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut paths: Vec<PathBuf> = entries.map(|it| Ok(it?.path())).collect::<Result<_>>()?;
    paths.retain(|it| it.extension().is_some_and(|it| it == ending));
    paths.sort();
    paths.iter().map(|it| Ok(fs::read_to_string(it)?)).collect()
}

/// The packs, without what is expected of them.
///
/// # Errors
/// When one cannot be read.
pub fn packs() -> Result<Vec<Value>> {
    let mut packs = Vec::new();
    for folder in ["packs/demo", "packs/lint", "packs/pipeline", "packs/tools", "packs/v1", "talks/config"] {
        for text in texts(folder, "json")? {
            let mut pack: Value = serde_json::from_str(&text)?;
            for turn in pack["turns"].as_array_mut().into_iter().flatten() {
                turn["expect"].take();
            }
            pack["about"].take();
            packs.push(pack);
        }
    }
    packs.retain(|it| it.to_string().len() < LONG);
    Ok(packs)
}

/// The talks.
///
/// # Errors
/// When one cannot be read.
pub fn talks() -> Result<Vec<String>> {
    texts("talks", "talk")
}

/// The rows of one table of each pack, as a list each.
///
/// # Errors
/// As [`packs`].
pub fn rows(table: &str) -> Result<Vec<Value>> {
    Ok(packs()?.into_iter().map(|mut it| it["tables"][table].take()).filter(Value::is_array).collect())
}

/// The texts in the tables of the packs.
///
/// # Errors
/// As [`packs`].
pub fn cells() -> Result<Vec<String>> {
    let mut cells = Vec::new();
    for pack in packs()? {
        let rows = pack["tables"].as_object().into_iter().flatten().flat_map(|it| it.1.as_array().into_iter().flatten());
        cells.extend(rows.filter_map(Value::as_object).flat_map(|it| it.values()).filter_map(Value::as_str).map(str::to_owned));
    }
    cells.sort();
    cells.dedup();
    Ok(cells)
}

/// A pack of the demo.
///
/// # Errors
/// When it cannot be read.
pub fn demo(name: &str) -> Result<Pack> {
    Ok(crate::demo(name)?.pack)
}

/// The journals of a pack's turns as JSON, and of each second one as a column has it.
///
/// # Errors
/// When the pack cannot be played.
pub fn journals(pack: &Pack) -> Result<Vec<Vec<u8>>> {
    let mut player = CorePlayer::new(pack, Suspend::Never);
    let mut journals = Vec::new();
    for turn in 0..pack.turns.len() {
        let journal = player.play(turn)?.journal;
        journals.push(serde_json::to_vec(&journal)?);
        if turn % 2 == 0 {
            journals.push(store::turn::compress(&journal)?);
        }
    }
    Ok(journals)
}
