//! The databases of the servers that are measured.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Bench;
use crate::postgres::Postgres;
use crate::sh;

/// The kind of a database.
#[derive(Clone, Copy)]
pub enum Kind<'b> {
    Sqlite,
    Postgres(&'b Postgres),
}

impl Kind<'_> {
    /// Returns the name for tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Sqlite => "SQLite",
            Kind::Postgres(_) => "PostgreSQL",
        }
    }
}

/// A database with a pack; it is deleted when dropped.
pub struct Database<'b> {
    kind: Kind<'b>,
    name: String,
    folder: PathBuf,
}

impl<'b> Database<'b> {
    /// Creates a database with the tables of `engine`, and imports the pack.
    pub fn create(bench: &'b Bench<'_>, kind: Kind<'b>, name: &str, engine: &Path, pack: &Path) -> Result<Self> {
        let database = Database { kind, name: format!("{}-{name}", kind.name().to_lowercase()), folder: bench.folder.clone() };
        if let Kind::Postgres(cluster) = kind {
            cluster.query("postgres", &format!("create database \"{}\"", database.name))?;
        }
        let import = [Path::new("import"), pack];
        for arguments in [&[Path::new("migrate")][..], &import] {
            sh::run_quietly(bench.project.command(engine).args(arguments).args(["--database", &database.url()]))?;
        }
        Ok(database)
    }

    /// Returns the URL. PostgreSQL is reached without TLS, so that round trips can be counted.
    pub fn url(&self) -> String {
        match self.kind {
            Kind::Sqlite => format!("sqlite:{}", self.file("db").display()),
            Kind::Postgres(cluster) => self.postgres_url(cluster.port()),
        }
    }

    /// Returns the URL of a PostgreSQL database behind another port.
    pub fn postgres_url(&self, port: u16) -> String {
        format!("postgres://postgres@127.0.0.1:{port}/{}?sslmode=disable", self.name)
    }

    /// Returns a file beside the database.
    pub fn file(&self, ending: &str) -> PathBuf {
        self.folder.join(&self.name).with_extension(ending)
    }

    /// Returns the size in bytes. In SQLite it is complete only when the server has ended.
    pub fn bytes(&self) -> Result<u64> {
        match self.kind {
            Kind::Sqlite => Ok(fs::metadata(self.file("db"))?.len()),
            Kind::Postgres(cluster) => cluster.query(&self.name, "select pg_database_size(current_database())")?.parse().context("no size"),
        }
    }

    /// Returns the bytes that PostgreSQL has appended to its log so far; `None` for SQLite.
    pub fn wal_bytes(&self) -> Result<Option<u64>> {
        let Kind::Postgres(cluster) = self.kind else { return Ok(None) };
        let bytes = cluster.query(&self.name, "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint")?;
        Ok(Some(bytes.parse().context("no position in the log")?))
    }

    /// Returns the processor time of the database's own processes so far, in microseconds; 0 for SQLite.
    pub fn cpu_us(&self) -> Result<u64> {
        match self.kind {
            Kind::Sqlite => Ok(0),
            Kind::Postgres(cluster) => super::process::family_cpu_us(cluster.process_id()?),
        }
    }
}

impl Drop for Database<'_> {
    fn drop(&mut self) {
        match self.kind {
            Kind::Sqlite => {
                for ending in ["db", "db-wal", "db-shm", "db.lock"] {
                    // Best effort: the folder is emptied by the next run.
                    let _ = fs::remove_file(self.file(ending));
                }
            }
            Kind::Postgres(cluster) => {
                if let Err(error) = cluster.query("postgres", &format!("drop database \"{}\" with (force)", self.name)) {
                    eprintln!("warning: {error:#}");
                }
            }
        }
    }
}
