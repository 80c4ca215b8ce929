//! Differences from recordings that a ruling explains. (`decisions.md` 8a)

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use convengine_core::json::diff::Difference;
use serde::Deserialize;
use serde_json::Value;

/// One difference: one pack, one turn, one field, both values, and the ruling.
#[derive(Debug, Clone, Deserialize)]
pub struct Explanation {
    /// The pack's name.
    pub pack: String,
    /// The turn, from 0.
    pub turn: usize,
    /// The field, as the comparison names it.
    pub field: String,
    /// What the recording has; absent when only we have something.
    #[serde(default)]
    pub recorded: Option<Value>,
    /// What we have; absent when only the recording has something.
    #[serde(default)]
    pub ours: Option<Value>,
    /// Why that is right: an id or a line of the rulings.
    pub ruling: String,
}

/// The list by pack and turn, with the entries that have explained something.
#[derive(Debug, Default)]
pub struct Explained(BTreeMap<String, BTreeMap<usize, Vec<(Explanation, bool)>>>);

impl Explained {
    /// Reads a list.
    ///
    /// # Errors
    /// When the text is not a JSON list of explanations, or one has no ruling.
    pub fn parse(text: &str) -> Result<Explained> {
        let entries: Vec<Explanation> = serde_json::from_str(text).context("this is not a list of explained differences")?;
        if let Some(bare) = entries.iter().find(|it| it.ruling.trim().is_empty()) {
            anyhow::bail!("the entry for {} turn {} {} names no ruling", bare.pack, bare.turn, bare.field);
        }
        let mut explained = Explained::default();
        for entry in entries {
            let turns = explained.0.entry(entry.pack.clone()).or_default();
            turns.entry(entry.turn).or_default().push((entry, false));
        }
        Ok(explained)
    }

    /// The ruling that explains a difference.
    pub fn explain(&mut self, pack: &str, turn: usize, difference: &Difference) -> Option<&str> {
        let fits = |it: &Explanation| {
            it.field == difference.field && some(&it.recorded) == some(&difference.left) && some(&it.ours) == some(&difference.right)
        };
        let (entry, used) = self.0.get_mut(pack)?.get_mut(&turn)?.iter_mut().find(|it| fits(&it.0))?;
        *used = true;
        Some(&entry.ruling)
    }

    /// How many entries a turn has: each must explain a difference whenever the turn is played.
    pub fn of_turn(&self, pack: &str, turn: usize) -> usize {
        self.0.get(pack).and_then(|it| it.get(&turn)).map_or(0, Vec::len)
    }

    /// Entries for a pack that explained nothing: they are as wrong as a difference without one.
    pub fn idle(&self, pack: &str) -> Vec<&Explanation> {
        self.0.get(pack).into_iter().flat_map(BTreeMap::values).flatten().filter(|it| !it.1).map(|it| &it.0).collect()
    }
}

/// JSON null and a missing member are the same in the list.
fn some(value: &Option<Value>) -> Option<&Value> {
    value.as_ref().filter(|it| !it.is_null())
}
