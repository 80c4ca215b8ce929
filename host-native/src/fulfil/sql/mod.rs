//! Queries of tools: guarded, printed anew, and run where nothing can be written.
//!
//! The layers, the strongest first: a connection that is opened for reading only, a transaction with an end in time, the guard,
//! values that are bound and never printed, and limits of rows and bytes.

mod forms;
mod functions;
pub mod guard;
pub mod lint;
mod reprint;
mod rows;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use convengine_core::turn::{Answer, EffectError, EffectErrorKind, Reply, SqlReply, SqlRequest};
use futures_util::TryStreamExt;
use serde_json::json;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection, SqlitePool, SqlitePoolOptions};
use sqlx::{Acquire, AssertSqlSafe, ConnectOptions};

use crate::exit::Failure;
use crate::secrets::Secrets;
use crate::store::bind;
use guard::{Dialect, Guarded, Param, guard};
use rows::Rows;

/// Queries that run at the same time.
const CONNECTIONS: u32 = 4;

/// Instructions of SQLite between two looks at the clock.
const INSTRUCTIONS: i32 = 1_000;

/// How long a query waits for a connection or a lock.
const BUSY: Duration = Duration::from_secs(5);

/// The database that tools ask, for reading only.
#[derive(Debug)]
pub struct Queries {
    pool: SqlitePool,
    dialect: Dialect,
}

impl Queries {
    /// Prepares the connections to `sqlite:PATH`; none is opened before it is needed.
    ///
    /// # Errors
    /// An address that cannot be read.
    pub fn at(url: &str) -> Result<Queries, Failure> {
        let options: SqliteConnectOptions =
            url.parse().map_err(|it| Failure::usage(format!("cannot read the database address {url:?}: {it}: write sqlite:PATH")))?;
        let options = options.read_only(true).create_if_missing(false).busy_timeout(BUSY);
        // Statements and values are nothing for a log.
        let options = options.disable_statement_logging();
        // What stands in the schema, such as a view, may call functions without effect only.
        let options = options.pragma("query_only", "on").pragma("trusted_schema", "off").pragma("cache_size", "-1024");
        let pool = SqlitePoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(BUSY).connect_lazy_with(options);
        Ok(Queries { pool, dialect: Dialect::Sqlite })
    }

    /// Closes the connections, once none is used any more.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

/// Answers a query.
pub async fn answer(queries: &Queries, secrets: &Secrets, request: &SqlRequest) -> Answer {
    match run(queries, secrets, request).await {
        Ok(reply) => Answer::Ok(Reply::Sql(reply)),
        Err(error) => Answer::Error(EffectError { message: secrets.scrub(&error.message).into_owned(), ..error }),
    }
}

async fn run(queries: &Queries, secrets: &Secrets, request: &SqlRequest) -> Result<SqlReply, EffectError> {
    let guarded = guard(&request.sql, queries.dialect, request.safe).map_err(|it| EffectError::new(EffectErrorKind::Denied, it))?;
    let arguments = arguments(&guarded, request)?;
    let time = Duration::from_millis(request.timeout_ms.into());
    let read = async {
        let mut connection = queries.pool.acquire().await.map_err(|it| unusable(&it))?;
        let _stop = limit_time(&mut connection, time).await.map_err(|it| unusable(&it))?;
        let mut transaction = connection.begin().await.map_err(|it| failed(&it, request))?;
        let mut found = Rows::new(request.max_rows, secrets);
        // The guard has printed the text itself.
        let mut stream = sqlx::query_with(AssertSqlSafe(guarded.sql), arguments).fetch(&mut *transaction);
        while let Some(row) = stream.try_next().await.map_err(|it| failed(&it, request))? {
            if !found.take(&row)? {
                break;
            }
        }
        drop(stream);
        transaction.rollback().await.map_err(|it| failed(&it, request))?;
        Ok(found.reply())
    };
    tokio::time::timeout(time, read).await.unwrap_or_else(|_| Err(late(request)))
}

/// What the statement names, in its order.
fn arguments(guarded: &Guarded, request: &SqlRequest) -> Result<SqliteArguments, EffectError> {
    let invalid = |message: String| EffectError::new(EffectErrorKind::Invalid, message);
    let mut arguments = SqliteArguments::default();
    for Param { name, list } in &guarded.params {
        let value = request.params.get(name).ok_or_else(|| invalid(format!("the query needs a value for ':{name}': give '{name}'")))?;
        let added = if *list && !value.is_array() { bind(&mut arguments, &json!([value])) } else { bind(&mut arguments, value) };
        added.map_err(|it| invalid(format!("the value of ':{name}' cannot be used: {it}")))?;
    }
    Ok(arguments)
}

/// Tells a running query to end when it is dropped.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Ends what runs on a connection when the time is over or nobody waits for it any more.
async fn limit_time(connection: &mut SqliteConnection, time: Duration) -> sqlx::Result<Stop> {
    let end = Instant::now() + time;
    let stopped = Arc::new(AtomicBool::new(false));
    let stop = Stop(Arc::clone(&stopped));
    let goes_on = move || !stopped.load(Ordering::Relaxed) && Instant::now() < end;
    connection.lock_handle().await?.set_progress_handler(INSTRUCTIONS, goes_on);
    Ok(stop)
}

fn unusable(error: &sqlx::Error) -> EffectError {
    let reason = match error {
        sqlx::Error::Database(it) => it.message().to_owned(),
        sqlx::Error::PoolTimedOut => "too many queries wait".to_owned(),
        other => other.to_string(),
    };
    EffectError::new(EffectErrorKind::Unavailable, format!("the database of tools cannot be used: {reason}"))
}

fn failed(error: &sqlx::Error, request: &SqlRequest) -> EffectError {
    let sqlx::Error::Database(it) = error else { return unusable(error) };
    // The lower byte is the kind; the rest says more about it.
    let kind = it.code().and_then(|it| it.parse::<u32>().ok()).map_or(0, |it| it & 0xff);
    match kind {
        BUSY_CODE | LOCKED_CODE => EffectError::new(EffectErrorKind::Unavailable, "the database of tools is busy"),
        INTERRUPT_CODE => late(request),
        _ => EffectError::new(EffectErrorKind::Invalid, format!("the query cannot be run: {}", it.message())),
    }
}

/// Result codes of SQLite.
const BUSY_CODE: u32 = 5;
const LOCKED_CODE: u32 = 6;
const INTERRUPT_CODE: u32 = 9;

fn late(request: &SqlRequest) -> EffectError {
    EffectError::new(EffectErrorKind::Timeout, format!("the query took longer than {} ms", request.timeout_ms))
}

#[cfg(test)]
mod tests;
