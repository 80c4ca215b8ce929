//! The source as a value.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::config::tables::Tables;
use crate::json::canonical;
use crate::turn::Map;

/// The source of a configuration, with its hash.
#[derive(Debug, Clone, Default)]
pub struct ConfigSource {
    value: Value,
    /// SHA-256 of the canonical source, in hexadecimal.
    pub hash: String,
}

impl ConfigSource {
    /// Joins rows and settings.
    pub fn new(tables: &Tables, settings: Value) -> ConfigSource {
        let value = json!({"tables": tables, "settings": settings});
        let mut hasher = canonical::Hasher::default();
        hasher.add_json(&value);
        ConfigSource { value, hash: hasher.finish() }
    }

    /// Wraps a document whose hash is known.
    pub fn from_document(document: &Value, hash: String) -> ConfigSource {
        ConfigSource { value: json!({"flow": document}), hash }
    }

    /// The source: `{"tables", "settings"}`, or `{"flow"}`.
    pub fn value(&self) -> Cow<'_, Value> {
        Cow::Borrowed(&self.value)
    }

    /// Returns the source as JSON.
    pub fn text(&self) -> String {
        self.value.to_string()
    }

    /// The settings that affect turns.
    pub fn settings(&self) -> &Value {
        self.value.get("settings").unwrap_or(&Value::Null)
    }

    /// Returns the rows of a table.
    pub fn rows(&self, table: &str) -> Vec<Map> {
        let rows = self.value.get("tables").and_then(|it| it.get(table)?.as_array()).into_iter().flatten();
        rows.filter_map(Value::as_object).cloned().collect()
    }

    /// The number of rows by table.
    pub fn row_counts(&self) -> impl Iterator<Item = (&str, usize)> {
        let tables = self.value.get("tables").and_then(Value::as_object).into_iter().flatten();
        tables.map(|(name, rows)| (name.as_str(), rows.as_array().map_or(0, Vec::len)))
    }
}
