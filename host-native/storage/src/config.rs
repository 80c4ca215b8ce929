//! Reads the configuration tables and stores the snapshots that journals reference.

use std::collections::BTreeMap;

use convengine_core::config::Tables;
use convengine_core::turn::{Map, Millis};
use serde_json::Value;
use sqlx::sqlite::SqliteRow;
use sqlx::{Column, Row as _, TypeInfo, ValueRef};
use tokio::task::spawn_blocking;

use super::database::{Connection, DatabaseRow, Pool, SqlValue as Sql, Statement, writes_turns_only};
use super::{schema, snapshot};
use convengine_host_base::clock;

/// One statement per table, with its key column. Rows are ordered by key, the final tie-break when the engine picks between rows.
const SNAPSHOT_TABLES: [(&str, &str, Statement); 22] = [
    (
        "ce_config",
        "config_id",
        Statement::per_dialect(
            "select * from ce_config order by config_id",
            "select row_to_json(t)::text as found from ce_config t order by config_id",
        ),
    ),
    (
        "ce_container_config",
        "id",
        Statement::per_dialect(
            "select * from ce_container_config order by id",
            "select row_to_json(t)::text as found from ce_container_config t order by id",
        ),
    ),
    (
        "ce_http_tool",
        "tool_id",
        Statement::per_dialect(
            "select * from ce_http_tool order by tool_id",
            "select row_to_json(t)::text as found from ce_http_tool t order by tool_id",
        ),
    ),
    (
        "ce_intent",
        "intent_code",
        Statement::per_dialect(
            "select * from ce_intent order by intent_code",
            "select row_to_json(t)::text as found from ce_intent t order by intent_code collate \"C\"",
        ),
    ),
    (
        "ce_intent_classifier",
        "classifier_id",
        Statement::per_dialect(
            "select * from ce_intent_classifier order by classifier_id",
            "select row_to_json(t)::text as found from ce_intent_classifier t order by classifier_id",
        ),
    ),
    (
        "ce_mcp_db_tool",
        "tool_id",
        Statement::per_dialect(
            "select * from ce_mcp_db_tool order by tool_id",
            "select row_to_json(t)::text as found from ce_mcp_db_tool t order by tool_id",
        ),
    ),
    (
        "ce_mcp_planner",
        "planner_id",
        Statement::per_dialect(
            "select * from ce_mcp_planner order by planner_id",
            "select row_to_json(t)::text as found from ce_mcp_planner t order by planner_id",
        ),
    ),
    (
        "ce_mcp_tool",
        "tool_id",
        Statement::per_dialect(
            "select * from ce_mcp_tool order by tool_id",
            "select row_to_json(t)::text as found from ce_mcp_tool t order by tool_id",
        ),
    ),
    (
        "ce_output_schema",
        "schema_id",
        Statement::per_dialect(
            "select * from ce_output_schema order by schema_id",
            "select row_to_json(t)::text as found from ce_output_schema t order by schema_id",
        ),
    ),
    (
        "ce_pending_action",
        "pending_action_id",
        Statement::per_dialect(
            "select * from ce_pending_action order by pending_action_id",
            "select row_to_json(t)::text as found from ce_pending_action t order by pending_action_id",
        ),
    ),
    (
        "ce_policy",
        "policy_id",
        Statement::per_dialect(
            "select * from ce_policy order by policy_id",
            "select row_to_json(t)::text as found from ce_policy t order by policy_id",
        ),
    ),
    (
        "ce_prompt_template",
        "template_id",
        Statement::per_dialect(
            "select * from ce_prompt_template order by template_id",
            "select row_to_json(t)::text as found from ce_prompt_template t order by template_id",
        ),
    ),
    (
        "ce_response",
        "response_id",
        Statement::per_dialect(
            "select * from ce_response order by response_id",
            "select row_to_json(t)::text as found from ce_response t order by response_id",
        ),
    ),
    (
        "ce_rule",
        "rule_id",
        Statement::per_dialect(
            "select * from ce_rule order by rule_id",
            "select row_to_json(t)::text as found from ce_rule t order by rule_id",
        ),
    ),
    (
        "ce_state_graph",
        "graph_id",
        Statement::per_dialect(
            "select * from ce_state_graph order by graph_id",
            "select row_to_json(t)::text as found from ce_state_graph t order by graph_id",
        ),
    ),
    (
        "ce_task",
        "task_id",
        Statement::per_dialect(
            "select * from ce_task order by task_id",
            "select row_to_json(t)::text as found from ce_task t order by task_id",
        ),
    ),
    (
        "ce_tool",
        "tool_id",
        Statement::per_dialect(
            "select * from ce_tool order by tool_id",
            "select row_to_json(t)::text as found from ce_tool t order by tool_id",
        ),
    ),
    (
        "ce_verbose",
        "verbose_id",
        Statement::per_dialect(
            "select * from ce_verbose order by verbose_id",
            "select row_to_json(t)::text as found from ce_verbose t order by verbose_id",
        ),
    ),
    (
        "cv_extension",
        "name",
        Statement::per_dialect(
            "select * from cv_extension order by name",
            "select row_to_json(t)::text as found from cv_extension t order by name collate \"C\"",
        ),
    ),
    (
        "cv_tool_spec",
        "tool_id",
        Statement::per_dialect(
            "select * from cv_tool_spec order by tool_id",
            "select row_to_json(t)::text as found from cv_tool_spec t order by tool_id",
        ),
    ),
    (
        "ce_mcp_server",
        "server_key",
        Statement::per_dialect(
            "select * from ce_mcp_server order by server_key",
            "select row_to_json(t)::text as found from ce_mcp_server t order by server_key collate \"C\"",
        ),
    ),
    (
        "cv_mcp_tool",
        "tool_code",
        Statement::per_dialect(
            "select * from cv_mcp_tool order by tool_code",
            "select row_to_json(t)::text as found from cv_mcp_tool t order by tool_code collate \"C\"",
        ),
    ),
];

