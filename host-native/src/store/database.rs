//! The two databases behind one face: a statement in both dialects, its values, and the rows that come back.
//!
//! A statement of `store/` gives both databases the same columns of the same kinds, so that whoever reads the rows need not know where
//! they come from.

use std::io;
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnection, PgPool, PgRow, Postgres};
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{Connection as _, Row as _};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

/// How long a statement that only reads, or writes a row or two, may take on a server.
const LIMIT: Duration = Duration::from_secs(30);

/// One statement, as each database writes it.
#[derive(Debug, Clone, Copy)]
pub struct Statement {
    sqlite: &'static str,
    postgres: &'static str,
}

impl Statement {
    /// A statement that both databases read alike.
    pub const fn both(sql: &'static str) -> Statement {
        Statement { sqlite: sql, postgres: sql }
    }

    /// A statement in each dialect.
    pub const fn of(sqlite: &'static str, postgres: &'static str) -> Statement {
        Statement { sqlite, postgres }
    }
}

/// A value of a statement, `$1` being the first.
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

/// Connections that many share.
#[derive(Debug, Clone)]
pub enum Pool {
    /// To an SQLite file.
    Sqlite(SqlitePool),
    /// To a PostgreSQL server.
    Postgres(PgPool),
}

/// A connection of one's own.
#[derive(Debug)]
pub enum Connection {
    /// To an SQLite file.
    Sqlite(Box<SqliteConnection>),
    /// To a PostgreSQL server.
    Postgres(Box<PgConnection>),
}

