//! Databases for as long as a run takes, and how large they are.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection, Row};
use tokio::runtime::{Builder, Runtime};
use uuid::Uuid;

/// Which database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A file of its own in the temporary folder.
    Sqlite,
    /// A database of its own on the server with this address.
    Postgres(String),
}

/// A database; it goes when it is dropped.
pub struct Database {
    kind: Kind,
    name: String,
    url: String,
    runtime: Runtime,
}

impl Kind {
    /// `sqlite`, or the address of a PostgreSQL server.
    ///
    /// # Errors
    /// When it is neither.
    pub fn parse(text: &str) -> Result<Kind> {
        match text {
            "sqlite" => Ok(Kind::Sqlite),
            server if server.starts_with("postgres://") => Ok(Kind::Postgres(server.to_owned())),
            _ => bail!("write sqlite or postgres://HOST:PORT"),
        }
    }

    /// As it is called in tables.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Sqlite => "SQLite",
            Kind::Postgres(_) => "PostgreSQL",
        }
    }

    /// A new and empty database.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn database(&self) -> Result<Database> {
        self.of_template("template1")
    }

    fn of_template(&self, template: &str) -> Result<Database> {
        let name = format!("convengine-soak-{}", Uuid::new_v4());
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let url = match self {
            Kind::Sqlite => format!("sqlite:{}", file(&name).display()),
            Kind::Postgres(server) => format!("{server}/{name}"),
        };
        let database = Database { kind: self.clone(), name, url, runtime };
        if let Kind::Postgres(server) = self {
            database.administer(server, &format!("create database \"{}\" template \"{template}\"", database.name))?;
        }
        Ok(database)
    }
}

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(name).with_extension("db")
}

impl Database {
    /// Its address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Another database with the same content; nobody may be connected with this one.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn copy(&self) -> Result<Database> {
        let other = self.kind.of_template(&self.name)?;
        if self.kind == Kind::Sqlite {
            self.rows("pragma wal_checkpoint(truncate)")?;
            fs::copy(file(&self.name), file(&other.name))?;
        }
        Ok(other)
    }

    /// Gives up the room of rows that are not there any more, which would otherwise be used again later.
    ///
    /// # Errors
    /// What the database says.
    pub fn compact(&self) -> Result<()> {
        let compact = if self.kind == Kind::Sqlite { "vacuum" } else { "vacuum full" };
        self.rows(compact).map(|_| ())
    }

    /// The bytes that it takes, with everything written where it belongs; without room that is free to be used again, and without the
    /// table of open turns, which is swept.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn bytes(&self) -> Result<u64> {
        let size = match &self.kind {
            Kind::Sqlite => {
                self.rows("pragma wal_checkpoint(truncate)")?;
                "select cast((page_count - freelist_count) * page_size as text)
                 from pragma_page_count, pragma_freelist_count, pragma_page_size"
            }
            Kind::Postgres(_) => {
                "select cast(pg_database_size(current_database()) - coalesce(pg_total_relation_size(to_regclass('ce_turn_effect')), 0) as text)"
            }
        };
        self.rows(size)?.first().and_then(|it| it.first()).context("no size")?.parse().context("no number")
    }

    /// The bytes of the rows alone: no index, and no room that is free in pages.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn row_bytes(&self) -> Result<u64> {
        let sizes = match &self.kind {
            Kind::Sqlite => {
                let sql =
                    "select cast(sum(payload) as text) from dbstat where name in (select name from sqlite_schema where type = 'table')";
                self.rows(sql)?
            }
            Kind::Postgres(_) => {
                let tables = self.rows("select tablename::text from pg_tables where schemaname = current_schema()")?;
                let size = |it: &Vec<String>| format!("select sum(pg_column_size(t.*)) from \"{}\" t", it[0]);
                let sizes: Vec<String> = tables.iter().map(size).collect();
                self.rows(&format!("select cast(sum(s) as text) from ({}) x (s)", sizes.join(" union all ")))?
            }
        };
        sizes.first().and_then(|it| it.first()).context("no size")?.parse().context("no number")
    }

    /// The texts of a query's rows; a statement that both databases understand.
    ///
    /// # Errors
    /// What the database says.
    pub fn rows(&self, sql: &str) -> Result<Vec<Vec<String>>> {
        self.runtime.block_on(async {
            let sql = AssertSqlSafe(sql.to_owned());
            match &self.kind {
                Kind::Sqlite => {
                    let mut connection = SqliteConnection::connect(&self.url).await?;
                    let rows = sqlx::raw_sql(sql).fetch_all(&mut connection).await?;
                    connection.close().await?;
                    let text = |row: &sqlx::sqlite::SqliteRow, at: usize| {
                        row.try_get_unchecked::<Option<String>, _>(at).map(Option::unwrap_or_default)
                    };
                    let of_row = |row: &sqlx::sqlite::SqliteRow| (0..row.len()).map(|at| text(row, at)).collect::<sqlx::Result<Vec<_>>>();
                    Ok(rows.iter().map(of_row).collect::<sqlx::Result<_>>()?)
                }
                Kind::Postgres(_) => postgres(&self.url, sql).await,
            }
        })
    }

    fn administer(&self, server: &str, sql: &str) -> Result<()> {
        self.runtime.block_on(postgres(&format!("{server}/postgres"), AssertSqlSafe(sql.to_owned()))).map(|_| ())
    }
}

async fn postgres(url: &str, sql: AssertSqlSafe<String>) -> Result<Vec<Vec<String>>> {
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
        // What is left is temporary, too.
        match &self.kind {
            Kind::Sqlite => {
                for ending in ["db", "db-wal", "db-shm"] {
                    let _ = fs::remove_file(file(&self.name).with_extension(ending));
                }
            }
            Kind::Postgres(server) => {
                let _ = self.administer(server, &format!("drop database if exists \"{}\" with (force)", self.name));
            }
        }
    }
}
