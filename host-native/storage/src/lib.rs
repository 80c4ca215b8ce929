//! Database access: one literal statement per function.
//!
//! A function that returns [`sqlx::Result`], here or above, fails with the error of the database unless its documentation says more,
//! and one that returns [`std::io::Result`] with that of the file system.
//!
//! Reads use small pools, one for each class of work. All turn writes go through the writers of `convengine_turns::writer`.

pub mod activation;
pub mod api_key;
pub mod assistant;
pub mod audit;
pub mod backup;
mod blocking;
pub mod call_log;
mod casts;
pub mod chain;
pub mod checkpoint;
pub mod class_pool;
pub mod classifier;
pub mod commit;
pub mod config;
pub mod connectivity;
pub mod conversations;
pub mod counter;
pub mod credential;
pub mod database;
mod database_row;
pub mod document;
pub mod feedback;
pub mod forget;
pub mod import;
pub mod inspect;
pub mod kept_connection;
pub mod lease;
pub mod load;
pub mod mcp_tool;
pub mod module;
pub mod owner;
pub mod phrase_vector;
mod postgres;
pub mod repeated_task;
pub mod rows;
pub mod schema;
pub mod script;
pub mod security_log;
pub mod server_lock;
pub mod size;
pub mod snapshot;
pub mod spend;
pub mod sqlite;
pub mod sqlite_error;
mod sqlite_file;
pub mod stream;
pub mod turn;
mod turn_row;
pub mod turn_rows;
mod turn_statements;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Arguments, ConnectOptions, Connection as _};

pub use blocking::run_blocking;
use class_pool::{ByClass, ClassPool, PoolSizes};
use database::Statement;
pub use database::{Connection, Pool};
use postgres::PostgresReaders;
use sqlite::{LocalSqlite, SqliteOptions, SqliteReaders};

use convengine_host_base::exit::Failure;
use convengine_host_base::meter::Meter;
use convengine_host_base::redact_url::redact_url;
use convengine_host_base::work_class::WorkClass;

const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long work in the background waits for a connection: nobody waits for it.
const BACKGROUND_ACQUIRE_TIMEOUT: Duration = Duration::from_secs(30);

/// The idle time after which a pooled connection is pinged before use.
const PING_AFTER_IDLE: Duration = Duration::from_secs(1);

/// How to open a database.
#[derive(Debug, Clone)]
pub struct DatabaseConfig {
    /// `sqlite:PATH` or `postgres://…`.
    pub url: String,
    /// Whether every commit is flushed to disk, so that it survives a power failure.
    pub full_sync: bool,
}

/// Binds a JSON value; arrays and objects as JSON text.
///
/// # Errors
/// Returns an error when the value cannot be encoded.
pub fn bind_json(arguments: &mut SqliteArguments, value: &Value) -> Result<(), BoxDynError> {
    match value {
        Value::Null => arguments.add(None::<i64>),
        Value::Bool(on) => arguments.add(*on),
        Value::Number(number) => match number.as_i64() {
            Some(number) => arguments.add(number),
            None => arguments.add(number.as_f64()),
        },
        Value::String(text) => arguments.add(text.clone()),
        Value::Array(_) | Value::Object(_) => arguments.add(value.to_string()),
    }
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

    /// Returns the path of the key that is made for the secrets of an SQLite file.
    pub fn key_path(&self) -> Option<PathBuf> {
        let mut name = self.sqlite_file()?.into_os_string();
        name.push(".key");
        Some(PathBuf::from(name))
    }

    /// Returns the URL without its passwords.
    pub fn redacted_url(&self) -> String {
        redact_url(&self.url)
    }
}

/// Opens a connection for a command or the writer, and checks that it can be written.
///
/// # Errors
/// Returns exit code 2 for an invalid URL, 3 when the database cannot be used.
pub async fn connect(config: &DatabaseConfig, create: bool) -> Result<Connection, Failure> {
    let mut connection = open(config, create).await.map_err(|it| database_failure(config, &it))?;
    if !config.is_postgres() {
        // Detects a long-held lock now instead of on the first turn.
        connection.begin().await.map_err(|it| database_failure(config, &it))?;
        connection.rollback().await.map_err(|it| database_failure(config, &it))?;
    }
    Ok(connection)
}

/// Connects to write many rows: on SQLite on the calling thread, where a row needs no hand-off.
///
/// # Errors
/// Returns exit code 3 when the database cannot be used.
pub async fn connect_for_rows(config: &DatabaseConfig) -> Result<Connection, Failure> {
    let connection = connect(config, false).await?;
    if config.is_postgres() {
        return Ok(connection);
    }
    connection.close().await.map_err(|it| database_failure(config, &it))?;
    let local = local_options(config, "").and_then(|it| LocalSqlite::open(&it));
    local.map(|database| Connection::LocalSqlite(Box::new(database))).map_err(|it| database_failure(config, &it))
}

