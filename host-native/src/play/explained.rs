//! Differences from recordings that a ruling explains. (`decisions.md` 8a)

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

/// The list, with the entries that have explained something.
#[derive(Debug, Default)]
pub struct Explained {
    entries: Vec<(Explanation, bool)>,
}

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
        Ok(Explained { entries: entries.into_iter().map(|it| (it, false)).collect() })
    }

    /// The ruling that explains a difference.
    pub fn explain(&mut self, pack: &str, turn: usize, difference: &Difference) -> Option<&str> {
        let fits = |it: &Explanation| {
            it.pack == pack
                && it.turn == turn
                && it.field == difference.field
                && some(&it.recorded) == some(&difference.left)
                && some(&it.ours) == some(&difference.right)
        };
        let (entry, used) = self.entries.iter_mut().find(|it| fits(&it.0))?;
        *used = true;
        Some(&entry.ruling)
    }

    /// How many entries a turn has: each must explain a difference whenever the turn is played.
    pub fn of_turn(&self, pack: &str, turn: usize) -> usize {
        self.entries.iter().filter(|it| it.0.pack == pack && it.0.turn == turn).count()
    }

    /// Entries for a pack that explained nothing: they are as wrong as a difference without one.
    pub fn idle(&self, pack: &str) -> Vec<&Explanation> {
        self.entries.iter().filter(|it| it.0.pack == pack && !it.1).map(|it| &it.0).collect()
    }
}

/// JSON null and a missing member are the same in the list.
fn some(value: &Option<Value>) -> Option<&Value> {
    value.as_ref().filter(|it| !it.is_null())
}
