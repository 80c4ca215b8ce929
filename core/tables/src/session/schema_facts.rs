//! Facts about the collected values of a schema.

use std::sync::Arc;

use convengine_turn::Map;
use serde_json::Value;

/// A schema and the completeness of its values in the context.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaFacts {
    /// `schema_id`.
    pub id: i64,
    /// Its definition: a JSON Schema, or a text in another form.
    pub definition: Arc<Value>,
    /// Its description; empty when it has none.
    pub description: Arc<str>,
    /// Details of each property: description, type and options.
    pub details: Arc<Map>,
    /// The names of its properties, in order; if empty, the whole context counts.
    pub properties: Arc<[String]>,
    /// Whether no required value is missing.
    pub complete: bool,
    /// Whether any value is present.
    pub has_any: bool,
    /// Required properties without a value, in the order of the schema.
    pub missing: Vec<String>,
    /// The options of missing properties that have some.
    pub options: Map,
}
