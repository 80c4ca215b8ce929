//! How to open a database.

use std::str::FromStr;

use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};

use super::class_pool::ACQUIRE_TIMEOUT;
use super::sqlite::SqliteOptions;
use convengine_host_base::redact_url::redact_url;

/// How to open a database.
#[derive(Debug, Clone)]
pub struct DatabaseConfig {
    /// `sqlite:PATH` or `postgres://…`.
    pub url: String,
    /// Whether every commit is flushed to disk, so that it survives a power failure.
    pub full_sync: bool,
}

/// Returns whether a URL addresses a PostgreSQL server.
pub fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

impl DatabaseConfig {
    /// Returns whether it is a PostgreSQL server.
    pub fn is_postgres(&self) -> bool {
        is_postgres(&self.url)
    }

    /// Flushes the write-ahead log to disk where commits themselves do not. Blocks the thread, which is that of the writer.
    pub fn flush_wal(&self) -> std::io::Result<()> {
        if self.full_sync || self.is_postgres() {
            return Ok(());
        }
        let Ok(options) = SqliteConnectOptions::from_str(&self.url) else { return Ok(()) };
        let mut log = options.get_filename().as_os_str().to_owned();
        log.push("-wal");
        std::fs::File::open(log)?.sync_data()
    }

    /// Creates the folder of an SQLite file if it is missing.
    pub fn create_folder(&self) -> std::io::Result<()> {
        let file = SqliteConnectOptions::from_str(&self.url).map(|it| it.get_filename().to_owned());
        match file.as_deref().ok().and_then(std::path::Path::parent).filter(|_| !self.is_postgres()) {
            Some(folder) if !folder.as_os_str().is_empty() => std::fs::create_dir_all(folder),
            _ => Ok(()),
        }
    }

    /// Returns the URL without its passwords.
    pub fn redacted_url(&self) -> String {
        redact_url(&self.url)
    }
}

/// Returns how to open an SQLite file.
pub(super) fn sqlite_options(config: &DatabaseConfig) -> sqlx::Result<SqliteConnectOptions> {
    if !config.url.starts_with("sqlite:") {
        return Err(sqlx::Error::Configuration("unknown database type".into()));
    }
    convengine_sqlite_vector::register();
    let synchronous = if config.full_sync { SqliteSynchronous::Full } else { SqliteSynchronous::Normal };
    let options = SqliteConnectOptions::from_str(&config.url)?;
    // Overwrites deleted data, so that deleted conversations cannot be recovered from the file.
    let options = options.pragma("secure_delete", "on");
    Ok(options.journal_mode(SqliteJournalMode::Wal).synchronous(synchronous).busy_timeout(ACQUIRE_TIMEOUT).foreign_keys(true))
}

/// Returns how to open connections for the calling thread, with the pragmas of [`sqlite_options`] and others.
pub(super) fn local_options(config: &DatabaseConfig, pragmas: &str) -> sqlx::Result<SqliteOptions> {
    let file = sqlite_options(config)?.get_filename().to_owned();
    let synchronous = if config.full_sync { "full" } else { "normal" };
    // Rows of turns refer to rows of the same batch or of turns that were loaded; checking it once more costs each audit row a search.
    let pragmas = format!("pragma journal_mode = wal; pragma synchronous = {synchronous}; pragma secure_delete = on; {pragmas}");
    Ok(SqliteOptions { file, busy_timeout: ACQUIRE_TIMEOUT, pragmas })
}

/// Returns how to connect to a PostgreSQL server.
pub(super) fn postgres_options(config: &DatabaseConfig) -> sqlx::Result<PgConnectOptions> {
    convengine_host_base::crypto::install_crypto_provider();
    Ok(PgConnectOptions::from_str(&config.url)?.application_name("convengine").disable_statement_logging())
}
