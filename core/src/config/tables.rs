//! Control tables as stored.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::age;
use super::row::Row;
use crate::turn::Map;

/// The tables that this version compiles, with their key columns; the others are stored untouched.
const COMPILED: [(&str, &str); 17] = [
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
];

/// The table whose rows compete by age.
const TEMPLATES: &str = "ce_prompt_template";

/// Rows by table name, each a JSON object, in the order of the primary key.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tables(pub BTreeMap<String, Vec<Map>>);

/// Enabled rows of `ce_config`: type, key and value.
pub(super) struct ConfigRows(Vec<(String, String, String)>);

impl Tables {
    /// The compiled tables without time stamps, which differ from database to database; of templates their order stays.
    pub(super) fn compiled(&self) -> Tables {
        let rows = |table: &str| {
            let means = |key: &str| table == TEMPLATES || key != "created_at";
            let keep = |row: &Map| row.iter().filter(|it| means(it.0)).map(|it| (it.0.clone(), it.1.clone())).collect();
            self.0.get(table).map(|rows| rows.iter().map(keep).collect::<Vec<Map>>())
        };
        let mut tables = Tables(COMPILED.iter().filter_map(|(table, _)| Some(((*table).to_owned(), rows(table)?))).collect());
        if let Some(rows) = tables.0.get_mut(TEMPLATES) {
            age::rank(rows);
        }
        tables
    }

    /// The rows of a compiled table.
    pub(crate) fn rows(&self, table: &str) -> Vec<Row<'_>> {
        let Some((table, key)) = COMPILED.iter().find(|it| it.0 == table) else { return Vec::new() };
        let rows = self.0.get(*table).map(Vec::as_slice).unwrap_or_default();
        rows.iter().enumerate().map(|(index, map)| Row::new(table, key, index + 1, map)).collect()
    }

    /// The enabled rows of a compiled table.
    pub(crate) fn enabled(&self, table: &str) -> Vec<Row<'_>> {
        self.rows(table).into_iter().filter(Row::enabled).collect()
    }

    pub(super) fn config_rows(&self) -> ConfigRows {
        let read = |row: Row<'_>| Some((row.code("config_type")?, row.code("config_key")?, row.text("config_value")?));
        ConfigRows(self.enabled("ce_config").into_iter().filter_map(read).collect())
    }
}

impl ConfigRows {
    /// The value of the first row with this type and key, ignoring case.
    pub fn value(&self, config_type: &str, key: &str) -> Option<&str> {
        let same = |it: &&(String, String, String)| it.0.eq_ignore_ascii_case(config_type) && it.1.eq_ignore_ascii_case(key);
        self.0.iter().find(same).map(|it| it.2.as_str())
    }
}
