//! Abstraction over SQLite and PostgreSQL: pools and connections that execute statements.
//!
//! Both dialects of a statement return the same columns with the same types, so callers do not depend on the database.

use std::io;
use std::sync::Arc;

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnection, Postgres};
use sqlx::sqlite::{Sqlite, SqliteConnection};
use sqlx::{Arguments as _, Connection as _};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::class_pool::ClassPool;
use super::database_row::DatabaseRow;
use super::postgres::PostgresReaders;
use super::rows::{Column, RowStatement, Rows, Step, with_last};
use super::sqlite::{LocalSqlite, SqliteReaders};
use super::statement::{STATEMENT_TIMEOUT, SqlValue, Statement, postgres_query, sqlite_query};

/// Connection pools, of which work uses the one of its class. The futures of `sqlx` are large and have boxes of their own, because callers' futures would contain them.
#[derive(Debug, Clone)]
pub enum Pool {
    /// An SQLite file, with the connections for what a turn reads.
    Sqlite(ClassPool<Sqlite>, Arc<SqliteReaders>),
    /// A PostgreSQL server, with the connections for what a turn reads.
    Postgres(ClassPool<Postgres>, Arc<PostgresReaders>),
}

/// A dedicated connection.
#[derive(Debug)]
pub enum Connection {
    /// An SQLite file.
    Sqlite(Box<SqliteConnection>),
    /// An SQLite file, used on the calling thread.
    LocalSqlite(Box<LocalSqlite>),
    /// A PostgreSQL server.
    Postgres(Box<PgConnection>),
}

