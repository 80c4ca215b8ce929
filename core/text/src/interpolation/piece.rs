//! The pieces of a template and the values of its placeholders.

use std::borrow::Cow;

use serde_json::Value;

use super::filter::Filter;
use crate::names::NameResolver;
use crate::variable_path::VariablePath;

/// One piece of a template.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Placeholder(Placeholder),
    Secret(String),
}

/// A path and the filters applied to its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Placeholder {
    pub path: VariablePath,
    pub filters: Vec<Filter>,
}

impl Placeholder {
    /// Returns the filtered value; a path that is not defined is added to `undefined`.
    pub fn resolve(&self, names: &dyn NameResolver, undefined: &mut Vec<String>) -> Option<Value> {
        let found = names.value(&self.path).map(Cow::into_owned);
        let value = self.filters.iter().fold(found, |value, filter| filter.apply(value, names));
        if value.is_none() {
            let path = self.path.to_string();
            if !undefined.contains(&path) {
                undefined.push(path);
            }
        }
        value
    }

    /// Returns whether the value is inserted into a URL without encoding.
    pub fn is_verbatim(&self) -> bool {
        self.filters.contains(&Filter::Raw) || self.filters.last() == Some(&Filter::UrlEncode)
    }
}