impl Pool {
    /// All rows.
    pub(super) async fn all(&self, statement: &Statement, values: &[Value<'_>]) -> sqlx::Result<Vec<Row>> {
        match self {
            Pool::Sqlite(pool) => Ok(sqlite(statement, values).fetch_all(pool).await?.into_iter().map(Row::Sqlite).collect()),
            Pool::Postgres(pool) => {
                let mut connection = pool.acquire().await?;
                let asked = timeout(LIMIT, postgres(statement, values).fetch_all(&mut *connection)).await;
                Ok(in_time(connection, asked)?.into_iter().map(Row::Postgres).collect())
            }
        }
    }

    /// The first row, when there is one.
    pub(super) async fn first(&self, statement: &Statement, values: &[Value<'_>]) -> sqlx::Result<Option<Row>> {
        match self {
            Pool::Sqlite(pool) => Ok(sqlite(statement, values).fetch_optional(pool).await?.map(Row::Sqlite)),
            Pool::Postgres(pool) => {
                let mut connection = pool.acquire().await?;
                let asked = timeout(LIMIT, postgres(statement, values).fetch_optional(&mut *connection)).await;
                Ok(in_time(connection, asked)?.map(Row::Postgres))
            }
        }
    }

    /// The first row of a statement that writes what fits to what it reads: those with a lock of the same name run one after the other.
    /// SQLite has one writer at a time by itself.
    pub(super) async fn first_alone(&self, lock: &str, statement: &Statement, values: &[Value<'_>]) -> sqlx::Result<Option<Row>> {
        let Pool::Postgres(pool) = self else { return self.first(statement, values).await };
        let mut connection = pool.acquire().await?;
        let asked = timeout(LIMIT, alone(&mut connection, lock, statement, values)).await;
        Ok(in_time(connection, asked)?.map(Row::Postgres))
    }

    /// Runs a statement; answers how many rows it wrote.
    pub(super) async fn run(&self, statement: &Statement, values: &[Value<'_>]) -> sqlx::Result<u64> {
        match self {
            Pool::Sqlite(pool) => Ok(sqlite(statement, values).execute(pool).await?.rows_affected()),
            Pool::Postgres(pool) => {
                let mut connection = pool.acquire().await?;
                let asked = timeout(LIMIT, postgres(statement, values).execute(&mut *connection)).await;
                Ok(in_time(connection, asked)?.rows_affected())
            }
        }
    }

    /// Closes the connections, once none is used any more.
    pub async fn close(&self) {
        match self {
            Pool::Sqlite(pool) => pool.close().await,
            Pool::Postgres(pool) => pool.close().await,
        }
    }

    /// Whether several processes may serve the database at once.
    pub fn is_shared(&self) -> bool {
        matches!(self, Pool::Postgres(_))
    }
}

/// The statement comes after the lock by itself: it sees what those have written that had the lock before.
async fn alone(connection: &mut PgConnection, lock: &str, statement: &Statement, values: &[Value<'_>]) -> sqlx::Result<Option<PgRow>> {
    let mut transaction = connection.begin().await?;
    let taken = sqlx::query("select pg_advisory_xact_lock(726174654, hashtext($1))").bind(lock.to_owned());
    taken.execute(&mut *transaction).await?;
    let row = postgres(statement, values).fetch_optional(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(row)
}

/// What was asked, unless it took too long: its connection may be to a server that is not there any more.
fn in_time<T>(mut connection: PoolConnection<Postgres>, asked: Result<sqlx::Result<T>, Elapsed>) -> sqlx::Result<T> {
    asked.unwrap_or_else(|_| {
        connection.close_on_drop();
        Err(sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, "the database did not answer in time")))
    })
}

impl Connection {
    /// All rows.
    pub(super) async fn all(&mut self, statement: &Statement, values: &[Value<'_>]) -> sqlx::Result<Vec<Row>> {
        match self {
            Connection::Sqlite(to) => Ok(sqlite(statement, values).fetch_all(to.as_mut()).await?.into_iter().map(Row::Sqlite).collect()),
            Connection::Postgres(to) => {
                Ok(postgres(statement, values).fetch_all(to.as_mut()).await?.into_iter().map(Row::Postgres).collect())
            }
        }
    }

    /// The first row, when there is one.
    pub(super) async fn first(&mut self, statement: &Statement, values: &[Value<'_>]) -> sqlx::Result<Option<Row>> {
        match self {
            Connection::Sqlite(to) => Ok(sqlite(statement, values).fetch_optional(to.as_mut()).await?.map(Row::Sqlite)),
            Connection::Postgres(to) => Ok(postgres(statement, values).fetch_optional(to.as_mut()).await?.map(Row::Postgres)),
        }
    }

    /// Runs a statement; answers how many rows it wrote.
    pub(super) async fn run(&mut self, statement: &Statement, values: &[Value<'_>]) -> sqlx::Result<u64> {
        match self {
            Connection::Sqlite(to) => Ok(sqlite(statement, values).execute(to.as_mut()).await?.rows_affected()),
            Connection::Postgres(to) => Ok(postgres(statement, values).execute(to.as_mut()).await?.rows_affected()),
        }
    }

    /// Begins a transaction that will write.
    ///
    /// # Errors
    /// What the database says, such as that it stays locked.
    pub async fn begin(&mut self) -> sqlx::Result<()> {
        self.run(&Statement::of("begin immediate", "begin"), &[]).await.map(|_| ())
    }

    /// Keeps what the transaction has done.
    ///
    /// # Errors
    /// What the database says; the transaction may then still be open.
    pub async fn commit(&mut self) -> sqlx::Result<()> {
        self.run(&Statement::both("commit"), &[]).await.map(|_| ())
    }

    /// Undoes what the transaction has done.
    ///
    /// # Errors
    /// What the database says.
    pub async fn rollback(&mut self) -> sqlx::Result<()> {
        self.run(&Statement::both("rollback"), &[]).await.map(|_| ())
    }

    /// Closes the connection.
    ///
    /// # Errors
    /// What the database says.
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

/// A row of either database.
#[derive(Debug)]
pub enum Row {
    /// Of SQLite.
    Sqlite(SqliteRow),
    /// Of PostgreSQL.
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

    /// A number; of PostgreSQL a `bigint`.
    pub(super) fn int(&self, column: &str) -> sqlx::Result<i64> {
        match self {
            Row::Sqlite(row) => row.try_get(column),
            Row::Postgres(row) => row.try_get(column),
        }
    }

    /// A number or null; of PostgreSQL a `bigint`.
    pub(super) fn maybe_int(&self, column: &str) -> sqlx::Result<Option<i64>> {
        match self {
            Row::Sqlite(row) => row.try_get(column),
            Row::Postgres(row) => row.try_get(column),
        }
    }

    /// A number with a fraction; of PostgreSQL a `double precision`.
    pub(super) fn real(&self, column: &str) -> sqlx::Result<f64> {
        match self {
            Row::Sqlite(row) => row.try_get(column),
            Row::Postgres(row) => row.try_get(column),
        }
    }

    /// A truth.
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
