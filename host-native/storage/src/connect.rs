//! Opens connections and pools.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{ConnectOptions as _, Connection as _};

use super::class_pool::{ByClass, ClassPool, PoolSizes, acquire_timeout};
use super::database::{Connection, Pool};
use super::database_config::{DatabaseConfig, local_options, postgres_options, sqlite_options};
use super::postgres::PostgresReaders;
use super::schema;
use super::sqlite::{LocalSqlite, SqliteReaders};
use super::statement::Statement;
use convengine_host_base::exit::Failure;
use convengine_host_base::meter::Meter;
use convengine_host_base::work_class::WorkClass;

/// The idle time after which a pooled connection is pinged before use.
const PING_AFTER_IDLE: Duration = Duration::from_secs(1);

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

/// Opens a connection for a writer: on SQLite one that runs on the writer's thread and leaves checkpoints to [`checkpoint`](super::checkpoint).
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

/// Opens a database to say what would change in it, and returns whether it is still to be created: then it is an empty one in memory.
///
/// # Errors
/// Returns exit code 2 for an invalid URL, 3 when the database cannot be used or must be migrated first.
pub async fn connect_for_dry_run(config: &DatabaseConfig) -> Result<(Connection, bool), Failure> {
    if !is_missing(config) {
        let mut connection = connect(config, false).await?;
        let tables = schema::list_tables(&mut connection).await.map_err(|it| database_failure(config, &it))?;
        if !tables.is_empty() {
            return Ok((ensure_ready(config, connection, &tables).await?, false));
        }
    }
    let connection = in_memory().await.map_err(|it| database_failure(config, &it))?;
    Ok((connection, true))
}

/// Whether an SQLite file does not exist and could be created.
fn is_missing(config: &DatabaseConfig) -> bool {
    let Some(file) = config.sqlite_file() else { return false };
    !file.exists() && file.parent().is_none_or(|folder| folder.as_os_str().is_empty() || folder.is_dir())
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