/// Authored tables that are not part of the snapshot, because turns do not depend on them.
const OTHER_TABLES: [(&str, &str, Statement); 1] = [(
    "cv_document",
    "document_id",
    Statement::per_dialect(
        "select * from cv_document order by document_id",
        "select row_to_json(t)::text as found from cv_document t order by document_id",
    ),
)];

/// Returns whether a table holds authored rows.
pub fn is_authored_table(table: &str) -> bool {
    SNAPSHOT_TABLES.iter().chain(&OTHER_TABLES).any(|it| it.0 == table)
}

/// Returns the key column of an authored table.
pub fn key_column(table: &str) -> Option<&'static str> {
    SNAPSHOT_TABLES.iter().chain(&OTHER_TABLES).find(|it| it.0 == table).map(|it| it.1)
}

/// Reads the configuration tables that turns depend on. Missing and empty tables are omitted.
pub async fn load_tables(connection: &mut Connection) -> sqlx::Result<Tables> {
    read_tables(connection, &SNAPSHOT_TABLES).await
}

/// Reads the authored tables that are not part of the snapshot.
pub async fn load_other_tables(connection: &mut Connection) -> sqlx::Result<Tables> {
    read_tables(connection, &OTHER_TABLES).await
}

async fn read_tables(connection: &mut Connection, tables: &[(&str, &str, Statement)]) -> sqlx::Result<Tables> {
    let existing = schema::list_tables(connection).await?;
    let mut conversions = Vec::new();
    for (table, _, sql) in tables {
        if !existing.contains(*table) {
            continue;
        }
        let rows = connection.fetch_all(sql, &[]).await?;
        if !rows.is_empty() {
            // Beside the threads that run turns, and while the next table is read.
            let convert = move || rows.iter().map(object_from_row).collect::<sqlx::Result<Vec<Map>>>();
            conversions.push(((*table).to_owned(), spawn_blocking(convert)));
        }
    }
    let mut found = BTreeMap::new();
    for (table, conversion) in conversions {
        found.insert(table, conversion.await.map_err(|_| sqlx::Error::WorkerCrashed)??);
    }
    Ok(Tables(found))
}

