//! Temporary databases of a run, on SQLite or PostgreSQL, and their sizes.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection, Row};
use tokio::runtime::{Builder, Runtime};
use uuid::Uuid;

/// The kind of database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabaseKind {
    /// A new file in the temporary folder.
    Sqlite,
    /// A new database on the PostgreSQL server with this URL.
    Postgres(String),
}

/// A temporary database; it is deleted when dropped.
pub struct Database {
    kind: DatabaseKind,
    name: String,
    url: String,
    runtime: Runtime,
}

impl DatabaseKind {
    /// Parses `sqlite` or the URL of a PostgreSQL server.
    ///
    /// # Errors
    /// If the text is neither.
    pub fn parse(text: &str) -> Result<DatabaseKind> {
        match text {
            "sqlite" => Ok(DatabaseKind::Sqlite),
            server if server.starts_with("postgres://") => Ok(DatabaseKind::Postgres(server.to_owned())),
            _ => bail!("invalid database '{text}': use sqlite or postgres://HOST:PORT"),
        }
    }

    /// Returns the name for tables.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            DatabaseKind::Sqlite => "SQLite",
            DatabaseKind::Postgres(_) => "PostgreSQL",
        }
    }

    /// Creates an empty database.
    ///
    /// # Errors
    /// If the database cannot be created.
    pub fn create_database(&self) -> Result<Database> {
        self.create_from_template("template1")
    }

    fn create_from_template(&self, template: &str) -> Result<Database> {
        let name = format!("convengine-soak-{}", Uuid::new_v4());
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let url = match self {
            DatabaseKind::Sqlite => format!("sqlite:{}", sqlite_file(&name).display()),
            DatabaseKind::Postgres(server) => format!("{server}/{name}"),
        };
        let database = Database { kind: self.clone(), name, url, runtime };
        if let DatabaseKind::Postgres(server) = self {
            // Through the buffers and the log of the server a copy takes twice as long.
            let sql = format!("create database \"{}\" template \"{template}\" strategy file_copy", database.name);
            database.execute_on_server(server, &sql)?;
        }
        Ok(database)
    }
}

fn sqlite_file(name: &str) -> PathBuf {
    std::env::temp_dir().join(name).with_extension("db")
}

impl Database {
    /// Returns the URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Creates a copy of the database; there may be no open connections to it.
    ///
    /// # Errors
    /// If the copy cannot be created.
    pub fn copy(&self) -> Result<Database> {
        let other = self.kind.create_from_template(&self.name)?;
        if self.kind == DatabaseKind::Sqlite {
            self.query("pragma wal_checkpoint(truncate)")?;
            fs::copy(sqlite_file(&self.name), sqlite_file(&other.name))?;
        }
        Ok(other)
    }

    /// Releases the space of deleted rows (vacuum).
    ///
    /// # Errors
    /// If the statement fails.
    pub fn compact(&self) -> Result<()> {
        let compact = if self.kind == DatabaseKind::Sqlite { "vacuum" } else { "vacuum full" };
        self.query(compact).map(|_| ())
    }

    /// Returns the size after a checkpoint, in bytes, without free pages and without the table of effects, which is swept.
    ///
    /// # Errors
    /// If a query fails.
    pub fn bytes(&self) -> Result<u64> {
        let size = match &self.kind {
            DatabaseKind::Sqlite => {
                self.query("pragma wal_checkpoint(truncate)")?;
                "select cast((page_count - freelist_count) * page_size as text)
                 from pragma_page_count, pragma_freelist_count, pragma_page_size"
            }
            DatabaseKind::Postgres(_) => {
                "select cast(pg_database_size(current_database()) - coalesce(pg_total_relation_size(to_regclass('ce_turn_effect')), 0) as text)"
            }
        };
        self.query(size)?.first().and_then(|it| it.first()).context("no size")?.parse().context("no number")
    }

