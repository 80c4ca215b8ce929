//! The effect that queries a database, for a tool.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::EffectClass;
use crate::Map;

/// A query that the host validates, renders again and runs in a read-only transaction.
///
/// An author or a model has written it, so the host trusts nothing in it: it refuses statements other than one query with
/// [`Denied`](crate::EffectErrorKind::Denied).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SqlRequest {
    /// The tool.
    pub tool_code: String,
    /// One query, with values as `:name`.
    pub sql: String,
    /// Values by name.
    pub params: Map,
    /// Maximum number of rows.
    pub max_rows: u32,
    /// Timeout in milliseconds.
    pub timeout_ms: u32,
    /// Whether only functions known to be free of side effects are allowed.
    pub safe: bool,
    /// Whether the query may read the engine's own tables.
    #[serde(default, skip_serializing_if = "is_false")]
    pub engine_tables: bool,
    /// The query that a model has repaired, which may read no other tables than this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repaired_from: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// The rows of a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SqlReply {
    /// Objects by column.
    pub rows: Vec<Map>,
    /// Whether there were more rows than the maximum.
    #[serde(default)]
    pub truncated: bool,
}

impl SqlReply {
    /// The rows of a script: a list of objects, or one object. What is not an object is left out.
    pub fn from_script(script: Value) -> SqlReply {
        let items = if let Value::Array(items) = script { items } else { vec![script] };
        let row = |value| if let Value::Object(row) = value { Some(row) } else { None };
        SqlReply { rows: items.into_iter().filter_map(row).collect(), truncated: false }
    }
}

operation!(Sql: SqlRequest => SqlReply, class: EffectClass::Read, deadline_ms: |request| request.timeout_ms);
