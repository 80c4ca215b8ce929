//! Control tables as stored, and their canonical form for compiling.
//!
//! Rows come from databases and from packs, and the two write the same row in different ways: flags as numbers, JSON as text, defaults or
//! no column. The canonical form hides that, so that equal configurations have equal hashes.

use std::collections::BTreeMap;

use convengine_turn::Map;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::column::{CREATED_AT, ENABLED, TableShape, integer, json, text};
use super::row::TableRow;
use super::{
    classifier, container, extension, intent_resolver, pending_action, planner, policy, prompt, recency, response, rule, schema,
    state_graph, task, tool, tool_request, verbose,
};

pub(crate) static CONFIG: TableShape = TableShape {
    name: "ce_config",
    help: "Texts and numbers that replace built-in ones, and settings of steps. Type and key are compared ignoring case.",
    columns: &[
        integer("config_id", "id of the row; of rows with one type and key the lowest wins"),
        text("config_type", "the component that reads the row: a step or resolver name ([2.1](../spec/data-and-api.md#2.1))"),
        text("config_key", "the key, in UPPER_SNAKE"),
        json("config_value", "the value"),
        ENABLED,
        CREATED_AT,
    ],
};

/// The compiled tables; other tables are stored untouched.
pub static TABLES: [&TableShape; 22] = [
    &CONFIG,
    &intent_resolver::INTENT,
    &classifier::CLASSIFIER,
    &policy::POLICY,
    &rule::RULE,
    &response::RESPONSE,
    &verbose::VERBOSE,
    &prompt::PROMPT_TEMPLATE,
    &schema::OUTPUT_SCHEMA,
    &pending_action::PENDING_ACTION,
    &container::CONTAINER,
    &tool::TOOL,
    &tool::DB_TOOL,
    &planner::PLANNER,
    &state_graph::STATE_GRAPH,
    &tool_request::TOOL_REQUEST,
    &task::TASK,
    &tool::HTTP_TOOL,
    &tool::TOOL_SPEC,
    &extension::EXTENSION,
    &tool::SERVER,
    &tool::MCP_TOOL,
];

/// Tables that authors write and turns do not depend on.
pub static OTHER_TABLES: [&TableShape; 1] = [&tool::DOCUMENT];

/// Returns the declaration of a table that authors write.
///
/// ```
/// use convengine_config::table_shape;
///
/// let rules = table_shape("ce_rule").ok_or("no such table")?;
/// assert_eq!(rules.key(), "rule_id");
/// assert!(rules.column("match_pattern").is_some() && rules.column("pattern").is_none());
/// assert!(table_shape("ce_conversation").is_none(), "turns write it");
/// # Ok::<(), &str>(())
/// ```
pub fn table_shape(name: &str) -> Option<&'static TableShape> {
    TABLES.iter().chain(&OTHER_TABLES).copied().find(|it| it.name == name)
}

/// The table whose newest row wins.
const TEMPLATE_TABLE: &str = "ce_prompt_template";

/// Rows by table name, each a JSON object, in primary key order. Absent columns take the default of their table.
///
/// ```
/// use convengine_config::Tables;
/// use serde_json::json;
///
/// let tables: Tables = serde_json::from_value(json!({
///     "ce_response": [{"response_id": 2, "exact_text": "b"}, {"response_id": 1, "exact_text": "a", "enabled": 0}],
/// }))?;
/// let tables = tables.to_normalized();
/// let ids: Vec<i64> = tables.rows("ce_response").iter().map(|row| row.id()).collect();
/// assert_eq!(ids, [1, 2]);
/// assert_eq!(tables.enabled_rows("ce_response")[0].text("exact_text").as_deref(), Some("b"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tables(pub BTreeMap<String, Vec<Map>>);

/// Enabled rows of `ce_config`: type, key and value.
pub(super) struct ConfigRows(Vec<(String, String, String)>);

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

    /// Returns the rows of a compiled table, in their order; none for another table.
    pub fn rows(&self, table: &str) -> Vec<TableRow<'_>> {
        let Some(table) = TABLES.into_iter().find(|it| it.name == table) else { return Vec::new() };
        let rows = self.0.get(table.name).map(Vec::as_slice).unwrap_or_default();
        rows.iter().enumerate().map(|(index, map)| TableRow::new(table, index + 1, map)).collect()
    }

    /// Returns the enabled rows of a compiled table.
    pub fn enabled_rows(&self, table: &str) -> Vec<TableRow<'_>> {
        self.rows(table).into_iter().filter(TableRow::is_enabled).collect()
    }

    pub(super) fn config_rows(&self) -> ConfigRows {
        let read = |row: TableRow<'_>| Some((row.code("config_type")?, row.code("config_key")?, row.text("config_value")?));
        ConfigRows(self.enabled_rows("ce_config").into_iter().filter_map(read).collect())
    }
}

impl ConfigRows {
    /// Returns the value of the first row with this type and key, ignoring case.
    pub fn value(&self, config_type: &str, key: &str) -> Option<&str> {
        let same = |(own_type, own_key, _): &&(String, String, String)| {
            own_type.eq_ignore_ascii_case(config_type) && own_key.eq_ignore_ascii_case(key)
        };
        self.0.iter().find(same).map(|it| it.2.as_str())
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

    #[test]
    fn omitted_columns_get_their_default_and_null_does_not() {
        let settled = |row: Value| {
            let mut row = row.as_object().unwrap().clone();
            normalize_columns(&rule::RULE, &rule::RULE.defaults(), &mut row);
            Value::Object(row)
        };
        let full = json!({"rule_id": 1, "enabled": true, "phase": "PRE_RESPONSE_RESOLUTION", "priority": 100});
        assert_eq!(settled(json!({"rule_id": 1, "description": null, "enabled": 1})), full);
        assert_eq!(settled(full.clone()), full);
        assert_eq!(settled(json!({"priority": null}))["priority"], Value::Null);
    }
}
