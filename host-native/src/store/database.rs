//! Abstraction over SQLite and PostgreSQL: statements in both dialects, bound values, and result rows.
//!
//! Both dialects of a statement return the same columns with the same types, so callers do not depend on the database.

use std::io;
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnection, PgPool, PgRow, Postgres};
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{Connection as _, Row as _};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

/// The timeout of a pool statement on PostgreSQL.
const LIMIT: Duration = Duration::from_secs(30);

/// An SQL statement in both dialects.
#[derive(Debug, Clone, Copy)]
pub struct Statement {
    sqlite: &'static str,
    postgres: &'static str,
}

impl Statement {
    /// Creates a statement that is valid in both dialects.
    pub const fn both(sql: &'static str) -> Statement {
        Statement { sqlite: sql, postgres: sql }
    }

    /// Creates a statement with one text per dialect.
    pub const fn of(sqlite: &'static str, postgres: &'static str) -> Statement {
        Statement { sqlite, postgres }
    }
}

/// A bound parameter; the first is `$1`.
#[derive(Debug, Clone, Copy)]
pub enum Value<'v> {
    /// A text.
    Text(&'v str),
    /// A text, or null.
    Maybe(Option<&'v str>),
    /// A number.
    Int(i64),
    /// Bytes.
    Bytes(&'v [u8]),
}

/// A connection pool.
#[derive(Debug, Clone)]
pub enum Pool {
    /// An SQLite file.
    Sqlite(SqlitePool),
    /// A PostgreSQL server.
    Postgres(PgPool),
}

/// A dedicated connection.
#[derive(Debug)]
pub enum Connection {
    /// An SQLite file.
    Sqlite(Box<SqliteConnection>),
    /// A PostgreSQL server.
    Postgres(Box<PgConnection>),
}

impl Pool {
    /// Fetches all rows.
    pub(super) async fn all(&self, statement: &Statement, values: &[Value<'_>]) -> sqlx::Result<Vec<Row>> {
        match self {
            Pool::Sqlite(pool) => Ok(sqlite(statement, values).fetch_all(pool).await?.into_iter().map(Row::Sqlite).collect()),
            Pool::Postgres(pool) => {
                let mut connection = pool.acquire().await?;
                let result = timeout(LIMIT, postgres(statement, values).fetch_all(&mut *connection)).await;
                Ok(in_time(connection, result)?.into_iter().map(Row::Postgres).collect())
            }
        }
    }

    /// Fetches the first row, if any.
    pub(super) async fn first(&self, statement: &Statement, values: &[Value<'_>]) -> sqlx::Result<Option<Row>> {
        match self {
            Pool::Sqlite(pool) => Ok(sqlite(statement, values).fetch_optional(pool).await?.map(Row::Sqlite)),
            Pool::Postgres(pool) => {
                let mut connection = pool.acquire().await?;
                let result = timeout(LIMIT, postgres(statement, values).fetch_optional(&mut *connection)).await;
                Ok(in_time(connection, result)?.map(Row::Postgres))
            }
        }
    }

    /// Fetches the first row of a read-modify-write statement, serialized by a named advisory lock. SQLite has a single writer and needs no
    /// lock.
    pub(super) async fn first_alone(&self, lock: &str, statement: &Statement, values: &[Value<'_>]) -> sqlx::Result<Option<Row>> {
        let Pool::Postgres(pool) = self else { return self.first(statement, values).await };
        let mut connection = pool.acquire().await?;
        let result = timeout(LIMIT, alone(&mut connection, lock, statement, values)).await;
        Ok(in_time(connection, result)?.map(Row::Postgres))
    }

    /// Executes a statement. Returns the number of affected rows.
    pub(super) async fn run(&self, statement: &Statement, values: &[Value<'_>]) -> sqlx::Result<u64> {
        match self {
            Pool::Sqlite(pool) => Ok(sqlite(statement, values).execute(pool).await?.rows_affected()),
            Pool::Postgres(pool) => {
                let mut connection = pool.acquire().await?;
                let result = timeout(LIMIT, postgres(statement, values).execute(&mut *connection)).await;
                Ok(in_time(connection, result)?.rows_affected())
            }
        }
    }

    /// Closes the pool after all connections are returned.
    pub async fn close(&self) {
        match self {
            Pool::Sqlite(pool) => pool.close().await,
            Pool::Postgres(pool) => pool.close().await,
        }
    }

    /// Returns whether several processes may serve the database at once.
    pub fn is_shared(&self) -> bool {
        matches!(self, Pool::Postgres(_))
    }
}

/// Takes the lock in a statement of its own, so that the actual statement sees what previous lock holders have written.
async fn alone(connection: &mut PgConnection, lock: &str, statement: &Statement, values: &[Value<'_>]) -> sqlx::Result<Option<PgRow>> {
    let mut transaction = connection.begin().await?;
    let taken = sqlx::query("select pg_advisory_xact_lock(726174654, hashtext($1))").bind(lock.to_owned());
    taken.execute(&mut *transaction).await?;
    let row = postgres(statement, values).fetch_optional(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(row)
}

/// Unwraps a timed result. After a timeout the connection is discarded, because its server may be unreachable.
fn in_time<T>(mut connection: PoolConnection<Postgres>, result: Result<sqlx::Result<T>, Elapsed>) -> sqlx::Result<T> {
    result.unwrap_or_else(|_| {
        connection.close_on_drop();
        Err(sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, "the database did not answer in time")))
    })
}

impl Connection {
    /// Fetches all rows.
    pub(super) async fn all(&mut self, statement: &Statement, values: &[Value<'_>]) -> sqlx::Result<Vec<Row>> {
        match self {
            Connection::Sqlite(to) => Ok(sqlite(statement, values).fetch_all(to.as_mut()).await?.into_iter().map(Row::Sqlite).collect()),
            Connection::Postgres(to) => {
                Ok(postgres(statement, values).fetch_all(to.as_mut()).await?.into_iter().map(Row::Postgres).collect())
            }
        }
    }

    /// Fetches the first row, if any.
    pub(super) async fn first(&mut self, statement: &Statement, values: &[Value<'_>]) -> sqlx::Result<Option<Row>> {
        match self {
            Connection::Sqlite(to) => Ok(sqlite(statement, values).fetch_optional(to.as_mut()).await?.map(Row::Sqlite)),
            Connection::Postgres(to) => Ok(postgres(statement, values).fetch_optional(to.as_mut()).await?.map(Row::Postgres)),
        }
    }

    /// Executes a statement. Returns the number of affected rows.
    pub(super) async fn run(&mut self, statement: &Statement, values: &[Value<'_>]) -> sqlx::Result<u64> {
        match self {
            Connection::Sqlite(to) => Ok(sqlite(statement, values).execute(to.as_mut()).await?.rows_affected()),
            Connection::Postgres(to) => Ok(postgres(statement, values).execute(to.as_mut()).await?.rows_affected()),
        }
    }

    /// Begins a write transaction.
    ///
    /// # Errors
    /// Returns any database error, such as a lock timeout.
    pub async fn begin(&mut self) -> sqlx::Result<()> {
        self.run(&Statement::of("begin immediate", "begin"), &[]).await.map(|_| ())
    }

    /// Commits the transaction.
    ///
    /// # Errors
    /// Returns any database error; the transaction may then still be open.
    pub async fn commit(&mut self) -> sqlx::Result<()> {
        self.run(&Statement::both("commit"), &[]).await.map(|_| ())
    }

    /// Rolls the transaction back.
    ///
    /// # Errors
    /// Returns any database error.
    pub async fn rollback(&mut self) -> sqlx::Result<()> {
        self.run(&Statement::both("rollback"), &[]).await.map(|_| ())
    }

    /// Closes the connection.
    ///
    /// # Errors
    /// Returns any database error.
    pub async fn close(self) -> sqlx::Result<()> {
        match self {
            Connection::Sqlite(it) => it.close().await,
            Connection::Postgres(it) => it.close().await,
        }
    }
}

type SqliteQuery<'v> = Query<'v, Sqlite, SqliteArguments>;
type PostgresQuery<'v> = Query<'v, Postgres, PgArguments>;

fn sqlite<'v>(statement: &Statement, values: &[Value<'v>]) -> SqliteQuery<'v> {
    values.iter().fold(sqlx::query(statement.sqlite), |query, value| match value {
        Value::Text(it) => query.bind((*it).to_owned()),
        Value::Maybe(it) => query.bind(it.map(str::to_owned)),
        Value::Int(it) => query.bind(*it),
        Value::Bytes(it) => query.bind(it.to_vec()),
    })
}

fn postgres<'v>(statement: &Statement, values: &[Value<'v>]) -> PostgresQuery<'v> {
    values.iter().fold(sqlx::query(statement.postgres), |query, value| match value {
        Value::Text(it) => query.bind((*it).to_owned()),
        Value::Maybe(it) => query.bind(it.map(str::to_owned)),
        Value::Int(it) => query.bind(*it),
        Value::Bytes(it) => query.bind(it.to_vec()),
    })
}

/// A result row of either database.
#[derive(Debug)]
pub enum Row {
    /// An SQLite row.
    Sqlite(SqliteRow),
    /// A PostgreSQL row.
    Postgres(PgRow),
}

impl Row {
    /// A text, or null.
    pub(super) fn maybe(&self, column: &str) -> sqlx::Result<Option<String>> {
        match self {
            Row::Sqlite(row) => row.try_get(column),
            Row::Postgres(row) => row.try_get(column),
        }
    }

    /// A text.
    pub(super) fn text(&self, column: &str) -> sqlx::Result<String> {
        match self {
            Row::Sqlite(row) => row.try_get(column),
            Row::Postgres(row) => row.try_get(column),
        }
    }

    /// An integer; `bigint` on PostgreSQL.
    pub(super) fn int(&self, column: &str) -> sqlx::Result<i64> {
        match self {
            Row::Sqlite(row) => row.try_get(column),
            Row::Postgres(row) => row.try_get(column),
        }
    }

    /// An integer or null; `bigint` on PostgreSQL.
    pub(super) fn maybe_int(&self, column: &str) -> sqlx::Result<Option<i64>> {
        match self {
            Row::Sqlite(row) => row.try_get(column),
            Row::Postgres(row) => row.try_get(column),
        }
    }

    /// A float; `double precision` on PostgreSQL.
    pub(super) fn real(&self, column: &str) -> sqlx::Result<f64> {
        match self {
            Row::Sqlite(row) => row.try_get(column),
            Row::Postgres(row) => row.try_get(column),
        }
    }

    /// A Boolean.
    pub(super) fn flag(&self, column: &str) -> sqlx::Result<bool> {
        match self {
            Row::Sqlite(row) => row.try_get(column),
            Row::Postgres(row) => row.try_get(column),
        }
    }

    /// Bytes.
    pub(super) fn bytes(&self, column: &str) -> sqlx::Result<Vec<u8>> {
        match self {
            Row::Sqlite(row) => row.try_get(column),
            Row::Postgres(row) => row.try_get(column),
        }
    }
}
