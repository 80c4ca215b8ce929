//! The rows and settings that a configuration was compiled from. Rows are kept as text, table by table: no turn reads them, and as values they
//! are the most of a configuration.

use std::borrow::Cow;
use std::collections::BTreeMap;

use convengine_text::json::canonical;
use convengine_turn::Map;
use serde_json::{Value, json};

use crate::tables::Tables;

/// The source of a configuration, with its hashes.
#[derive(Debug, Clone, Default)]
pub struct ConfigSource {
    tables: BTreeMap<String, SourceTable>,
    settings: Value,
    /// The document in place of tables.
    document: Option<Value>,
    /// SHA-256 of the canonical source, in hexadecimal.
    pub hash: String,
    /// SHA-256 of the canonical tables, in hexadecimal.
    pub rows_hash: String,
}

/// The rows of a table as a JSON array, with their columns as stored.
#[derive(Debug, Clone)]
struct SourceTable {
    json: Box<str>,
    rows: usize,
}

impl ConfigSource {
    /// Writes rows and settings as text.
    pub fn new(tables: &Tables, settings: Value) -> ConfigSource {
        let mut source = ConfigSource::default();
        let mut whole = canonical::Hasher::default();
        let mut text = br#"{"settings":"#.to_vec();
        canonical::write(&settings, &mut text);
        text.extend(br#","tables":"#);
        whole.add_text(&text);
        let mut rows_hash = canonical::Hasher::default();
        let mut start = '{';
        for (name, rows) in &tables.0 {
            let mut text = format!("{start}{}:", json!(name)).into_bytes();
            start = ',';
            write_rows(rows, &mut text);
            whole.add_text(&text);
            rows_hash.add_text(&text);
            let json = serde_json::to_string(rows).unwrap_or_default();
            source.tables.insert(name.clone(), SourceTable { json: json.into_boxed_str(), rows: rows.len() });
        }
        let end = if tables.0.is_empty() { "{}" } else { "}" };
        whole.add_text(format!("{end}}}\n").as_bytes());
        rows_hash.add_text(format!("{end}\n").as_bytes());
        source.rows_hash = rows_hash.finish();
        ConfigSource { settings, hash: whole.finish(), ..source }
    }

    /// Wraps a document whose hash is known.
    pub fn from_document(document: &Value, hash: String) -> ConfigSource {
        ConfigSource { document: Some(json!({"flow": document})), hash, ..ConfigSource::default() }
    }

    /// Parses the source: `{"tables", "settings"}`, or `{"flow"}`.
    pub fn value(&self) -> Cow<'_, Value> {
        match &self.document {
            Some(document) => Cow::Borrowed(document),
            None => Cow::Owned(serde_json::from_str(&self.text()).unwrap_or_default()),
        }
    }

    /// Returns the source as JSON.
    pub fn text(&self) -> String {
        if let Some(document) = &self.document {
            return document.to_string();
        }
        let tables: Vec<String> = self.tables.iter().map(|(name, rows)| format!("{}:{}", json!(name), rows.json)).collect();
        format!(r#"{{"tables":{{{}}},"settings":{}}}"#, tables.join(","), self.settings)
    }

    /// The settings that affect turns.
    pub fn settings(&self) -> &Value {
        &self.settings
    }

    /// Parses the rows of a table.
    pub fn rows(&self, table: &str) -> Vec<Map> {
        self.tables.get(table).and_then(|rows| serde_json::from_str(&rows.json).ok()).unwrap_or_default()
    }

    /// The number of rows by table.
    pub fn row_counts(&self) -> impl Iterator<Item = (&str, usize)> {
        self.tables.iter().map(|(name, it)| (name.as_str(), it.rows))
    }

    /// Whether a table has the same rows in another source, with their columns in the same order.
    pub fn has_same_rows(&self, table: &str, other: &ConfigSource) -> bool {
        self.tables.get(table).map(|it| &it.json) == other.tables.get(table).map(|it| &it.json)
    }
}

/// Appends rows in canonical form.
fn write_rows(rows: &[Map], out: &mut Vec<u8>) {
    let mut separator = b'[';
    for row in rows {
        out.push(separator);
        separator = b',';
        canonical::write_map(row, out);
    }
    out.extend(if rows.is_empty() { &b"[]"[..] } else { b"]" });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_the_source_and_the_hashes_are_those_of_its_canonical_form() {
        let hash = |value: &Value| {
            let mut hasher = canonical::Hasher::default();
            hasher.add_json(value);
            hasher.finish()
        };
        for tables in [json!({}), json!({"a\"b": [], "c": [{"z": 1, "b": "é\n", "a": null}, {}]}), json!({"x": [{"q": 1.50}]})] {
            for settings in [json!({}), json!({"flow": {"b": [1], "a": {}}})] {
                let source = ConfigSource::new(&serde_json::from_value(tables.clone()).unwrap(), settings.clone());
                let expected = json!({"tables": tables, "settings": settings});
                assert_eq!(source.text(), expected.to_string());
                assert_eq!(source.value().as_ref(), &expected);
                assert_eq!(source.hash, hash(&expected));
                assert_eq!(source.rows_hash, hash(&tables));
            }
        }
        let document = ConfigSource::from_document(&json!({"id": "d"}), "h".to_owned());
        assert_eq!((document.text().as_str(), document.value().as_ref()), (r#"{"flow":{"id":"d"}}"#, &json!({"flow": {"id": "d"}})));
    }
}