impl Pool {
    /// Fetches all rows.
    pub(super) async fn fetch_all(&self, statement: &Statement, values: &[SqlValue<'_>]) -> sqlx::Result<Vec<DatabaseRow>> {
        match self {
            Pool::Sqlite(pool, _) => {
                let mut connection = pool.acquire().await?;
                let found = Box::pin(sqlite_query(statement, values).fetch_all(&mut *connection)).await?;
                Ok(found.into_iter().map(DatabaseRow::Sqlite).collect())
            }
            Pool::Postgres(pool, _) => {
                let mut connection = pool.acquire().await?;
                let result = timeout(STATEMENT_TIMEOUT, Box::pin(postgres_query(statement, values).fetch_all(&mut *connection))).await;
                Ok(check_timeout(connection, result)?.into_iter().map(DatabaseRow::Postgres).collect())
            }
        }
    }

    /// Fetches the first row, if any.
    pub(super) async fn fetch_optional(&self, statement: &Statement, values: &[SqlValue<'_>]) -> sqlx::Result<Option<DatabaseRow>> {
        match self {
            Pool::Sqlite(pool, _) => {
                let mut connection = pool.acquire().await?;
                Ok(Box::pin(sqlite_query(statement, values).fetch_optional(&mut *connection)).await?.map(DatabaseRow::Sqlite))
            }
            Pool::Postgres(pool, _) => {
                let mut connection = pool.acquire().await?;
                let result = timeout(STATEMENT_TIMEOUT, Box::pin(postgres_query(statement, values).fetch_optional(&mut *connection))).await;
                Ok(check_timeout(connection, result)?.map(DatabaseRow::Postgres))
            }
        }
    }

    /// Fetches the first row of what a turn reads by its key, if any: on SQLite on the calling thread, on PostgreSQL without a ping before or
    /// after and without planning it each time.
    pub(super) async fn load_row(&self, statement: &Statement, values: &[SqlValue<'_>]) -> sqlx::Result<Option<DatabaseRow>> {
        match self {
            Pool::Sqlite(_, readers) => Ok(readers.fetch_optional(statement.sqlite, values)?.map(DatabaseRow::LocalSqlite)),
            Pool::Postgres(_, readers) => Ok(readers.fetch_optional(statement, values).await?.map(DatabaseRow::Postgres)),
        }
    }

    /// Executes a statement. Returns the number of affected rows.
    pub(super) async fn execute(&self, statement: &Statement, values: &[SqlValue<'_>]) -> sqlx::Result<u64> {
        match self {
            Pool::Sqlite(pool, _) => {
                let mut connection = pool.acquire().await?;
                Ok(Box::pin(sqlite_query(statement, values).execute(&mut *connection)).await?.rows_affected())
            }
            Pool::Postgres(pool, _) => {
                let mut connection = pool.acquire().await?;
                let result = timeout(STATEMENT_TIMEOUT, Box::pin(postgres_query(statement, values).execute(&mut *connection))).await;
                Ok(check_timeout(connection, result)?.rows_affected())
            }
        }
    }

    /// Closes the pool after all connections are returned.
    pub async fn close(&self) {
        match self {
            Pool::Sqlite(pool, readers) => {
                readers.close();
                pool.close().await;
            }
            Pool::Postgres(pool, readers) => {
                readers.close().await;
                pool.close().await;
            }
        }
    }

    /// Returns whether several processes may serve the database at once.
    pub fn is_shared(&self) -> bool {
        matches!(self, Pool::Postgres(..))
    }
}

/// Unwraps a timed result. After a timeout the connection is discarded, because its server may be unreachable.
fn check_timeout<T>(mut connection: PoolConnection<Postgres>, result: Result<sqlx::Result<T>, Elapsed>) -> sqlx::Result<T> {
    result.unwrap_or_else(|_| {
        connection.close_on_drop();
        Err(sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, "the database did not answer in time")))
    })
}

impl Connection {
    /// Fetches all rows.
    pub(super) async fn fetch_all(&mut self, statement: &Statement, values: &[SqlValue<'_>]) -> sqlx::Result<Vec<DatabaseRow>> {
        match self {
            Connection::Sqlite(to) => {
                Ok(Box::pin(sqlite_query(statement, values).fetch_all(to.as_mut())).await?.into_iter().map(DatabaseRow::Sqlite).collect())
            }
            Connection::LocalSqlite(to) => {
                Ok(to.fetch(statement.sqlite, values, usize::MAX)?.into_iter().map(DatabaseRow::LocalSqlite).collect())
            }
            Connection::Postgres(to) => Ok(Box::pin(postgres_query(statement, values).fetch_all(to.as_mut()))
                .await?
                .into_iter()
                .map(DatabaseRow::Postgres)
                .collect()),
        }
    }

    /// Fetches the first row, if any.
    pub(super) async fn fetch_optional(&mut self, statement: &Statement, values: &[SqlValue<'_>]) -> sqlx::Result<Option<DatabaseRow>> {
        match self {
            Connection::Sqlite(to) => {
                Ok(Box::pin(sqlite_query(statement, values).fetch_optional(to.as_mut())).await?.map(DatabaseRow::Sqlite))
            }
            Connection::LocalSqlite(to) => Ok(to.fetch(statement.sqlite, values, 1)?.into_iter().next().map(DatabaseRow::LocalSqlite)),
            Connection::Postgres(to) => {
                Ok(Box::pin(postgres_query(statement, values).fetch_optional(to.as_mut())).await?.map(DatabaseRow::Postgres))
            }
        }
    }

    /// Executes a statement. Returns the number of affected rows.
    pub(super) async fn execute(&mut self, statement: &Statement, values: &[SqlValue<'_>]) -> sqlx::Result<u64> {
        match self {
            Connection::Sqlite(to) => Ok(Box::pin(sqlite_query(statement, values).execute(to.as_mut())).await?.rows_affected()),
            Connection::LocalSqlite(to) => to.execute(statement.sqlite, values),
            Connection::Postgres(to) => Ok(Box::pin(postgres_query(statement, values).execute(to.as_mut())).await?.rows_affected()),
        }
    }

    /// Executes a statement for rows. Returns the number of affected rows. `last` has the values of a last column that the rows lack.
    pub async fn execute_rows(&mut self, statement: &RowStatement, rows: &Rows, last: Option<&[Option<i64>]>) -> sqlx::Result<u64> {
        match self {
            Connection::Sqlite(to) => {
                let mut written = 0;
                let sql = Statement::portable(statement.sqlite);
                for (index, row) in rows.iter().enumerate() {
                    let values: Vec<SqlValue<'_>> = with_last(row, last, index).take(statement.columns.len()).collect();
                    written += Box::pin(sqlite_query(&sql, &values).execute(to.as_mut())).await?.rows_affected();
                }
                Ok(written)
            }
            Connection::LocalSqlite(to) => to.execute_rows(statement, rows, last),
            Connection::Postgres(to) => {
                let mut values = PgArguments::default();
                bind_columns(&mut values, statement, rows, last)?;
                Ok(Box::pin(sqlx::query_with(statement.postgres, values).execute(to.as_mut())).await?.rows_affected())
            }
        }
    }

    /// Executes joined statements of PostgreSQL.
    pub(super) async fn execute_at_once(&mut self, sql: &str, steps: &[Step<'_>]) -> sqlx::Result<()> {
        let Connection::Postgres(to) = self else { return Err(sqlx::Error::Configuration("SQLite cannot join statements".into())) };
        let mut values = PgArguments::default();
        for step in steps {
            bind_columns(&mut values, step.statement, step.rows, step.last.as_deref())?;
        }
        // The text is joined from literals and counts.
        Box::pin(sqlx::query_with(sqlx::AssertSqlSafe(sql), values).fetch_optional(to.as_mut())).await.map(drop)
    }

    /// Begins a write transaction.
    ///
    /// # Errors
    /// Returns any database error, such as a lock timeout.
    pub async fn begin(&mut self) -> sqlx::Result<()> {
        self.execute(&Statement::per_dialect("begin immediate", "begin"), &[]).await.map(|_| ())
    }

    /// Begins a read transaction, in which every statement sees the database as it was at the first one, whatever others commit meanwhile.
    /// It ends with [`rollback`](Self::rollback) or with the connection.
    pub async fn begin_read(&mut self) -> sqlx::Result<()> {
        let sql = Statement::per_dialect("begin deferred", "begin transaction isolation level repeatable read, read only");
        self.execute(&sql, &[]).await.map(|_| ())
    }

    /// Commits the transaction.
    ///
    /// # Errors
    /// Returns any database error; the transaction may then still be open.
    pub async fn commit(&mut self) -> sqlx::Result<()> {
        self.execute(&Statement::portable("commit"), &[]).await.map(|_| ())
    }

    /// Rolls the transaction back.
    pub async fn rollback(&mut self) -> sqlx::Result<()> {
        self.execute(&Statement::portable("rollback"), &[]).await.map(|_| ())
    }

    /// Checks that the database answers.
    pub async fn ping(&mut self) -> sqlx::Result<()> {
        match self {
            Connection::Sqlite(it) => it.ping().await,
            // Each statement reports its errors itself.
            Connection::LocalSqlite(_) => Ok(()),
            Connection::Postgres(it) => it.ping().await,
        }
    }

    /// Closes the connection.
    pub async fn close(self) -> sqlx::Result<()> {
        match self {
            Connection::Sqlite(it) => it.close().await,
            Connection::LocalSqlite(it) => it.close(),
            Connection::Postgres(it) => it.close().await,
        }
    }
}

/// Returns the error for what a connection on the calling thread cannot do.
pub(super) fn writes_turns_only() -> sqlx::Error {
    sqlx::Error::Configuration("the connection is for the rows of turns only".into())
}

/// Binds the columns that a statement needs, each as an array.
fn bind_columns(values: &mut PgArguments, statement: &RowStatement, rows: &Rows, last: Option<&[Option<i64>]>) -> sqlx::Result<()> {
    for (index, column) in statement.columns.iter().enumerate() {
        let bound = match (column, last) {
            (_, Some(last)) if index + 1 == statement.columns.len() => values.add(last),
            (Column::Text, _) => values.add(rows.postgres_texts(index, false)),
            (Column::Json, _) => values.add(rows.postgres_texts(index, true)),
            (Column::Integer, _) => values.add(rows.integers(index)),
            (Column::Bytes, _) => values.add(rows.bytes(index)),
        };
        bound.map_err(sqlx::Error::Encode)?;
    }
    Ok(())
}
