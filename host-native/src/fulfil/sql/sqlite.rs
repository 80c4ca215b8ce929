//! Runs tool queries on an SQLite file.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use convengine_core::turn::{EffectError, EffectErrorKind, SqlReply};
use futures_util::TryStreamExt;
use serde_json::{Number, Value};
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection, SqlitePool, SqlitePoolOptions, SqliteRow};
use sqlx::{Acquire, AssertSqlSafe, Column, ConnectOptions, Row, TypeInfo, ValueRef};

use super::rows::{Cells, Rows};
use super::{BUSY, CONNECTIONS, Query, busy, invalid, late, unusable};
use crate::store::bind;

/// SQLite virtual machine instructions between two checks of the time limit.
const INSTRUCTIONS: i32 = 1_000;

/// Creates a pool of read-only connections, which are opened on demand.
pub(super) fn pool(url: &str) -> sqlx::Result<SqlitePool> {
    let options: SqliteConnectOptions = url.parse()?;
    let options = options.read_only(true).create_if_missing(false).busy_timeout(BUSY);
    // Statements and values must not be logged.
    let options = options.disable_statement_logging();
    // Views and other schema objects may only call functions without side effects.
    let options = options.pragma("query_only", "on").pragma("trusted_schema", "off").pragma("cache_size", "-1024");
    Ok(SqlitePoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(BUSY).connect_lazy_with(options))
}

/// Runs a query in a transaction that is always rolled back.
pub(super) async fn read(pool: &SqlitePool, query: &Query<'_>, mut rows: Rows<'_>) -> Result<SqlReply, EffectError> {
    let failed = |it: sqlx::Error| failed(&it, query);
    let mut connection = pool.acquire().await.map_err(|it| unusable(&it))?;
    let _stop = limit_time(&mut connection, query.time).await.map_err(|it| unusable(&it))?;
    let mut transaction = connection.begin().await.map_err(failed)?;
    // The guard has rendered this SQL itself.
    let sql = AssertSqlSafe(query.guarded.sql.clone());
    let mut stream = sqlx::query_with(sql, arguments(query)?).fetch(&mut *transaction);
    while let Some(row) = stream.try_next().await.map_err(failed)? {
        if !rows.take(cells(&row).map_err(|it| invalid(format!("a row cannot be read: {it}")))?)? {
            break;
        }
    }
    drop(stream);
    transaction.rollback().await.map_err(failed)?;
    Ok(rows.reply())
}

fn arguments(query: &Query<'_>) -> Result<SqliteArguments, EffectError> {
    let mut arguments = SqliteArguments::default();
    for (param, value) in query.guarded.params.iter().zip(&query.values) {
        bind(&mut arguments, value).map_err(|it| invalid(format!("the value of ':{}' cannot be used: {it}", param.name)))?;
    }
    Ok(arguments)
}

/// Interrupts the running query when dropped.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Interrupts queries on a connection after `time` or when the returned guard is dropped.
async fn limit_time(connection: &mut SqliteConnection, time: Duration) -> sqlx::Result<Stop> {
    let end = Instant::now() + time;
    let stopped = Arc::new(AtomicBool::new(false));
    let stop = Stop(Arc::clone(&stopped));
    let may_continue = move || !stopped.load(Ordering::Relaxed) && Instant::now() < end;
    connection.lock_handle().await?.set_progress_handler(INSTRUCTIONS, may_continue);
    Ok(stop)
}

pub(super) fn cells(row: &SqliteRow) -> sqlx::Result<Cells> {
    row.columns().iter().map(|it| Ok((it.name().to_owned(), value(row, it.ordinal())?))).collect()
}

/// Converts a value by its own type: SQLite stores types with values, not columns.
fn value(row: &SqliteRow, index: usize) -> sqlx::Result<Value> {
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

fn failed(error: &sqlx::Error, query: &Query<'_>) -> EffectError {
    let sqlx::Error::Database(it) = error else { return unusable(error) };
    // The lower byte is the primary result code; the rest extends it.
    let kind = it.code().and_then(|it| it.parse::<u32>().ok()).map_or(0, |it| it & 0xff);
    match kind {
        BUSY_CODE | LOCKED_CODE => busy(),
        INTERRUPT_CODE => late(query.request),
        _ => EffectError::new(EffectErrorKind::Invalid, format!("the query cannot be run: {}", it.message())),
    }
}

/// Primary result codes of SQLite.
const BUSY_CODE: u32 = 5;
const LOCKED_CODE: u32 = 6;
const INTERRUPT_CODE: u32 = 9;
