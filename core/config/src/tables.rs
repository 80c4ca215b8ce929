//! Control tables as stored, and their canonical form for compiling.

use std::collections::BTreeMap;

use convengine_turn::Map;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::row::TableRow;
use super::{defaults, recency};

/// The compiled tables with their key columns; other tables are stored untouched.
const COMPILED_TABLES: [(&str, &str); 22] = [
    ("ce_config", "config_id"),
    ("ce_intent", "intent_code"),
    ("ce_intent_classifier", "classifier_id"),
    ("ce_policy", "policy_id"),
    ("ce_rule", "rule_id"),
    ("ce_response", "response_id"),
    ("ce_verbose", "verbose_id"),
    ("ce_prompt_template", "template_id"),
    ("ce_output_schema", "schema_id"),
    ("ce_pending_action", "pending_action_id"),
    ("ce_container_config", "id"),
    ("ce_mcp_tool", "tool_id"),
    ("ce_mcp_db_tool", "tool_id"),
    ("ce_mcp_planner", "planner_id"),
    ("ce_state_graph", "graph_id"),
    ("ce_tool", "tool_id"),
    ("ce_task", "task_id"),
    ("ce_http_tool", "tool_id"),
    ("cv_tool_spec", "tool_id"),
    ("cv_extension", "name"),
    ("ce_mcp_server", "server_key"),
    ("cv_mcp_tool", "tool_code"),
];

/// The table whose newest row wins.
const TEMPLATE_TABLE: &str = "ce_prompt_template";

/// Rows by table name, each a JSON object, in primary key order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tables(pub BTreeMap<String, Vec<Map>>);

/// Enabled rows of `ce_config`: type, key and value.
pub(super) struct ConfigRows(Vec<(String, String, String)>);

impl Tables {
    /// Returns the compiled tables in canonical form, without time stamps; of those, only the order of prompt templates is kept.
    pub fn to_normalized(&self) -> Tables {
        let compiled = COMPILED_TABLES.iter().filter_map(|it| Some((it.0.to_owned(), self.0.get(it.0)?.clone())));
        Tables(compiled.collect()).into_normalized()
    }

    /// Converts rows as [`Tables::to_normalized`] does, without a copy.
    pub fn into_normalized(mut self) -> Tables {
        let mut tables = Tables::default();
        for (table, key) in COMPILED_TABLES {
            let Some(mut rows) = self.0.remove(table) else { continue };
            let defaults = defaults::column_defaults(table);
            for row in &mut rows {
                if table != TEMPLATE_TABLE {
                    row.shift_remove("created_at");
                }
                defaults::normalize_columns(&defaults, row);
            }
            sort_by_key_column(&mut rows, key);
            tables.0.insert(table.to_owned(), rows);
        }
        if let Some(rows) = tables.0.get_mut(TEMPLATE_TABLE) {
            recency::replace_times_by_rank(rows);
        }
        tables
    }

    /// Returns the rows of a compiled table.
    pub fn rows(&self, table: &str) -> Vec<TableRow<'_>> {
        let Some((table, key)) = COMPILED_TABLES.iter().find(|it| it.0 == table) else { return Vec::new() };
        let rows = self.0.get(*table).map(Vec::as_slice).unwrap_or_default();
        rows.iter().enumerate().map(|(index, map)| TableRow::new(table, key, index + 1, map)).collect()
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
        let same = |it: &&(String, String, String)| it.0.eq_ignore_ascii_case(config_type) && it.1.eq_ignore_ascii_case(key);
        self.0.iter().find(same).map(|it| it.2.as_str())
    }
}

/// Sorts rows by key, as the database returns them; keeps their order when a row has no id.
fn sort_by_key_column(rows: &mut [Map], key: &str) {
    let all = |is: fn(&Value) -> bool| rows.iter().all(|it| it.get(key).is_some_and(is));
    if all(Value::is_i64) || all(Value::is_string) {
        rows.sort_by(|a, b| key_parts(a, key).cmp(&key_parts(b, key)));
    }
}

/// The key as a number and as text; one of the two is `None` in all rows.
fn key_parts<'r>(row: &'r Map, key: &str) -> (Option<i64>, Option<&'r str>) {
    let value = row.get(key);
    (value.and_then(Value::as_i64), value.and_then(Value::as_str))
}
