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

/// A table with its key column and the statement that reads its rows. PostgreSQL sorts `text` keys by bytes only when told so.
macro_rules! authored_table {
    ($table:literal, $key:literal) => {
        authored_table!($table, $key, "")
    };
    ($table:literal, text $key:literal) => {
        authored_table!($table, $key, " collate \"C\"")
    };
    ($table:literal, $key:literal, $collation:literal) => {
        (
            $table,
            $key,
            Statement::per_dialect(
                concat!("select * from ", $table, " order by ", $key),
                concat!("select row_to_json(t)::text as found from ", $table, " t order by ", $key, $collation),
            ),
        )
    };
}

/// One statement per table, with its key column. Rows are ordered by key, the final tie-break when the engine picks between rows.
const SNAPSHOT_TABLES: [(&str, &str, Statement); 22] = [
    authored_table!("ce_config", "config_id"),
    authored_table!("ce_container_config", "id"),
    authored_table!("ce_http_tool", "tool_id"),
    authored_table!("ce_intent", text "intent_code"),
    authored_table!("ce_intent_classifier", "classifier_id"),
    authored_table!("ce_mcp_db_tool", "tool_id"),
    authored_table!("ce_mcp_planner", "planner_id"),
    authored_table!("ce_mcp_tool", "tool_id"),
    authored_table!("ce_output_schema", "schema_id"),
    authored_table!("ce_pending_action", "pending_action_id"),
    authored_table!("ce_policy", "policy_id"),
    authored_table!("ce_prompt_template", "template_id"),
    authored_table!("ce_response", "response_id"),
    authored_table!("ce_rule", "rule_id"),
    authored_table!("ce_state_graph", "graph_id"),
    authored_table!("ce_task", "task_id"),
    authored_table!("ce_tool", "tool_id"),
    authored_table!("ce_verbose", "verbose_id"),
    authored_table!("cv_extension", text "name"),
    authored_table!("cv_tool_spec", "tool_id"),
    authored_table!("ce_mcp_server", text "server_key"),
    authored_table!("cv_mcp_tool", text "tool_code"),
];

/// Authored tables that are not part of the snapshot, because turns do not depend on them.
const OTHER_TABLES: [(&str, &str, Statement); 1] = [authored_table!("cv_document", "document_id")];

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
