//! Runs tool queries on a PostgreSQL server.
//!
//! The server encodes each row as JSON, so that every type, including user-defined ones, has a representation; the column types come
//! along without values.

use std::ops::{Deref, DerefMut};
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use convengine_core::turn::{EffectError, EffectErrorKind, SqlReply};
use futures_util::TryStreamExt;
use serde_json::{Number, Value};
use sqlx::error::BoxDynError;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgColumn, PgConnectOptions, PgConnection, PgPool, PgPoolOptions, PgRow};
use sqlx::{Arguments, AssertSqlSafe, Column, ConnectOptions, Connection, Postgres, Row, TypeInfo};

use super::relations::refusal;
use super::rows::{Cells, MAX_BYTES, RowCollector};
use super::{BUSY_TIMEOUT, MAX_CONNECTIONS, Query, busy, denied, invalid, timed_out, unavailable};

/// Creates a pool of connections that default to read-only transactions and are opened on demand.
pub(super) fn create_pool(url: &str) -> sqlx::Result<PgPool> {
    convengine_host_base::crypto::install_crypto_provider();
    // Statements and values must not be logged.
    let options = PgConnectOptions::from_str(url)?.disable_statement_logging();
    let options = options.application_name("convengine tools");
    let options = options.options([("default_transaction_read_only", "on"), ("timezone", "UTC"), ("intervalstyle", "iso_8601")]);
    Ok(PgPoolOptions::new().max_connections(MAX_CONNECTIONS).acquire_timeout(BUSY_TIMEOUT).connect_lazy_with(options))
}

/// Runs a query in a read-only transaction that is always rolled back.
pub(super) async fn read(pool: &PgPool, query: &Query<'_>, mut rows: RowCollector<'_>) -> Result<SqlReply, EffectError> {
    let failed = |it: sqlx::Error| map_error(&it, query);
    let arguments = bind_arguments(query)?;
    let mut connection = LeasedConnection(Some(pool.acquire().await.map_err(|it| unavailable(&it))?));
    sqlx::raw_sql(AssertSqlSafe(begin_sql(query))).execute(&mut *connection).await.map_err(failed)?;
    check_views(&mut connection, query).await?;
    // The guard has rendered this SQL itself.
    let mut stream = sqlx::query_with(AssertSqlSafe(json_sql(query)), arguments).fetch(&mut *connection);
    let mut has_room = true;
    while let Some(row) = stream.try_next().await.map_err(failed)? {
        let cells = read_cells(&row).map_err(|error| invalid(format!("a row cannot be read: {error}")))?;
        has_room = if let Some(cells) = cells { rows.push(cells)? } else { rows.skip_oversized()? };
        if !has_room {
            break;
        }
    }
    drop(stream);
    if has_room {
        sqlx::raw_sql("rollback").execute(&mut *connection).await.map_err(failed)?;
        // A cached statement would not notice that a table or the types of its parameters have changed.
        connection.clear_cached_statements().await.map_err(failed)?;
        connection.release();
    }
    Ok(rows.into_reply())
}

/// A pooled connection that is closed when dropped before it is released, so that the server stops working on an abandoned query.
struct LeasedConnection(Option<PoolConnection<Postgres>>);

impl LeasedConnection {
    fn release(mut self) {
        drop(self.0.take());
    }
}

impl Deref for LeasedConnection {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        self.0.as_ref().expect("the connection is present until it is released")
    }
}

impl DerefMut for LeasedConnection {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.0.as_mut().expect("the connection is present until it is released")
    }
}

impl Drop for LeasedConnection {
    fn drop(&mut self) {
        drop(self.0.take().map(PoolConnection::detach));
    }
}

fn begin_sql(query: &Query<'_>) -> String {
    let milliseconds = query.time.as_millis().max(1);
    format!(
        "begin transaction read only; set local statement_timeout = {milliseconds}; \
         set local idle_in_transaction_session_timeout = {milliseconds}; set local client_connection_check_interval = 1000"
    )
}

/// Refuses a view that reads a table which the query may not read itself.
async fn check_views(connection: &mut PgConnection, query: &Query<'_>) -> Result<(), EffectError> {
    let names: Vec<&str> = query.guarded.relations.iter().map(String::as_str).collect();
    let read: Vec<(String, String)> = sqlx::query_as(
        "with recursive reached(oid, view) as (
           select c.oid, c.relname::text from pg_catalog.pg_class c
             where (lower(c.relname) = any($1) or octet_length(c.relname::text) <> char_length(c.relname::text)) and c.relkind in ('v', 'm')
           union
           select d.refobjid, reached.view from reached
             join pg_catalog.pg_rewrite r on r.ev_class = reached.oid
             join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = r.oid
               and d.refclassid = 'pg_catalog.pg_class'::regclass
         )
         select distinct reached.view, c.relname::text from reached join pg_catalog.pg_class c on c.oid = reached.oid order by 1, 2",
    )
    .bind(names)
    .fetch_all(connection)
    .await
    .map_err(|it| map_error(&it, query))?;
    // The database may fold only ASCII letters.
    let is_named = |view: &str| query.guarded.relations.contains(&view.to_lowercase());
    let refused =
        read.iter().filter(|it| is_named(&it.0)).find_map(|(view, relation)| Some((view, refusal(relation, query.request.engine_tables)?)));
    refused.map_or(Ok(()), |(view, reason)| Err(denied(format!("the view '{view}' is not allowed: {reason}"))))
}

