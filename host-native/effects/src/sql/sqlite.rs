//! Runs tool queries on an SQLite file.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use convengine_core::turn::{EffectError, EffectErrorKind, SqlReply};
use convengine_storage::bind_json;
use futures_util::TryStreamExt;
use serde_json::{Number, Value};
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection, SqlitePool, SqlitePoolOptions, SqliteRow};
use sqlx::{Acquire, AssertSqlSafe, Column, ConnectOptions, Row, TypeInfo, ValueRef};

use super::guard::{Dialect, view_relations};
use super::relations::refusal;
use super::rows::{Cells, RowCollector};
use super::{BUSY_TIMEOUT, MAX_CONNECTIONS, Query, busy, denied, invalid, timed_out, unavailable};

/// SQLite virtual machine instructions between two checks of the time limit.
const CHECK_INTERVAL: i32 = 1_000;

/// How SQLite stores the beginning of the definition of a virtual table.
const VIRTUAL: &str = "create virtual";

/// Creates a pool of read-only connections, which are opened on demand.
pub(super) fn create_pool(url: &str) -> sqlx::Result<SqlitePool> {
    let options: SqliteConnectOptions = url.parse()?;
    let options = options.read_only(true).create_if_missing(false).busy_timeout(BUSY_TIMEOUT);
    // Statements and values must not be logged.
    let options = options.disable_statement_logging();
    // Views and other schema objects may only call functions without side effects.
    let options = options.pragma("query_only", "on").pragma("trusted_schema", "off").pragma("cache_size", "-1024");
    Ok(SqlitePoolOptions::new().max_connections(MAX_CONNECTIONS).acquire_timeout(BUSY_TIMEOUT).connect_lazy_with(options))
}

/// Runs a query in a transaction that is always rolled back.
pub(super) async fn read(pool: &SqlitePool, query: &Query<'_>, mut rows: RowCollector<'_>) -> Result<SqlReply, EffectError> {
    let failed = |it: sqlx::Error| map_error(&it, query);
    let mut connection = pool.acquire().await.map_err(|it| unavailable(&it))?;
    let _stop = limit_time(&mut connection, query.time).await.map_err(|it| unavailable(&it))?;
    let mut transaction = connection.begin().await.map_err(failed)?;
    check_views(&mut transaction, query).await?;
    // The guard has rendered this SQL itself.
    let sql = AssertSqlSafe(query.guarded.sql.clone());
    let mut stream = sqlx::query_with(sql, bind_arguments(query)?).fetch(&mut *transaction);
    while let Some(row) = stream.try_next().await.map_err(failed)? {
        if !rows.push(read_cells(&row).map_err(|error| invalid(format!("a row cannot be read: {error}")))?)? {
            break;
        }
    }
    drop(stream);
    transaction.rollback().await.map_err(failed)?;
    Ok(rows.into_reply())
}

/// Refuses a view or a virtual table that reads a table which the query may not read itself.
async fn check_views(connection: &mut SqliteConnection, query: &Query<'_>) -> Result<(), EffectError> {
    let views: Vec<(String, String)> =
        sqlx::query_as("select name, sql from sqlite_schema where sql is not null and (type = 'view' or sql like 'create virtual%')")
            .fetch_all(connection)
            .await
            .map_err(|it| map_error(&it, query))?;
    let (mut open, mut seen) = (query.guarded.relations.clone(), BTreeSet::new());
    while let Some(name) = open.pop_first() {
        if !seen.insert(name.clone()) {
            continue;
        }
        // SQLite folds only ASCII letters, so that several may have the name.
        for (_, definition) in views.iter().filter(|view| view.0.to_lowercase() == name) {
            let relations = relations_of(definition)
                .map_err(|reason| denied(format!("the view '{name}' is not allowed: what it reads is not clear ({reason})")))?;
            if let Some(reason) = relations.iter().find_map(|it| refusal(it, query.request.engine_tables)) {
                return Err(denied(format!("the view '{name}' is not allowed: {reason}")));
            }
            open.extend(relations);
        }
    }
    Ok(())
}

/// The relations that a definition reads; each word of a virtual table may be one, such as the content of an index for full texts.
fn relations_of(definition: &str) -> Result<BTreeSet<String>, String> {
    if !definition.get(..VIRTUAL.len()).is_some_and(|it| it.eq_ignore_ascii_case(VIRTUAL)) {
        return view_relations(definition, Dialect::Sqlite);
    }
    let words = definition.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|it| !it.is_empty());
    Ok(words.map(str::to_lowercase).collect())
}

fn bind_arguments(query: &Query<'_>) -> Result<SqliteArguments, EffectError> {
    let mut arguments = SqliteArguments::default();
    for (param, value) in query.guarded.params.iter().zip(&query.values) {
        bind_json(&mut arguments, value).map_err(|error| invalid(format!("the value of ':{}' cannot be used: {error}", param.name)))?;
    }
    Ok(arguments)
}

/// Interrupts the running query when dropped.
struct InterruptOnDrop(Arc<AtomicBool>);

impl Drop for InterruptOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Interrupts queries on a connection after `time` or when the returned guard is dropped.
async fn limit_time(connection: &mut SqliteConnection, time: Duration) -> sqlx::Result<InterruptOnDrop> {
    let end = Instant::now() + time;
    let stopped = Arc::new(AtomicBool::new(false));
    let stop = InterruptOnDrop(Arc::clone(&stopped));
    let may_continue = move || !stopped.load(Ordering::Relaxed) && Instant::now() < end;
    connection.lock_handle().await?.set_progress_handler(CHECK_INTERVAL, may_continue);
    Ok(stop)
}

pub(super) fn read_cells(row: &SqliteRow) -> sqlx::Result<Cells> {
    row.columns().iter().map(|column| Ok((column.name().to_owned(), decode_value(row, column.ordinal())?))).collect()
}

/// Converts a value by its own type: SQLite stores types with values, not columns.
fn decode_value(row: &SqliteRow, index: usize) -> sqlx::Result<Value> {
    let raw = row.try_get_raw(index)?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    let kind = raw.type_info().name().to_owned();
    Ok(match kind.as_str() {
        "INTEGER" => row.try_get_unchecked::<i64, _>(index)?.into(),
        "REAL" => {
            let number: f64 = row.try_get_unchecked(index)?;
            Number::from_f64(number).map_or_else(|| number.to_string().into(), Value::Number)
        }
        "BLOB" => STANDARD.encode(row.try_get_unchecked::<Vec<u8>, _>(index)?).into(),
        _ => {
            let bytes: Vec<u8> = row.try_get_unchecked(index)?;
            String::from_utf8_lossy(&bytes).into()
        }
    })
}

fn map_error(error: &sqlx::Error, query: &Query<'_>) -> EffectError {
    let sqlx::Error::Database(database) = error else { return unavailable(error) };
    // The lower byte is the primary result code; the rest extends it.
    let kind = database.code().and_then(|code| code.parse::<u32>().ok()).map_or(0, |code| code & 0xff);
    match kind {
        SQLITE_BUSY | SQLITE_LOCKED => busy(),
        SQLITE_INTERRUPT => timed_out(query.request),
        _ => EffectError::new(EffectErrorKind::Invalid, format!("the query cannot be run: {}", database.message())),
    }
}

/// Primary result codes of SQLite.
const SQLITE_BUSY: u32 = 5;
const SQLITE_LOCKED: u32 = 6;
const SQLITE_INTERRUPT: u32 = 9;
