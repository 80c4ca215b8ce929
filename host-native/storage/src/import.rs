//! Writes authored rows. These are the only statements with dynamic table and column names.

use std::collections::BTreeMap;

use convengine_core::turn::Map;
use serde_json::Value as Json;
use sqlx::AssertSqlSafe;
use sqlx::error::DatabaseError;
use sqlx::sqlite::SqliteArguments;

use super::database::{Connection, writes_turns_only};
use super::statement::{SqlValue, Statement, bind_json};

/// A column of a table.
#[derive(Debug, Clone)]
pub struct Column {
    /// The SQLite type name.
    pub sqlite_type: String,
    /// The type name of the actual database.
    cast_type: String,
    /// Whether rows must provide a value.
    pub required: bool,
}

/// Returns the columns of a table by name; empty when the table does not exist.
pub async fn columns(connection: &mut Connection, table: &str) -> sqlx::Result<BTreeMap<String, Column>> {
    let sql = Statement::per_dialect(
        "select name, lower(type) as kind, '' as cast_to, pk > 0 as key,
           \"notnull\" = 1 and dflt_value is null and pk = 0 as required from pragma_table_info($1)",
        "select c.column_name::text as name, c.udt_name::text as cast_to, k.key, c.is_nullable = 'NO' and c.column_default is null as required,
           case when c.data_type in ('smallint', 'bigint') then 'integer' when c.data_type like 'timestamp%' then 'datetime'
             when c.data_type in ('json', 'jsonb', 'uuid', 'character varying') then 'text' else c.data_type end::text as kind
         from information_schema.columns c, lateral (select exists (
           select 1 from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
           where i.indisprimary and i.indrelid = format('%I.%I', c.table_schema, c.table_name)::regclass and a.attname = c.column_name) as key) k
         where c.table_schema = current_schema() and c.table_name = $1",
    );
    let rows = connection.fetch_all(&sql, &[SqlValue::Text(table)]).await?;
    let column = |row: &super::database_row::DatabaseRow| {
        let kind = row.text("kind")?;
        // SQLite assigns integer keys that the pack omits.
        let text_key = row.boolean("key")? && !kind.starts_with("int");
        Ok((
            row.text("name")?,
            Column { required: row.boolean("required")? || text_key, cast_type: row.text("cast_to")?, sqlite_type: kind },
        ))
    };
    rows.iter().map(column).collect()
}

/// Disables foreign key checks, so that tables that reference each other can be replaced one by one.
pub async fn disable_foreign_keys(connection: &mut Connection) -> sqlx::Result<()> {
    // PostgreSQL has no such switch for ordinary users; see `back_up_tool_queries`.
    connection.execute(&Statement::per_dialect("pragma foreign_keys = off", "select 1"), &[]).await.map(|_| ())
}

/// Backs up tool queries while the tools are replaced, because PostgreSQL would delete them by cascade.
pub async fn back_up_tool_queries(connection: &mut Connection) -> sqlx::Result<()> {
    let sql = Statement::per_dialect("select 1", "create temporary table cv_kept_query on commit drop as select * from ce_mcp_db_tool");
    connection.execute(&sql, &[]).await.map(|_| ())
}

/// Restores the queries whose tools exist again.
pub async fn restore_tool_queries(connection: &mut Connection) -> sqlx::Result<()> {
    let sql = Statement::per_dialect(
        "select 1",
        "insert into ce_mcp_db_tool select * from cv_kept_query where tool_id in (select tool_id from ce_mcp_tool)
         on conflict do nothing",
    );
    connection.execute(&sql, &[]).await.map(|_| ())
}

/// Deletes all rows of an authored table. The caller has validated the table name.
pub async fn clear(connection: &mut Connection, table: &str) -> sqlx::Result<()> {
    let sql = AssertSqlSafe(format!("delete from {table}"));
    match connection {
        Connection::Sqlite(to) => sqlx::query(sql).execute(to.as_mut()).await.map(|_| ()),
        Connection::LocalSqlite(_) => Err(writes_turns_only()),
        Connection::Postgres(to) => sqlx::query(sql).execute(to.as_mut()).await.map(|_| ()),
    }
}

