//! The canonical form of tables for compiling.
//!
//! Rows come from databases and from packs, and the two write the same row in different ways: flags as numbers, JSON as text, defaults or
//! no column. The canonical form hides that, so that equal configurations have equal hashes.

use convengine_turn::Map;
use serde_json::Value;

use super::catalog::TABLES;
use super::column::{CREATED_AT, TableShape};
use super::recency;
use super::tables::Tables;

/// The table whose newest row wins.
const TEMPLATE_TABLE: &str = "ce_prompt_template";

impl Tables {
    /// Returns the compiled tables in canonical form, without time stamps; of those, only the order of prompt templates is kept.
    pub fn to_normalized(&self) -> Tables {
        let compiled = TABLES.iter().filter_map(|table| Some((table.name.to_owned(), self.0.get(table.name)?.clone())));
        Tables(compiled.collect()).into_normalized()
    }

    /// Converts rows as [`Tables::to_normalized`] does, without a copy.
    pub fn into_normalized(mut self) -> Tables {
        let mut tables = Tables::default();
        for table in TABLES {
            let Some(mut rows) = self.0.remove(table.name) else { continue };
            let defaults = table.defaults();
            for row in &mut rows {
                if table.name != TEMPLATE_TABLE {
                    row.shift_remove(CREATED_AT.name);
                }
                normalize_columns(table, &defaults, row);
            }
            sort_by_key_column(&mut rows, table.key());
            tables.0.insert(table.name.to_owned(), rows);
        }
        if let Some(rows) = tables.0.get_mut(TEMPLATE_TABLE) {
            recency::replace_times_by_rank(rows);
        }
        tables
    }
}

/// Brings a row into its canonical form: fills in the defaults of its table, drops meaningless nulls, turns flags into booleans.
fn normalize_columns(table: &TableShape, defaults: &[(&'static str, Value)], row: &mut Map) {
    for (column, value) in defaults {
        row.entry(*column).or_insert_with(|| value.clone());
    }
    // An explicit null in a column with a default differs from the default, so it stays.
    row.retain(|column, value| !value.is_null() || defaults.iter().any(|(name, _)| name == column));
    for (column, value) in row.iter_mut() {
        match value {
            Value::Number(_) if table.holds_flag(column) => *value = parse_flag(value),
            // Databases store JSON as text.
            Value::Array(_) | Value::Object(_) => *value = Value::String(value.to_string()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

fn parse_flag(value: &Value) -> Value {
    match value.as_i64() {
        Some(0) => Value::Bool(false),
        Some(1) => Value::Bool(true),
        Some(_) | None => value.clone(),
    }
}

/// Sorts rows by key, as the database returns them; keeps their order when a row has no id.
fn sort_by_key_column(rows: &mut [Map], key: &str) {
    let all = |is: fn(&Value) -> bool| rows.iter().all(|row| row.get(key).is_some_and(is));
    if all(Value::is_i64) || all(Value::is_string) {
        rows.sort_by(|a, b| key_parts(a, key).cmp(&key_parts(b, key)));
    }
}

/// The key as a number and as text; one of the two is `None` in all rows.
fn key_parts<'r>(row: &'r Map, key: &str) -> (Option<i64>, Option<&'r str>) {
    let value = row.get(key);
    (value.and_then(Value::as_i64), value.and_then(Value::as_str))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rule::RULE;

    #[test]
    fn omitted_columns_get_their_default_and_null_does_not() {
        let settled = |row: Value| {
            let mut row = row.as_object().unwrap().clone();
            normalize_columns(&RULE, &RULE.defaults(), &mut row);
            Value::Object(row)
        };
        let full = json!({"rule_id": 1, "enabled": true, "phase": "PRE_RESPONSE_RESOLUTION", "priority": 100});
        assert_eq!(settled(json!({"rule_id": 1, "description": null, "enabled": 1})), full);
        assert_eq!(settled(full.clone()), full);
        assert_eq!(settled(json!({"priority": null}))["priority"], Value::Null);
    }
}
