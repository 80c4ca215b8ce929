//! Reads the authors' rows and keeps the snapshots that journals refer to.

use std::collections::BTreeMap;

use convengine_core::config::Tables;
use convengine_core::turn::{Map, Millis};
use serde_json::Value;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{Column, Row, TypeInfo, ValueRef};

use super::schema;

/// One literal statement a table, in primary-key order: the last tie-break of every choice between rows.
const CONTROL_TABLES: [(&str, &str); 20] = [
    ("ce_config", "select * from ce_config order by config_id"),
    ("ce_container_config", "select * from ce_container_config order by id"),
    ("ce_http_tool", "select * from ce_http_tool order by tool_id"),
    ("ce_intent", "select * from ce_intent order by intent_code"),
    ("ce_intent_classifier", "select * from ce_intent_classifier order by classifier_id"),
    ("ce_mcp_db_tool", "select * from ce_mcp_db_tool order by tool_id"),
    ("ce_mcp_planner", "select * from ce_mcp_planner order by planner_id"),
    ("ce_mcp_tool", "select * from ce_mcp_tool order by tool_id"),
    ("ce_output_schema", "select * from ce_output_schema order by schema_id"),
    ("ce_pending_action", "select * from ce_pending_action order by pending_action_id"),
    ("ce_policy", "select * from ce_policy order by policy_id"),
    ("ce_prompt_template", "select * from ce_prompt_template order by template_id"),
    ("ce_response", "select * from ce_response order by response_id"),
    ("ce_rule", "select * from ce_rule order by rule_id"),
    ("ce_state_graph", "select * from ce_state_graph order by graph_id"),
    ("ce_task", "select * from ce_task order by task_id"),
    ("ce_tool", "select * from ce_tool order by tool_id"),
    ("ce_verbose", "select * from ce_verbose order by verbose_id"),
    ("cv_extension", "select * from cv_extension order by name"),
    ("cv_tool_spec", "select * from cv_tool_spec order by tool_id"),
];

/// Whether a table holds rows that authors write.
pub fn is_control_table(table: &str) -> bool {
    CONTROL_TABLES.iter().any(|it| it.0 == table)
}

/// The authors' rows; a table that is not there or empty is left out.
///
/// # Errors
/// What SQLite says.
pub async fn tables(connection: &mut SqliteConnection) -> sqlx::Result<Tables> {
    let existing = schema::tables(connection).await?;
    let mut found = BTreeMap::new();
    for (table, sql) in CONTROL_TABLES {
        if !existing.contains(table) {
            continue;
        }
        let rows = sqlx::query(sql).fetch_all(&mut *connection).await?;
        if !rows.is_empty() {
            found.insert(table.to_owned(), rows.iter().map(object).collect::<sqlx::Result<_>>()?);
        }
    }
    Ok(Tables(found))
}

/// A row as a JSON object; null columns are left out, as a pack leaves them out.
fn object(row: &SqliteRow) -> sqlx::Result<Map> {
    let mut map = Map::new();
    for column in row.columns() {
        let is_boolean = column.type_info().name().eq_ignore_ascii_case("boolean");
        if let Some(value) = value(row, column.ordinal(), is_boolean)? {
            map.insert(column.name().to_owned(), value);
        }
    }
    Ok(map)
}

/// SQLite keeps the type with the value and not with the column, so the value decides.
fn value(row: &SqliteRow, index: usize, is_boolean: bool) -> sqlx::Result<Option<Value>> {
    let raw = row.try_get_raw(index)?;
    if raw.is_null() {
        return Ok(None);
    }
    let kind = raw.type_info().name().to_owned();
    Ok(Some(match kind.as_str() {
        "INTEGER" | "BOOLEAN" if is_boolean => Value::Bool(row.try_get_unchecked::<i64, _>(index)? != 0),
        "INTEGER" | "BOOLEAN" => row.try_get_unchecked::<i64, _>(index)?.into(),
        "REAL" | "NUMERIC" => row.try_get_unchecked::<f64, _>(index)?.into(),
        _ => row.try_get_unchecked::<String, _>(index)?.into(),
    }))
}

/// Keeps a snapshot; one that is there already stays.
///
/// # Errors
/// What SQLite says.
pub async fn keep_snapshot(connection: &mut SqliteConnection, hash: &str, body: &Value, at: Millis) -> sqlx::Result<()> {
    let sql = "insert into ce_config_snapshot (hash, body, created_at) values ($1, $2, $3) on conflict (hash) do nothing";
    sqlx::query(sql).bind(hash).bind(body.to_string()).bind(at).execute(connection).await.map(|_| ())
}

/// A snapshot by its hash; nothing when it is not kept or no JSON.
///
/// # Errors
/// What SQLite says.
pub async fn snapshot(pool: &SqlitePool, hash: &str) -> sqlx::Result<Option<Value>> {
    let sql = "select body from ce_config_snapshot where hash = $1";
    let body: Option<String> = sqlx::query_scalar(sql).bind(hash).fetch_optional(pool).await?;
    Ok(body.and_then(|it| serde_json::from_str(&it).ok()))
}

/// Whether the database answers and holds a snapshot.
///
/// # Errors
/// What SQLite says.
pub async fn has_snapshot(pool: &SqlitePool, hash: &str) -> sqlx::Result<bool> {
    let sql = "select count(*) from ce_config_snapshot where hash = $1";
    let count: i64 = sqlx::query_scalar(sql).bind(hash).fetch_one(pool).await?;
    Ok(count > 0)
}
