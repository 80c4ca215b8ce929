//! Compiles a configuration part by part. A part whose rows are those of an earlier configuration is shared with it, and a pattern of such
//! a part is not compiled again when other rows change.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use convengine_text::json::canonical;
use convengine_text::regex::Regex;
use serde_json::Value;

use crate::issue::Issue;
use crate::scope::Scopes;
use crate::source::ConfigSource;
use crate::tables::Tables;

/// Tables that several parts read; the rows of every other one are dropped with its part, so that their memory serves the next.
const TABLES_OF_SEVERAL_PARTS: [&str; 3] = ["ce_config", "ce_intent", "ce_task"];

/// A part of a configuration: what is compiled from one table, shared between configurations with the same rows.
pub type Part<T> = Arc<T>;

/// How much of a configuration was taken from an earlier one; see [`Config::recompile`]. Patterns are counted apart, because compiling them
/// is most of the work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reuse {
    /// Rows whose part is shared.
    pub rows_reused: usize,
    /// Rows whose part was compiled.
    pub rows_compiled: usize,
    /// Patterns of compiled parts that were compiled before.
    pub patterns_reused: usize,
    /// Patterns that were compiled.
    pub patterns_compiled: usize,
}

/// What later configurations need to share parts of this one.
#[derive(Debug, Clone, Default)]
pub struct PartCache {
    /// The hash of the settings that parts depend on, besides rows.
    settings: String,
    scopes: Scopes,
    /// By the tables of each part.
    parts: BTreeMap<&'static [&'static str], Arc<PartRecord>>,
}

/// What compiling a part gave besides the part.
#[derive(Debug, Clone, Default)]
struct PartRecord {
    issues: Vec<Issue>,
    patterns: BTreeMap<String, Regex>,
}

/// Compiles patterns, each once, and none that the earlier part has.
pub struct Patterns<'c> {
    earlier: Option<&'c BTreeMap<String, Regex>>,
    own: BTreeMap<String, Regex>,
    reuse: &'c mut Reuse,
}

impl Patterns<'_> {
    /// Compiles a case-insensitive pattern.
    pub fn compile(&mut self, pattern: &str) -> Result<Regex, String> {
        if let Some(regex) = self.own.get(pattern) {
            return Ok(regex.clone());
        }
        let regex = if let Some(regex) = self.earlier.and_then(|it| it.get(pattern)) {
            self.reuse.patterns_reused += 1;
            regex.clone()
        } else {
            self.reuse.patterns_compiled += 1;
            Regex::new(pattern)?
        };
        self.own.insert(pattern.to_owned(), regex.clone());
        Ok(regex)
    }
}

/// What an earlier configuration was compiled from, and what came of it besides its parts.
#[derive(Clone, Copy)]
pub struct EarlierConfig<'c> {
    /// Its rows.
    pub source: &'c ConfigSource,
    /// What its parts need to be shared.
    pub cache: &'c PartCache,
}

/// Compiles parts of a configuration from its rows.
pub struct Parts<'c> {
    tables: Tables,
    source: &'c ConfigSource,
    earlier: Option<EarlierConfig<'c>>,
    /// Whether every scope of the earlier configuration exists, and whether no other does.
    scopes_kept: bool,
    scopes_equal: bool,
    cache: PartCache,
    /// The issues so far.
    pub issues: Vec<Issue>,
    /// What was shared so far.
    reuse: Reuse,
}

impl<'c> Parts<'c> {
    /// Takes rows in canonical form with their source; shares the parts of an earlier configuration that has the same settings.
    pub fn new(
        tables: Tables,
        source: &'c ConfigSource,
        settings: &Value,
        scopes: &Scopes,
        earlier: Option<EarlierConfig<'c>>,
        issues: Vec<Issue>,
    ) -> Parts<'c> {
        let mut hasher = canonical::Hasher::default();
        hasher.add_json(settings);
        let cache = PartCache { settings: hasher.finish(), scopes: scopes.clone(), parts: BTreeMap::new() };
        let earlier = earlier.filter(|it| it.cache.settings == cache.settings);
        let scopes_kept = earlier.is_some_and(|it| it.cache.scopes.is_subset(scopes));
        let scopes_equal = earlier.is_some_and(|it| it.cache.scopes == *scopes);
        Parts { tables, source, earlier, scopes_kept, scopes_equal, cache, issues, reuse: Reuse::default() }
    }

    /// Compiles a part from the named tables, the first of which is its own, or shares that of the earlier configuration.
    pub fn compile<T>(
        &mut self,
        names: &'static [&'static str],
        earlier: Option<&Part<T>>,
        compile: impl FnOnce(&Tables, &mut Patterns<'_>, &mut Vec<Issue>) -> T,
    ) -> Part<T> {
        let name = names.first().copied().unwrap_or_default();
        let rows = Tables(names.iter().filter_map(|name| Some(((*name).to_owned(), self.tables.0.remove(*name)?))).collect());
        let count = rows.0.get(name).map_or(0, Vec::len);
        let record = self.earlier.and_then(|it| it.cache.parts.get(names));
        let (part, record) = match earlier.zip(record) {
            Some((part, record)) if self.is_unchanged(names, record) => {
                self.reuse.rows_reused += count;
                (Part::clone(part), Arc::clone(record))
            }
            _ => {
                self.reuse.rows_compiled += count;
                let mut issues = Vec::new();
                let earlier = record.map(|it| &it.patterns);
                let mut patterns = Patterns { earlier, own: BTreeMap::new(), reuse: &mut self.reuse };
                let part = Part::new(compile(&rows, &mut patterns, &mut issues));
                let patterns = patterns.own;
                (part, Arc::new(PartRecord { issues, patterns }))
            }
        };
        self.tables.0.extend(rows.0.into_iter().filter(|(name, _)| TABLES_OF_SEVERAL_PARTS.contains(&name.as_str())));
        self.issues.extend(record.issues.iter().cloned());
        self.cache.parts.insert(names, record);
        part
    }

    /// Whether a part would be compiled to the same: its rows are the same, and so are the intents and states that they may name. Without
    /// an issue, they name none that does not exist, so that further ones change nothing.
    fn is_unchanged(&self, names: &'static [&'static str], record: &PartRecord) -> bool {
        let scopes = self.scopes_equal || (self.scopes_kept && record.issues.is_empty());
        scopes && self.earlier.is_some_and(|earlier| names.iter().all(|name| self.source.has_same_rows(name, earlier.source)))
    }

    /// Returns the issues, what was shared, and what later configurations need.
    pub fn finish(self) -> (Vec<Issue>, Reuse, PartCache) {
        (self.issues, self.reuse, self.cache)
    }
}