/// Opens a connection.
pub async fn open(config: &DatabaseConfig, create: bool) -> sqlx::Result<Connection> {
    if config.is_postgres() {
        return Ok(Connection::Postgres(Box::new(postgres_options(config)?.connect().await?)));
    }
    let options = sqlite_options(config)?;
    if create {
        config.create_sqlite_file().map_err(sqlx::Error::Io)?;
    }
    Ok(Connection::Sqlite(Box::new(options.create_if_missing(create).connect().await?)))
}

/// Opens a connection for a writer: on SQLite one that runs on the writer's thread and leaves checkpoints to [`checkpoint`].
pub async fn open_writer(config: &DatabaseConfig) -> sqlx::Result<Connection> {
    if config.is_postgres() {
        return open(config, false).await;
    }
    let mut connection = LocalSqlite::open(&local_options(config, "pragma foreign_keys = off;")?)?;
    connection.disable_checkpoints();
    Ok(Connection::LocalSqlite(Box::new(connection)))
}

/// Sets statement, lock and idle timeouts on PostgreSQL, so that a stalled writer does not block other processes with its locks, and a
/// lock of another transaction does not block the writer.
pub async fn set_timeouts(connection: &mut Connection) -> sqlx::Result<()> {
    if matches!(connection, Connection::Postgres(_)) {
        let sql = "select set_config('statement_timeout', '10s', false), set_config('lock_timeout', '250ms', false),
            set_config('idle_in_transaction_session_timeout', '15s', false)";
        connection.fetch_all(&Statement::portable(sql), &[]).await?;
    }
    Ok(())
}

/// Sets up the connection of a writer on PostgreSQL: like [`set_timeouts`], so that a statement that takes long does not block what is queued
/// behind it, and that plans are kept.
pub async fn set_up_writer(connection: &mut Connection) -> sqlx::Result<()> {
    set_timeouts(connection).await?;
    if matches!(connection, Connection::Postgres(_)) {
        // It would plan the statement of each commit again, which takes a third of its time: rows come as arrays, of unknown length. All rows
        // are found by their keys, also in a table that was small when the plan was made.
        let sql = "select set_config('statement_timeout', '1s', false), set_config('plan_cache_mode', 'force_generic_plan', false),
            set_config('enable_seqscan', 'off', false)";
        connection.fetch_all(&Statement::portable(sql), &[]).await?;
    }
    Ok(())
}

/// Lets the transaction on PostgreSQL hardly wait for locks, and statements not take long.
pub async fn set_brief_timeouts(connection: &mut Connection) -> sqlx::Result<()> {
    if matches!(connection, Connection::Postgres(_)) {
        let sql = "select set_config('lock_timeout', '20ms', true), set_config('statement_timeout', '250ms', true)";
        connection.fetch_all(&Statement::portable(sql), &[]).await?;
    }
    Ok(())
}

/// Lets statements of the transaction on PostgreSQL take long.
pub async fn set_long_timeout(connection: &mut Connection) -> sqlx::Result<()> {
    if matches!(connection, Connection::Postgres(_)) {
        connection.fetch_all(&Statement::portable("select set_config('statement_timeout', '9s', true)"), &[]).await?;
    }
    Ok(())
}

/// Opens a database that needs our tables. Creates them in a new or empty database.
///
/// # Errors
/// Returns exit code 2 for an invalid URL, 3 when the database cannot be used or must be migrated first.
pub async fn connect_or_create(config: &DatabaseConfig) -> Result<Connection, Failure> {
    let mut connection = connect(config, true).await?;
    let tables = schema::list_tables(&mut connection).await.map_err(|it| database_failure(config, &it))?;
    if tables.is_empty() {
        schema::migrate(&mut connection).await.map_err(|it| database_failure(config, &it))?;
        return Ok(connection);
    }
    ensure_ready(config, connection, &tables).await
}

/// Opens a database that must already have our tables.
///
/// # Errors
/// Returns exit code 2 for an invalid URL, 3 when the database cannot be used or must be migrated first.
pub async fn connect_existing(config: &DatabaseConfig) -> Result<Connection, Failure> {
    let mut connection = connect(config, false).await?;
    let tables = schema::list_tables(&mut connection).await.map_err(|it| database_failure(config, &it))?;
    ensure_ready(config, connection, &tables).await
}

async fn ensure_ready(config: &DatabaseConfig, mut connection: Connection, tables: &BTreeSet<String>) -> Result<Connection, Failure> {
    if !schema::is_ready(&mut connection, tables).await.map_err(|it| database_failure(config, &it))? {
        return Err(Failure::service_unavailable(format!(
            "database '{0}' has missing or outdated tables; run 'convengine migrate --database {0}'",
            config.redacted_url()
        )));
    }
    Ok(connection)
}

