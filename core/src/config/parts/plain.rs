//! Compiles every part.

use std::marker::PhantomData;

use serde_json::Value;

use crate::config::Config;
use crate::config::issue::Issue;
use crate::config::scope::Scopes;
use crate::config::source::ConfigSource;
use crate::config::tables::Tables;
use crate::text::regex::Regex;

/// Nothing is shared.
#[derive(Debug, Clone, Default)]
pub struct PartCache;

/// Nothing is shared.
pub type Reuse = ();

/// Compiles patterns.
pub struct Patterns<'c>(PhantomData<&'c ()>);

impl Patterns<'_> {
    /// Compiles a case-insensitive pattern.
    pub fn compile(&mut self, pattern: &str) -> Result<Regex, String> {
        Regex::new(pattern)
    }
}

/// Compiles parts of a configuration from its rows.
pub struct Parts {
    tables: Tables,
    /// The issues so far.
    pub issues: Vec<Issue>,
}

impl Parts {
    /// Takes rows in canonical form.
    pub fn new(tables: Tables, _: &ConfigSource, _: &Value, _: &Scopes, _: Option<&Config>, issues: Vec<Issue>) -> Parts {
        Parts { tables, issues }
    }

    /// Compiles a part.
    pub fn compile<T>(
        &mut self,
        _: &[&'static str],
        _: fn(&Config) -> &T,
        compile: impl FnOnce(&Tables, &mut Patterns<'_>, &mut Vec<Issue>) -> T,
    ) -> T {
        compile(&self.tables, &mut Patterns(PhantomData), &mut self.issues)
    }

    /// Returns the issues.
    pub fn finish(self) -> (Vec<Issue>, Reuse, PartCache) {
        (self.issues, (), PartCache)
    }
}
