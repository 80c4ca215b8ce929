//! Executes SQL effects of tools: guarded, re-rendered, and run read-only.
//!
//! The layers of protection, strongest first: a read-only connection, a transaction with a time limit, the guard, values that are bound and
//! never rendered, and limits on rows and bytes.

mod ast_policy;
mod functions;
pub mod guard;
pub mod lint;
mod postgres;
mod relations;
mod render;
mod rows;
mod sqlite;

use std::time::Duration;

use convengine_core::turn::{EffectError, EffectErrorKind, EffectResult, Reply, SqlReply, SqlRequest};
use serde_json::{Value, json};
use sqlx::postgres::PgPool;
use sqlx::sqlite::SqlitePool;

use convengine_host_base::exit::Failure;
use convengine_settings::secrets::Secrets;
use convengine_storage::DatabaseConfig;
use guard::{Dialect, GuardedQuery, Param, Permissions, guard_with_values};
use rows::RowCollector;

/// Maximum number of concurrent queries.
const MAX_CONNECTIONS: u32 = 4;

/// Maximum wait for a connection or a lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The database that tools query, read-only.
#[derive(Debug)]
pub enum ToolDatabase {
    /// An SQLite file.
    Sqlite(SqlitePool),
    /// A PostgreSQL server.
    Postgres(PgPool),
}

impl ToolDatabase {
    /// Creates a connection pool for `sqlite:PATH` or `postgres://…`; connections are opened on demand.
    ///
    /// # Errors
    /// A usage failure for an invalid URL.
    pub fn from_url(url: &str) -> Result<ToolDatabase, Failure> {
        let place = DatabaseConfig { url: url.to_owned(), full_sync: false };
        let invalid_url = |error: sqlx::Error| {
            Failure::invalid_usage(format!("invalid database URL {:?}: {error}; use sqlite:PATH or postgres://…", place.redacted_url()))
        };
        if place.is_postgres() {
            return Ok(ToolDatabase::Postgres(postgres::create_pool(url).map_err(invalid_url)?));
        }
        Ok(ToolDatabase::Sqlite(sqlite::create_pool(url).map_err(invalid_url)?))
    }

    /// Closes the pool after its connections are returned.
    pub async fn close(&self) {
        match self {
            ToolDatabase::Sqlite(pool) => pool.close().await,
            ToolDatabase::Postgres(pool) => pool.close().await,
        }
    }

    fn dialect(&self) -> Dialect {
        match self {
            ToolDatabase::Sqlite(_) => Dialect::Sqlite,
            ToolDatabase::Postgres(_) => Dialect::Postgres,
        }
    }
}

/// Executes a query.
pub async fn execute(queries: &ToolDatabase, secrets: &Secrets, request: &SqlRequest) -> EffectResult {
    match run(queries, secrets, request).await {
        Ok(reply) => EffectResult::Ok(Reply::Sql(reply)),
        Err(error) => EffectResult::Error(EffectError { message: secrets.scrub(&error.message).into_owned(), ..error }),
    }
}

async fn run(queries: &ToolDatabase, secrets: &Secrets, request: &SqlRequest) -> Result<SqlReply, EffectError> {
    let permissions =
        Permissions { safe: request.safe, engine_tables: request.engine_tables, repaired_from: request.repaired_from.as_deref() };
    let guarded = guard_with_values(&request.sql, queries.dialect(), permissions, &request.params);
    let guarded = guarded.map_err(denied)?;
    let values = collect_values(&guarded, request)?;
    let query = Query { guarded, values, request, time: Duration::from_millis(request.timeout_ms.into()) };
    let rows = RowCollector::new(request.max_rows, secrets);
    let read = async {
        match queries {
            ToolDatabase::Sqlite(pool) => sqlite::read(pool, &query, rows).await,
            ToolDatabase::Postgres(pool) => postgres::read(pool, &query, rows).await,
        }
    };
    tokio::time::timeout(query.time, read).await.unwrap_or_else(|_| Err(timed_out(request)))
}

/// A query that passed the guard.
struct Query<'r> {
    guarded: GuardedQuery,
    /// Parameter values in the order of their numbers.
    values: Vec<Value>,
    request: &'r SqlRequest,
    time: Duration,
}

/// Collects the parameter values in the statement's order; a single value of a list parameter becomes a list.
fn collect_values(guarded: &GuardedQuery, request: &SqlRequest) -> Result<Vec<Value>, EffectError> {
    let value = |Param { name, list }: &Param| {
        let value = request.params.get(name).ok_or_else(|| invalid(format!("the query needs a value for ':{name}': give '{name}'")))?;
        Ok(if *list && !value.is_array() { json!([value]) } else { value.clone() })
    };
    guarded.params.iter().map(value).collect()
}

fn denied(message: String) -> EffectError {
    EffectError::new(EffectErrorKind::Denied, message)
}

fn unavailable(error: &sqlx::Error) -> EffectError {
    let reason = match error {
        sqlx::Error::Database(it) => it.message().to_owned(),
        sqlx::Error::PoolTimedOut => "too many queries wait".to_owned(),
        other => other.to_string(),
    };
    EffectError::new(EffectErrorKind::Unavailable, format!("the database of tools cannot be used: {reason}"))
}

fn busy() -> EffectError {
    EffectError::new(EffectErrorKind::Unavailable, "the database of tools is busy")
}

fn invalid(message: String) -> EffectError {
    EffectError::new(EffectErrorKind::Invalid, message)
}

fn timed_out(request: &SqlRequest) -> EffectError {
    EffectError::new(
        EffectErrorKind::Timeout,
        format!("the query took longer than {} ms; convengine.tools.sql-timeout is the limit", request.timeout_ms),
    )
}

#[cfg(test)]
mod tests;
