//! Databases for tests: one of each kind, gone when the test ends.

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tempfile::TempDir;
use uuid::Uuid;

use super::{Connection, Place, Pool, connect_ready, readers};

/// A database of a test's own with our tables.
pub struct Database {
    /// Where it is.
    pub place: Place,
    /// For the rows of turns.
    pub connection: Connection,
    /// For reading.
    pub pool: Pool,
    _folder: TempDir,
}

impl Connection {
    /// For statements of tests about SQLite alone.
    pub fn sqlite(&mut self) -> &mut sqlx::SqliteConnection {
        match self {
            Connection::Sqlite(connection) => connection,
            Connection::Postgres(_) => panic!("the test is about SQLite"),
        }
    }
}

/// One of each kind.
pub async fn each() -> Vec<Database> {
    vec![sqlite().await, postgres().await]
}

/// One on SQLite.
pub async fn sqlite() -> Database {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", folder.path().join("test.db").display());
    ready(url, folder).await
}

/// One on the PostgreSQL server of the tests.
pub async fn postgres() -> Database {
    ready(empty_postgres().await, tempfile::tempdir().expect("a folder")).await
}

/// The address of a database without tables on the PostgreSQL server of the tests.
pub async fn empty_postgres() -> String {
    let server = std::env::var("CONVENGINE_TEST_POSTGRES").expect("a PostgreSQL server for the tests: run them with `cargo xtask test`");
    let name = format!("unit_{}", Uuid::new_v4().simple());
    let mut connection = PgConnection::connect(&format!("{server}/postgres")).await.expect("the server of the tests");
    sqlx::query(AssertSqlSafe(format!("create database {name}"))).execute(&mut connection).await.expect("a new database");
    format!("{server}/{name}")
}

async fn ready(url: String, folder: TempDir) -> Database {
    let place = Place { url, full_sync: false };
    let connection = connect_ready(&place).await.expect("a database with our tables");
    let pool = readers(&place).await.expect("a pool");
    Database { place, connection, pool, _folder: folder }
}
