//! Column defaults, so that a pack may omit the columns that a database fills in. (docs/spec/data-and-api.md#1.4)

use convengine_turn::Map;
use serde_json::{Value, json};

/// Brings a row into its canonical form: fills in the defaults of its table, drops meaningless nulls, turns flags into booleans.
pub(super) fn normalize_columns(defaults: &[(&'static str, Value)], row: &mut Map) {
    for (column, value) in defaults {
        row.entry(*column).or_insert_with(|| value.clone());
    }
    // An explicit null in a column with a default differs from the default, so it stays.
    row.retain(|column, value| !value.is_null() || defaults.iter().any(|it| it.0 == column));
    for (column, value) in row.iter_mut() {
        match value {
            Value::Number(_) if BOOLEAN_COLUMNS.contains(&column.as_str()) => *value = parse_flag(value),
            // Databases store JSON as text.
            Value::Array(_) | Value::Object(_) => *value = Value::String(value.to_string()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// Boolean columns, which SQLite stores as numbers.
const BOOLEAN_COLUMNS: [&str; 3] = ["enabled", "safe_mode", "idempotent"];

fn parse_flag(value: &Value) -> Value {
    match value.as_i64() {
        Some(0) => Value::Bool(false),
        Some(1) => Value::Bool(true),
        Some(_) | None => value.clone(),
    }
}

/// Returns the defaults of the columns of a table.
pub(super) fn column_defaults(table: &str) -> Vec<(&'static str, Value)> {
    let mut defaults = vec![("enabled", Value::Bool(true))];
    defaults.extend(match table {
        "ce_intent" | "ce_pending_action" | "ce_response" | "ce_tool" => vec![("priority", json!(100))],
        "ce_policy" => vec![("priority", json!(10))],
        "ce_container_config" => vec![("priority", json!(1))],
        "ce_rule" => vec![("phase", json!("PRE_RESPONSE_RESOLUTION")), ("priority", json!(100))],
        "ce_verbose" => vec![("step_match", json!("EXACT")), ("priority", json!(100))],
        "ce_intent_classifier" => vec![("state_code", json!("UNKNOWN"))],
        "ce_output_schema" => vec![("schema_type", json!("SCHEMA_JSON"))],
        "ce_task" => vec![("intent_code", json!("ANY")), ("state_code", json!("ANY")), ("priority", json!(100))],
        "ce_mcp_db_tool" => vec![("dialect", json!("POSTGRES")), ("safe_mode", Value::Bool(true)), ("max_rows", json!(200))],
        "ce_http_tool" => vec![("method", json!("GET")), ("idempotent", Value::Bool(false))],
        "cv_extension" => vec![("memory_mib", json!(16)), ("timeout_ms", json!(1000))],
        _ => Vec::new(),
    });
    defaults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omitted_columns_get_their_default_and_null_does_not() {
        let settled = |row: Value| {
            let mut row = row.as_object().unwrap().clone();
            normalize_columns(&column_defaults("ce_rule"), &mut row);
            Value::Object(row)
        };
        let full = json!({"rule_id": 1, "enabled": true, "phase": "PRE_RESPONSE_RESOLUTION", "priority": 100});
        assert_eq!(settled(json!({"rule_id": 1, "description": null, "enabled": 1})), full);
        assert_eq!(settled(full.clone()), full);
        assert_eq!(settled(json!({"priority": null}))["priority"], Value::Null);
    }
}