/// Wraps the query: rows as JSON text (null if oversized), at most one more than allowed, followed by null columns that carry the types.
fn json_sql(query: &Query<'_>) -> String {
    let limit = u64::from(query.request.max_rows) + 1;
    format!(
        "with q as ({}) select case when octet_length(r.j) <= {MAX_BYTES} then r.j end, t.* \
         from (select row_to_json(q)::text as j from q limit {limit}) r left join q t on false",
        query.guarded.sql
    )
}

/// Decodes a row in the order of its columns; `None` if it is oversized.
fn read_cells(row: &PgRow) -> Result<Option<Cells>, BoxDynError> {
    let Some(json) = row.try_get::<Option<&str>, _>(0)? else { return Ok(None) };
    let MemberValues(values) = serde_json::from_str(json)?;
    let columns = row.columns().get(1..).unwrap_or_default();
    let cell = |(column, value): (&PgColumn, Value)| (column.name().to_owned(), normalize_value(column, value));
    Ok(Some(columns.iter().zip(values).map(cell).collect()))
}

/// Converts bytes to Base64 and float columns to floating-point numbers; other values stay as the server encodes them.
fn normalize_value(column: &PgColumn, value: Value) -> Value {
    match (column.type_info().name(), &value) {
        ("BYTEA", Value::String(text)) => match text.strip_prefix("\\x").and_then(decode_hex) {
            Some(bytes) => STANDARD.encode(bytes).into(),
            None => value,
        },
        ("FLOAT4" | "FLOAT8", Value::Number(number)) => number.as_f64().and_then(Number::from_f64).map_or(value, Value::Number),
        _ => value,
    }
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let byte = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    text.as_bytes().chunks(2).map(byte).collect()
}

/// The values of a JSON object whose member names may repeat.
struct MemberValues(Vec<Value>);

impl<'de> serde::Deserialize<'de> for MemberValues {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<MemberValues, D::Error> {
        from.deserialize_map(MemberValuesVisitor)
    }
}

struct MemberValuesVisitor;

impl<'de> serde::de::Visitor<'de> for MemberValuesVisitor {
    type Value = MemberValues;

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("a row")
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<MemberValues, A::Error> {
        let mut values = Vec::new();
        while let Some((_, value)) = map.next_entry::<serde::de::IgnoredAny, Value>()? {
            values.push(value);
        }
        Ok(MemberValues(values))
    }
}

fn bind_arguments(query: &Query<'_>) -> Result<PgArguments, EffectError> {
    let mut arguments = PgArguments::default();
    for (param, value) in query.guarded.params.iter().zip(&query.values) {
        let added = if param.list { bind_list(&mut arguments, value) } else { bind_scalar(&mut arguments, value) };
        added.map_err(|error| invalid(format!("the value of ':{}' cannot be used: {error}", param.name)))?;
    }
    Ok(arguments)
}

fn bind_scalar(arguments: &mut PgArguments, value: &Value) -> Result<(), BoxDynError> {
    match value {
        Value::Null => arguments.add(None::<String>),
        Value::Bool(on) => arguments.add(*on),
        Value::Number(number) => match number.as_i64() {
            Some(number) => arguments.add(number),
            None => arguments.add(number.as_f64()),
        },
        Value::String(_) | Value::Array(_) | Value::Object(_) => arguments.add(to_text(value)),
    }
}

/// Binds a list with the type common to all its items, else as text.
fn bind_list(arguments: &mut PgArguments, value: &Value) -> Result<(), BoxDynError> {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let some = || items.iter().filter(|item| !item.is_null());
    if some().count() > 0 && some().all(Value::is_i64) {
        return arguments.add(items.iter().map(Value::as_i64).collect::<Vec<_>>());
    }
    if some().count() > 0 && some().all(Value::is_number) {
        return arguments.add(items.iter().map(Value::as_f64).collect::<Vec<_>>());
    }
    if some().count() > 0 && some().all(Value::is_boolean) {
        return arguments.add(items.iter().map(Value::as_bool).collect::<Vec<_>>());
    }
    arguments.add(items.iter().map(|item| (!item.is_null()).then(|| to_text(item))).collect::<Vec<_>>())
}

fn to_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn map_error(error: &sqlx::Error, query: &Query<'_>) -> EffectError {
    let sqlx::Error::Database(database) = error else { return unavailable(error) };
    let code = database.code().unwrap_or_default();
    match code.as_ref() {
        "57014" | "25P03" => timed_out(query.request),
        "55P03" | "40001" | "40P01" => busy(),
        // Connection exceptions, insufficient resources, operator intervention, system errors.
        code if ["08", "53", "57", "58"].contains(&code.get(..2).unwrap_or_default()) => unavailable(error),
        "42883" | "42804" | "42846" if !query.values.is_empty() => {
            let cast = "a value is a bigint, double precision, boolean or text: where another type is meant, write a cast such as cast(:day as date)";
            EffectError::new(EffectErrorKind::Invalid, format!("the query cannot be run: {}: {cast}", database.message()))
        }
        _ => EffectError::new(EffectErrorKind::Invalid, format!("the query cannot be run: {}", database.message())),
    }
}
