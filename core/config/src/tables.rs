//! Control tables as stored: rows by table name.

use std::collections::BTreeMap;

use convengine_turn::Map;
use serde::{Deserialize, Serialize};

use super::column::{CREATED_AT, ENABLED, TableShape, integer, json, text};
use super::row::TableRow;

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
#[derive(Default)]
pub(super) struct ConfigRows(Vec<(String, String, String)>);

impl Tables {
    /// Returns the rows of a table, in their order.
    pub(super) fn rows_of(&self, table: &'static TableShape) -> Vec<TableRow<'_>> {
        let rows = self.0.get(table.name).map(Vec::as_slice).unwrap_or_default();
        rows.iter().enumerate().map(|(index, map)| TableRow::new(table, index + 1, map)).collect()
    }

    /// Returns the enabled rows of a table.
    pub(super) fn enabled_rows_of(&self, table: &'static TableShape) -> Vec<TableRow<'_>> {
        self.rows_of(table).into_iter().filter(TableRow::is_enabled).collect()
    }

    pub(super) fn config_rows(&self) -> ConfigRows {
        let read = |row: TableRow<'_>| Some((row.code("config_type")?, row.code("config_key")?, row.text("config_value")?));
        ConfigRows(self.enabled_rows_of(&CONFIG).into_iter().filter_map(read).collect())
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
