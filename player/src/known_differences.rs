//! Known differences from recordings, each explained by a design decision. (docs/decisions/0026-what-equal-means.md)

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use convengine_core::json::diff::Difference;
use serde::Deserialize;
use serde_json::Value;

/// A known difference: pack, turn, field, both values and the decision.
#[derive(Debug, Clone, Deserialize)]
pub struct KnownDifference {
    /// The pack's name.
    pub pack: String,
    /// The turn, from 0.
    pub turn: usize,
    /// The field, as the comparison names it.
    pub field: String,
    /// The recorded value; absent when only this engine has one.
    #[serde(default)]
    pub recorded: Option<Value>,
    /// This engine's value; absent when only the recording has one.
    #[serde(default)]
    pub ours: Option<Value>,
    /// The decision that explains the difference.
    pub ruling: String,
}

/// Known differences by pack and turn, each with a flag for whether it was used.
#[derive(Debug, Clone, Default)]
pub struct KnownDifferences(BTreeMap<String, BTreeMap<usize, Vec<(KnownDifference, bool)>>>);

impl KnownDifferences {
    /// Parses a list of known differences.
    ///
    /// # Errors
    /// Returns an error when the text is not a JSON list of explanations, or an entry has no ruling.
    pub fn parse(text: &str) -> Result<KnownDifferences> {
        let entries: Vec<KnownDifference> = serde_json::from_str(text).context("not a list of explained differences")?;
        if let Some(bare) = entries.iter().find(|it| it.ruling.trim().is_empty()) {
            anyhow::bail!("entry for '{}' turn {} {} has no ruling", bare.pack, bare.turn, bare.field);
        }
        let mut explained = KnownDifferences::default();
        for entry in entries {
            let turns = explained.0.entry(entry.pack.clone()).or_default();
            turns.entry(entry.turn).or_default().push((entry, false));
        }
        Ok(explained)
    }

    /// Returns the decision that explains a difference, and marks it as used.
    pub fn explain(&mut self, pack: &str, turn: usize, difference: &Difference) -> Option<&str> {
        let fits = |it: &KnownDifference| {
            it.field == difference.field
                && non_null(&it.recorded) == non_null(&difference.left)
                && non_null(&it.ours) == non_null(&difference.right)
        };
        let (entry, used) = self.0.get_mut(pack)?.get_mut(&turn)?.iter_mut().find(|it| fits(&it.0))?;
        *used = true;
        Some(&entry.ruling)
    }

    /// Returns the number of entries for a turn.
    pub fn count_for_turn(&self, pack: &str, turn: usize) -> usize {
        self.0.get(pack).and_then(|it| it.get(&turn)).map_or(0, Vec::len)
    }

    /// Returns the unused entries of a pack, which are errors like unexplained differences.
    pub fn unused(&self, pack: &str) -> Vec<&KnownDifference> {
        self.0.get(pack).into_iter().flat_map(BTreeMap::values).flatten().filter(|it| !it.1).map(|it| &it.0).collect()
    }
}

/// Treats JSON null like a missing member.
fn non_null(value: &Option<Value>) -> Option<&Value> {
    value.as_ref().filter(|it| !it.is_null())
}