/// Converts a row to a JSON object. Null columns are omitted, as in packs.
fn object_from_row(row: &DatabaseRow) -> sqlx::Result<Map> {
    match row {
        DatabaseRow::Sqlite(row) => object_from_values(row),
        DatabaseRow::LocalSqlite(_) => Err(writes_turns_only()),
        DatabaseRow::Postgres(_) => object_from_json(&row.text("found")?),
    }
}

/// Parses a row that PostgreSQL rendered as JSON. JSON columns become text, as on SQLite.
fn object_from_json(row: &str) -> sqlx::Result<Map> {
    let columns: Map = serde_json::from_str(row).map_err(|it| sqlx::Error::Decode(Box::new(it)))?;
    let as_text = |value: Value| if value.is_object() || value.is_array() { value.to_string().into() } else { value };
    Ok(columns.into_iter().filter(|it| !it.1.is_null()).map(|(name, value)| (name, as_text(value))).collect())
}

fn object_from_values(row: &SqliteRow) -> sqlx::Result<Map> {
    let mut map = Map::with_capacity(row.columns().len());
    for column in row.columns() {
        let is_boolean = column.type_info().name().eq_ignore_ascii_case("boolean");
        if let Some(value) = value_at(row, column.ordinal(), is_boolean)? {
            map.insert(column.name().to_owned(), value);
        }
    }
    Ok(map)
}

/// Reads a column by the type of its value, because SQLite types values and not columns.
fn value_at(row: &SqliteRow, index: usize, is_boolean: bool) -> sqlx::Result<Option<Value>> {
    let raw = row.try_get_raw(index)?;
    if raw.is_null() {
        return Ok(None);
    }
    let kind = raw.type_info();
    Ok(Some(match kind.name() {
        "INTEGER" | "BOOLEAN" if is_boolean => Value::Bool(row.try_get_unchecked::<i64, _>(index)? != 0),
        "INTEGER" | "BOOLEAN" => row.try_get_unchecked::<i64, _>(index)?.into(),
        "REAL" | "NUMERIC" => row.try_get_unchecked::<f64, _>(index)?.into(),
        _ => row.try_get_unchecked::<String, _>(index)?.into(),
    }))
}

/// Stores a snapshot unless it exists.
pub async fn store_snapshot(connection: &mut Connection, hash: &str, body: &Value, at: Millis) -> sqlx::Result<()> {
    store_snapshot_text(connection, hash, || body.to_string(), at).await
}

/// Stores a snapshot unless it exists; only then is its text rendered. Records that it is in use on the day of `at`.
pub async fn store_snapshot_text(
    connection: &mut Connection,
    hash: &str,
    body: impl FnOnce() -> String + Send,
    at: Millis,
) -> sqlx::Result<()> {
    if snapshot::record_use(connection, hash, at).await? {
        return Ok(());
    }
    let sql = Statement::per_dialect(
        "insert into ce_config_snapshot (hash, body, created_at, used_at) values ($1, $2, $3, $4) on conflict (hash) do nothing",
        "insert into ce_config_snapshot (hash, body, created_at, used_at) values ($1, $2, to_timestamp($3 / 1000.0), $4)
         on conflict (hash) do nothing",
    );
    let body = body();
    let values = [Sql::Text(hash), Sql::Text(&body), Sql::Integer(at), Sql::Integer(clock::start_of_day(at))];
    connection.execute(&sql, &values).await.map(|_| ())
}

const HASH: Statement = Statement::portable("select hash from ce_config_snapshot where hash = $1");

/// Returns a snapshot by hash; `None` when it is not stored or is not JSON.
pub async fn find_snapshot(pool: &Pool, hash: &str) -> sqlx::Result<Option<Value>> {
    let sql = Statement::portable("select body from ce_config_snapshot where hash = $1");
    let row = pool.fetch_optional(&sql, &[Sql::Text(hash)]).await?;
    let body = row.map(|it| it.text("body")).transpose()?;
    Ok(body.and_then(|it| serde_json::from_str(&it).ok()))
}

/// Returns whether the database stores a snapshot.
pub async fn has_snapshot(pool: &Pool, hash: &str) -> sqlx::Result<bool> {
    Ok(pool.fetch_optional(&HASH, &[Sql::Text(hash)]).await?.is_some())
}
