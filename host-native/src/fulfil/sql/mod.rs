//! Executes SQL effects of tools: guarded, re-rendered, and run read-only.
//!
//! The layers of protection, strongest first: a read-only connection, a transaction with a time limit, the guard, values that are bound and
//! never rendered, and limits on rows and bytes.

mod forms;
mod functions;
pub mod guard;
pub mod lint;
mod postgres;
mod reprint;
mod rows;
mod sqlite;

use std::time::Duration;

use convengine_core::turn::{Answer, EffectError, EffectErrorKind, Reply, SqlReply, SqlRequest};
use serde_json::{Value, json};
use sqlx::postgres::PgPool;
use sqlx::sqlite::SqlitePool;

use crate::exit::Failure;
use crate::secrets::Secrets;
use crate::store::Place;
use guard::{Dialect, Guarded, Param, guard_with};
use rows::Rows;

/// Maximum number of concurrent queries.
const CONNECTIONS: u32 = 4;

/// Maximum wait for a connection or a lock.
const BUSY: Duration = Duration::from_secs(5);

/// The database that tools query, read-only.
#[derive(Debug)]
pub enum Queries {
    /// An SQLite file.
    Sqlite(SqlitePool),
    /// A PostgreSQL server.
    Postgres(PgPool),
}

impl Queries {
    /// Creates a connection pool for `sqlite:PATH` or `postgres://…`; connections are opened on demand.
    ///
    /// # Errors
    /// A usage failure for an invalid URL.
    pub fn at(url: &str) -> Result<Queries, Failure> {
        let place = Place { url: url.to_owned(), full_sync: false };
        let invalid_url = |it: sqlx::Error| {
            Failure::usage(format!("invalid database URL {:?}: {it}; use sqlite:PATH or postgres://…", place.shown()))
        };
        if place.is_postgres() {
            return Ok(Queries::Postgres(postgres::pool(url).map_err(invalid_url)?));
        }
        Ok(Queries::Sqlite(sqlite::pool(url).map_err(invalid_url)?))
    }

    /// Closes the pool after its connections are returned.
    pub async fn close(&self) {
        match self {
            Queries::Sqlite(pool) => pool.close().await,
            Queries::Postgres(pool) => pool.close().await,
        }
    }

    fn dialect(&self) -> Dialect {
        match self {
            Queries::Sqlite(_) => Dialect::Sqlite,
            Queries::Postgres(_) => Dialect::Postgres,
        }
    }
}

/// Executes a query.
pub async fn answer(queries: &Queries, secrets: &Secrets, request: &SqlRequest) -> Answer {
    match run(queries, secrets, request).await {
        Ok(reply) => Answer::Ok(Reply::Sql(reply)),
        Err(error) => Answer::Error(EffectError { message: secrets.scrub(&error.message).into_owned(), ..error }),
    }
}

async fn run(queries: &Queries, secrets: &Secrets, request: &SqlRequest) -> Result<SqlReply, EffectError> {
    let guarded = guard_with(&request.sql, queries.dialect(), request.safe, &request.params);
    let guarded = guarded.map_err(|it| EffectError::new(EffectErrorKind::Denied, it))?;
    let values = values(&guarded, request)?;
    let query = Query { guarded, values, request, time: Duration::from_millis(request.timeout_ms.into()) };
    let rows = Rows::new(request.max_rows, secrets);
    let read = async {
        match queries {
            Queries::Sqlite(pool) => sqlite::read(pool, &query, rows).await,
            Queries::Postgres(pool) => postgres::read(pool, &query, rows).await,
        }
    };
    tokio::time::timeout(query.time, read).await.unwrap_or_else(|_| Err(late(request)))
}

/// A query that passed the guard.
struct Query<'r> {
    guarded: Guarded,
    /// Parameter values in the order of their numbers.
    values: Vec<Value>,
    request: &'r SqlRequest,
    time: Duration,
}

/// Collects the parameter values in the statement's order; a single value of a list parameter becomes a list.
fn values(guarded: &Guarded, request: &SqlRequest) -> Result<Vec<Value>, EffectError> {
    let value = |Param { name, list }: &Param| {
        let value = request.params.get(name).ok_or_else(|| invalid(format!("the query needs a value for ':{name}': give '{name}'")))?;
        Ok(if *list && !value.is_array() { json!([value]) } else { value.clone() })
    };
    guarded.params.iter().map(value).collect()
}

fn unusable(error: &sqlx::Error) -> EffectError {
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

fn late(request: &SqlRequest) -> EffectError {
    EffectError::new(EffectErrorKind::Timeout, format!("the query took longer than {} ms", request.timeout_ms))
}

#[cfg(test)]
mod tests;
