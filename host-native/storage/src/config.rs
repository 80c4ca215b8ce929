//! Reads the configuration tables and stores the snapshots that journals reference.

use std::collections::BTreeMap;

use convengine_core::config::Tables;
use convengine_core::turn::{Map, Millis};
use serde_json::Value;
use sqlx::sqlite::SqliteRow;
use sqlx::{Column, Row as _, TypeInfo, ValueRef};
use tokio::task::spawn_blocking;

use super::database::{Connection, Pool, writes_turns_only};
use super::database_row::DatabaseRow;
use super::statement::{SqlValue as Sql, Statement};
use super::{schema, snapshot};
use convengine_host_base::clock;

/// A table with the statement that reads its rows by key, the final tie-break when the engine picks between rows. A text key is compared as
/// SQLite compares it.
macro_rules! rows_by {
    ($table:literal, $key:literal $(, $collation:literal)?) => {
        (
            $table,
            Statement::per_dialect(
                concat!("select * from ", $table, " order by ", $key),
                concat!("select row_to_json(t)::text as found from ", $table, " t order by ", $key $(, $collation)?),
            ),
        )
    };
}

const SNAPSHOT_TABLES: [(&str, Statement); 22] = [
    rows_by!("ce_config", "config_id"),
    rows_by!("ce_container_config", "id"),
    rows_by!("ce_http_tool", "tool_id"),
    rows_by!("ce_intent", "intent_code", " collate \"C\""),
    rows_by!("ce_intent_classifier", "classifier_id"),
    rows_by!("ce_mcp_db_tool", "tool_id"),
    rows_by!("ce_mcp_planner", "planner_id"),
    rows_by!("ce_mcp_tool", "tool_id"),
    rows_by!("ce_output_schema", "schema_id"),
    rows_by!("ce_pending_action", "pending_action_id"),
    rows_by!("ce_policy", "policy_id"),
    rows_by!("ce_prompt_template", "template_id"),
    rows_by!("ce_response", "response_id"),
    rows_by!("ce_rule", "rule_id"),
    rows_by!("ce_state_graph", "graph_id"),
    rows_by!("ce_task", "task_id"),
    rows_by!("ce_tool", "tool_id"),
    rows_by!("ce_verbose", "verbose_id"),
    rows_by!("cv_extension", "name", " collate \"C\""),
    rows_by!("cv_tool_spec", "tool_id"),
    rows_by!("ce_mcp_server", "server_key", " collate \"C\""),
    rows_by!("cv_mcp_tool", "tool_code", " collate \"C\""),
];

/// Authored tables that are not part of the snapshot, because turns do not depend on them.
const OTHER_TABLES: [(&str, Statement); 1] = [rows_by!("cv_document", "document_id")];

/// Reads the configuration tables that turns depend on. Missing and empty tables are omitted.
pub async fn load_tables(connection: &mut Connection) -> sqlx::Result<Tables> {
    read_tables(connection, &SNAPSHOT_TABLES).await
}

/// Reads the authored tables that are not part of the snapshot.
pub async fn load_other_tables(connection: &mut Connection) -> sqlx::Result<Tables> {
    read_tables(connection, &OTHER_TABLES).await
}

async fn read_tables(connection: &mut Connection, tables: &[(&str, Statement)]) -> sqlx::Result<Tables> {
    let existing = schema::list_tables(connection).await?;
    let mut conversions = Vec::new();
    for (table, sql) in tables {
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
    let columns: Map = serde_json::from_str(row).map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
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
    Ok(body.and_then(|body| serde_json::from_str(&body).ok()))
}

/// Returns whether the database stores a snapshot.
pub async fn has_snapshot(pool: &Pool, hash: &str) -> sqlx::Result<bool> {
    Ok(pool.fetch_optional(&HASH, &[Sql::Text(hash)]).await?.is_some())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use convengine_core::config::{OTHER_TABLES as OTHERS, TABLES};

    use super::*;

    #[test]
    fn every_declared_table_is_read() {
        let read = |tables: &[(&'static str, Statement)]| tables.iter().map(|table| table.0).collect::<BTreeSet<_>>();
        assert_eq!(read(&SNAPSHOT_TABLES), TABLES.iter().map(|it| it.name).collect());
        assert_eq!(read(&OTHER_TABLES), OTHERS.iter().map(|it| it.name).collect());
    }
}