/// Creates an in-memory SQLite database with our tables and without foreign key checks.
pub async fn in_memory() -> Result<Connection, sqlx::Error> {
    convengine_sqlite_vector::register();
    let options = SqliteConnectOptions::new().in_memory(true).foreign_keys(false);
    let mut connection = Connection::Sqlite(Box::new(options.connect().await?));
    schema::migrate(&mut connection).await?;
    Ok(connection)
}

/// Opens the reader pools of a command.
///
/// # Errors
/// Returns exit code 2 for an invalid URL, 3 when the database cannot be used.
pub async fn open_reader_pool(config: &DatabaseConfig) -> Result<Pool, Failure> {
    open_sized_pool(config, PoolSizes::default(), Meter::default()).await
}

/// Opens the reader pools of a host, of at most `sizes` connections. `meter` measures the waits for one.
///
/// # Errors
/// Returns exit code 2 for an invalid URL, 3 when the database cannot be used.
pub async fn open_sized_pool(config: &DatabaseConfig, sizes: PoolSizes, meter: Meter) -> Result<Pool, Failure> {
    connect_pool(config, sizes, meter).await.map_err(|it| database_failure(config, &it))
}

async fn connect_pool(config: &DatabaseConfig, sizes: PoolSizes, meter: Meter) -> sqlx::Result<Pool> {
    if config.is_postgres() {
        let options = postgres_options(config)?;
        let pools = ByClass::new(|class| postgres_pool(class, sizes).connect_lazy_with(options.clone()));
        let pool = ClassPool::new(pools, meter.clone());
        drop(pool.acquire().await?);
        return Ok(Pool::Postgres(pool, Arc::new(PostgresReaders::new(options, sizes, meter))));
    }
    let readers = SqliteReaders::new(local_options(config, "pragma cache_size = -1024;")?);
    let options = sqlite_options(config)?.pragma("cache_size", "-1024");
    let pools = ByClass::new(|class| {
        // A file needs no ping before use; the statement itself reports errors.
        let pool = SqlitePoolOptions::new().max_connections(sizes.for_class(class)).acquire_timeout(acquire_timeout(class));
        pool.test_before_acquire(false).connect_lazy_with(options.clone())
    });
    let pool = ClassPool::new(pools, meter);
    drop(pool.acquire().await?);
    Ok(Pool::Sqlite(pool, Arc::new(readers)))
}

/// Returns the pool of a class of work on PostgreSQL.
fn postgres_pool(class: WorkClass, sizes: PoolSizes) -> PgPoolOptions {
    let pool =
        PgPoolOptions::new().max_connections(sizes.for_class(class)).acquire_timeout(acquire_timeout(class)).test_before_acquire(false);
    // The server may have restarted; recently used connections are not pinged.
    pool.before_acquire(|connection, about| {
        Box::pin(async move {
            if about.idle_for > PING_AFTER_IDLE {
                connection.ping().await?;
            }
            Ok(true)
        })
    })
}

/// How long work waits for a connection.
fn acquire_timeout(class: WorkClass) -> Duration {
    match class {
        WorkClass::User => ACQUIRE_TIMEOUT,
        WorkClass::Background => BACKGROUND_ACQUIRE_TIMEOUT,
    }
}

/// Converts a database error into a one-line command failure.
pub fn database_failure(config: &DatabaseConfig, error: &sqlx::Error) -> Failure {
    let reason = match error {
        sqlx::Error::Database(it) => it.message().to_owned(),
        sqlx::Error::Configuration(it) => {
            return Failure::invalid_usage(format!(
                "invalid database URL '{}': {it}; use sqlite:PATH or postgres://…",
                config.redacted_url()
            ));
        }
        other => other.to_string(),
    };
    let check = if config.is_postgres() {
        "the server, the database name and the user's privileges"
    } else {
        "the path, its permissions and other processes that use it"
    };
    Failure::service_unavailable(format!("cannot use database '{}': {reason}; check {check}", config.redacted_url()))
}

fn sqlite_options(config: &DatabaseConfig) -> sqlx::Result<SqliteConnectOptions> {
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
fn local_options(config: &DatabaseConfig, pragmas: &str) -> sqlx::Result<SqliteOptions> {
    let file = sqlite_options(config)?.get_filename().to_owned();
    let synchronous = if config.full_sync { "full" } else { "normal" };
    // Rows of turns refer to rows of the same batch or of turns that were loaded; checking it once more costs each audit row a search.
    let pragmas = format!("pragma journal_mode = wal; pragma synchronous = {synchronous}; pragma secure_delete = on; {pragmas}");
    Ok(SqliteOptions { file, busy_timeout: ACQUIRE_TIMEOUT, pragmas })
}

fn postgres_options(config: &DatabaseConfig) -> sqlx::Result<PgConnectOptions> {
    convengine_host_base::crypto::install_crypto_provider();
    Ok(PgConnectOptions::from_str(&config.url)?.application_name("convengine").disable_statement_logging())
}

#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
