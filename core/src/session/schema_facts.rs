//! How far the collection of a schema's values has come.

use std::sync::Arc;

use serde_json::Value;

use crate::turn::Map;

/// A schema and what the context has of it.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaFacts {
    /// `schema_id`.
    pub id: i64,
    /// Its definition: a JSON Schema, or a text of another form.
    pub definition: Arc<Value>,
    /// Its description; empty when it has none.
    pub description: Arc<str>,
    /// What is known of each property: description, type and what may be chosen.
    pub details: Arc<Map>,
    /// The names of its properties, in their order; empty when it has none, and then the whole context counts.
    pub properties: Arc<[String]>,
    /// Whether nothing is missing.
    pub complete: bool,
    /// Whether there is any value.
    pub has_any: bool,
    /// Required properties without a value, in the order of the schema.
    pub missing: Vec<String>,
    /// What may be chosen for a missing property, where that is a list.
    pub options: Map,
}