    /// Returns the size of the rows only, in bytes: without indexes and without free space in pages.
    ///
    /// # Errors
    /// If a query fails.
    pub fn row_bytes(&self) -> Result<u64> {
        let sizes = match &self.kind {
            DatabaseKind::Sqlite => {
                let sql =
                    "select cast(sum(payload) as text) from dbstat where name in (select name from sqlite_schema where type = 'table')";
                self.query(sql)?
            }
            DatabaseKind::Postgres(_) => {
                let tables = self.query("select tablename::text from pg_tables where schemaname = current_schema()")?;
                let size = |it: &Vec<String>| format!("select sum(pg_column_size(t.*)) from \"{}\" t", it[0]);
                let sizes: Vec<String> = tables.iter().map(size).collect();
                self.query(&format!("select cast(sum(s) as text) from ({}) x (s)", sizes.join(" union all ")))?
            }
        };
        sizes.first().and_then(|it| it.first()).context("no size")?.parse().context("no number")
    }

    /// Runs a statement and returns its rows as texts.
    ///
    /// # Errors
    /// If the statement fails.
    pub fn query(&self, sql: &str) -> Result<Vec<Vec<String>>> {
        self.runtime.block_on(async {
            let sql = AssertSqlSafe(sql.to_owned());
            match &self.kind {
                DatabaseKind::Sqlite => {
                    let mut connection = SqliteConnection::connect(&self.url).await?;
                    let rows = sqlx::raw_sql(sql).fetch_all(&mut connection).await?;
                    connection.close().await?;
                    let text = |row: &sqlx::sqlite::SqliteRow, at: usize| {
                        row.try_get_unchecked::<Option<String>, _>(at).map(Option::unwrap_or_default)
                    };
                    let of_row = |row: &sqlx::sqlite::SqliteRow| (0..row.len()).map(|at| text(row, at)).collect::<sqlx::Result<Vec<_>>>();
                    Ok(rows.iter().map(of_row).collect::<sqlx::Result<_>>()?)
                }
                DatabaseKind::Postgres(_) => query_postgres(&self.url, sql).await,
            }
        })
    }

    /// Ends all connections and refuses new ones, as a server that has stopped does; only on PostgreSQL.
    ///
    /// # Errors
    /// If a statement fails, or the database is a file.
    pub fn refuse_connections(&self) -> Result<()> {
        let DatabaseKind::Postgres(server) = &self.kind else { bail!("a file has no server that could stop") };
        self.execute_on_server(server, &format!("alter database \"{}\" with allow_connections false", self.name))?;
        let end = format!("select cast(pg_terminate_backend(pid) as text) from pg_stat_activity where datname = '{}'", self.name);
        self.execute_on_server(server, &end)
    }

    fn execute_on_server(&self, server: &str, sql: &str) -> Result<()> {
        self.runtime.block_on(query_postgres(&format!("{server}/postgres"), AssertSqlSafe(sql.to_owned()))).map(|_| ())
    }
}

async fn query_postgres(url: &str, sql: AssertSqlSafe<String>) -> Result<Vec<Vec<String>>> {
    let mut connection = PgConnection::connect(url).await?;
    let rows = sqlx::raw_sql(sql).fetch_all(&mut connection).await?;
    connection.close().await?;
    let of_row = |row: &sqlx::postgres::PgRow| {
        let text = |at: usize| row.try_get_raw(at)?.as_str().map(str::to_owned).map_err(sqlx::Error::Decode);
        (0..row.len()).map(text).collect::<sqlx::Result<Vec<_>>>()
    };
    Ok(rows.iter().map(of_row).collect::<sqlx::Result<_>>()?)
}

impl Drop for Database {
    fn drop(&mut self) {
        // Best effort: the database is temporary.
        match &self.kind {
            DatabaseKind::Sqlite => {
                for ending in ["db", "db-wal", "db-shm"] {
                    let _ = fs::remove_file(sqlite_file(&self.name).with_extension(ending));
                }
            }
            DatabaseKind::Postgres(server) => {
                let _ = self.execute_on_server(server, &format!("drop database if exists \"{}\" with (force)", self.name));
            }
        }
    }
}