/// Inserts a row. Returns the reason when the row violates a constraint. Omitted columns take their default.
///
/// The caller has validated the table and column names.
pub async fn insert(
    connection: &mut Connection,
    table: &str,
    columns: &BTreeMap<String, Column>,
    row: &Map,
) -> sqlx::Result<Option<String>> {
    let given: Vec<(&String, &Json)> = row.iter().filter(|it| !it.1.is_null()).collect();
    let names: Vec<&str> = given.iter().map(|it| it.0.as_str()).collect();
    let inserted = match connection {
        Connection::Sqlite(to) => {
            let places: Vec<String> = (1..=given.len()).map(|it| format!("${it}")).collect();
            let mut arguments = SqliteArguments::default();
            for (_, value) in &given {
                bind_json(&mut arguments, value).map_err(sqlx::Error::Encode)?;
            }
            let sql = AssertSqlSafe(insert_sql(table, &names, &places));
            sqlx::query_with(sql, arguments).execute(to.as_mut()).await.map(|_| ())
        }
        Connection::LocalSqlite(_) => Err(writes_turns_only()),
        Connection::Postgres(to) => {
            let places: Vec<String> =
                given.iter().enumerate().map(|(at, (name, value))| placeholder(at + 1, columns.get(*name), value)).collect();
            // An error would abort the transaction and hide the errors of later rows.
            sqlx::query("savepoint before_row").execute(to.as_mut()).await?;
            let mut query = sqlx::query(AssertSqlSafe(insert_sql(table, &names, &places)));
            for (_, value) in &given {
                query = query.bind(value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            }
            let inserted = query.execute(to.as_mut()).await.map(|_| ());
            let after = if inserted.is_ok() { "release savepoint before_row" } else { "rollback to savepoint before_row" };
            sqlx::query(after).execute(to.as_mut()).await?;
            inserted
        }
    };
    match inserted {
        Ok(()) => Ok(None),
        Err(sqlx::Error::Database(error)) => violation_message(&*error).map(Some).ok_or(sqlx::Error::Database(error)),
        Err(error) => Err(error),
    }
}

fn insert_sql(table: &str, names: &[&str], places: &[String]) -> String {
    if names.is_empty() {
        return format!("insert into {table} default values");
    }
    format!("insert into {table} ({}) values ({})", names.join(", "), places.join(", "))
}

/// Returns the placeholder of a value, which is bound as text and cast to the column type.
fn placeholder(number: usize, column: Option<&Column>, value: &Json) -> String {
    let cast = column.map_or("text", |it| it.cast_type.as_str());
    match value {
        Json::Number(_) if cast.starts_with("timestamp") => format!("to_timestamp(${number}::text::float8 / 1000)"),
        Json::Number(_) if cast == "bool" => format!("${number}::text::int::bool"),
        _ => format!("${number}::text::{cast}"),
    }
}

/// Returns a message for errors caused by the row itself.
fn violation_message(error: &dyn DatabaseError) -> Option<String> {
    // SQLite appends the violated constraint to its message.
    let named = error.constraint().map_or_else(|| error.message().rsplit(": ").next().unwrap_or_default().to_owned(), str::to_owned);
    if error.is_unique_violation() {
        return Some(format!("duplicate key ({named}); remove one of the rows"));
    }
    if error.is_check_violation() {
        return Some(format!("violates a constraint ({named}); correct the value"));
    }
    if error.is_foreign_key_violation() {
        return Some(format!("references a missing row ({named}); add it"));
    }
    // PostgreSQL class 22: data exceptions.
    let is_data = error.code().is_some_and(|code| code.len() == 5 && code.starts_with("22"));
    is_data.then(|| format!("has a value that its column cannot store ({}); correct it", error.message()))
}

/// Advances sequences past the imported keys.
pub async fn advance_sequences(connection: &mut Connection, table: &str, columns: &BTreeMap<String, Column>) -> sqlx::Result<()> {
    let Connection::Postgres(to) = connection else { return Ok(()) };
    for name in columns.keys() {
        let serial = "select pg_get_serial_sequence($1, $2)";
        let sequence: Option<String> = sqlx::query_scalar(serial).bind(table).bind(name).fetch_one(to.as_mut()).await?;
        let Some(sequence) = sequence else { continue };
        let sql = format!("select setval($1::regclass, greatest((select max({name}) from {table})::bigint, 1))");
        sqlx::query(AssertSqlSafe(sql)).bind(sequence).execute(to.as_mut()).await?;
    }
    Ok(())
}
