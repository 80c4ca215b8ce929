//! The database: one literal statement a function.
//!
//! Reads go through a small pool; everything that a turn writes goes through the one writer of [`crate::writer`].

pub mod activation;
pub mod api_key;
pub mod assistant;
pub mod audit;
pub mod call_log;
pub mod commit;
pub mod config;
pub mod conversations;
pub mod database;
pub mod document;
pub mod feedback;
pub mod forget;
pub mod import;
pub mod inspect;
pub mod load;
pub mod module;
pub mod schema;
pub mod script;
pub mod snapshot;
pub mod spend;
pub mod stream;
pub mod turn;
pub mod turn_rows;

use std::collections::BTreeSet;
use std::str::FromStr;
use std::time::Duration;

use serde_json::Value;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Arguments, ConnectOptions, Connection as _};

use database::Statement;
pub use database::{Connection, Pool};

use crate::exit::Failure;

const READERS: u32 = 4;
const BUSY: Duration = Duration::from_secs(5);

/// How long a connection that was idle is taken to be there still.
const FRESH: Duration = Duration::from_secs(1);

/// How a database is opened.
#[derive(Debug, Clone)]
pub struct Place {
    /// `sqlite:PATH` or `postgres://…`.
    pub url: String,
    /// Whether the last turns must survive a power cut.
    pub full_sync: bool,
}

/// Binds a JSON value; lists and objects are JSON text.
///
/// # Errors
/// A value that the database cannot take.
pub fn bind(arguments: &mut SqliteArguments, value: &Value) -> Result<(), BoxDynError> {
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

/// Whether an address is that of a PostgreSQL server.
pub fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

impl Place {
    /// Whether it is a PostgreSQL server.
    pub fn is_postgres(&self) -> bool {
        is_postgres(&self.url)
    }

    /// Brings what was committed onto the disk, where the database's own commits leave that for later.
    ///
    /// # Errors
    /// What the file system says.
    pub async fn sync(&self) -> std::io::Result<()> {
        let Ok(options) = SqliteConnectOptions::from_str(&self.url) else { return Ok(()) };
        if self.full_sync || self.is_postgres() {
            return Ok(());
        }
        let mut log = options.get_filename().as_os_str().to_owned();
        log.push("-wal");
        let synced = tokio::task::spawn_blocking(move || std::fs::File::open(log)?.sync_data());
        synced.await.unwrap_or_else(|it| Err(std::io::Error::other(it)))
    }

    /// The address as it may be shown: without its password.
    pub fn shown(&self) -> String {
        let Some((scheme, rest)) = self.url.split_once("://") else { return self.url.clone() };
        match rest.rsplit_once('@') {
            Some((user, host)) => format!("{scheme}://{}@{host}", user.split(':').next().unwrap_or_default()),
            None => self.url.clone(),
        }
    }
}

/// Opens one connection, for commands and for the writer.
///
/// # Errors
/// A line that says why the database cannot be used.
pub async fn connect(place: &Place, create: bool) -> Result<Connection, Failure> {
    let mut connection = open(place, create).await.map_err(|it| unusable(place, &it))?;
    if !place.is_postgres() {
        // A lock that somebody holds for long shows at once and not on the first turn.
        connection.begin().await.map_err(|it| unusable(place, &it))?;
        connection.rollback().await.map_err(|it| unusable(place, &it))?;
    }
    Ok(connection)
}

/// Opens one connection.
///
/// # Errors
/// What the database says.
pub async fn open(place: &Place, create: bool) -> sqlx::Result<Connection> {
    if place.is_postgres() {
        return Ok(Connection::Postgres(Box::new(postgres(place)?.connect().await?)));
    }
    Ok(Connection::Sqlite(Box::new(sqlite(place)?.create_if_missing(create).connect().await?)))
}

/// Lets PostgreSQL end what a writer has begun and does not go on with: its locks hold those of other processes.
///
/// # Errors
/// What the database says.
pub async fn limit(connection: &mut Connection) -> sqlx::Result<()> {
    if matches!(connection, Connection::Postgres(_)) {
        let sql = "select set_config('statement_timeout', '10s', false), set_config('idle_in_transaction_session_timeout', '15s', false)";
        connection.all(&Statement::both(sql), &[]).await?;
    }
    Ok(())
}

/// Opens a database for a command that needs our tables: a new or empty one gets them.
///
/// # Errors
/// A line that says why the database cannot be used, or the `migrate` command to type.
pub async fn connect_ready(place: &Place) -> Result<Connection, Failure> {
    let mut connection = connect(place, true).await?;
    let tables = schema::tables(&mut connection).await.map_err(|it| unusable(place, &it))?;
    if tables.is_empty() {
        schema::migrate(&mut connection).await.map_err(|it| unusable(place, &it))?;
        return Ok(connection);
    }
    ready(place, connection, &tables).await
}

/// Opens a database that must have our tables already.
///
/// # Errors
/// A line that says why the database cannot be used, or the `migrate` command to type.
pub async fn connect_existing(place: &Place) -> Result<Connection, Failure> {
    let mut connection = connect(place, false).await?;
    let tables = schema::tables(&mut connection).await.map_err(|it| unusable(place, &it))?;
    ready(place, connection, &tables).await
}

async fn ready(place: &Place, mut connection: Connection, tables: &BTreeSet<String>) -> Result<Connection, Failure> {
    if !schema::is_ready(&mut connection, tables).await.map_err(|it| unusable(place, &it))? {
        return Err(Failure::service(format!(
            "the database {0} does not have all of our tables, or they are of an earlier version: run `convengine migrate --database {0}`",
            place.shown()
        )));
    }
    Ok(connection)
}

/// An empty database in memory with our tables; as in an import, rows need not come in the order of their foreign keys.
///
/// # Errors
/// What SQLite says.
pub async fn in_memory() -> Result<Connection, sqlx::Error> {
    let options = SqliteConnectOptions::new().in_memory(true).foreign_keys(false);
    let mut connection = Connection::Sqlite(Box::new(options.connect().await?));
    schema::migrate(&mut connection).await?;
    Ok(connection)
}

/// The pool for reading.
///
/// # Errors
/// A line that says why the database cannot be used.
pub async fn readers(place: &Place) -> Result<Pool, Failure> {
    pool(place).await.map_err(|it| unusable(place, &it))
}

async fn pool(place: &Place) -> sqlx::Result<Pool> {
    if place.is_postgres() {
        let pool = PgPoolOptions::new().max_connections(READERS).acquire_timeout(BUSY).test_before_acquire(false);
        // A server may have been restarted since; one that was asked a moment ago is not asked whether it is there.
        let pool = pool.before_acquire(|connection, about| {
            Box::pin(async move {
                if about.idle_for > FRESH {
                    connection.ping().await?;
                }
                Ok(true)
            })
        });
        return Ok(Pool::Postgres(pool.connect_with(postgres(place)?).await?));
    }
    let options = sqlite(place)?.pragma("cache_size", "-1024");
    // A file needs no test before each use; what is wrong with it shows in the statement itself.
    let pool = SqlitePoolOptions::new().max_connections(READERS).acquire_timeout(BUSY).test_before_acquire(false);
    Ok(Pool::Sqlite(pool.connect_with(options).await?))
}

/// Says in one line why a database cannot be used.
pub fn unusable(place: &Place, error: &sqlx::Error) -> Failure {
    let reason = match error {
        sqlx::Error::Database(it) => it.message().to_owned(),
        sqlx::Error::Configuration(it) => {
            return Failure::usage(format!(
                "cannot read the database address {:?}: {it}: write sqlite:PATH or postgres://…",
                place.shown()
            ));
        }
        other => other.to_string(),
    };
    let check =
        if place.is_postgres() { "its server, its name and the user's rights" } else { "the path, its rights, and who else has it open" };
    Failure::service(format!("cannot use the database {}: {reason}: check {check}", place.shown()))
}

fn sqlite(place: &Place) -> sqlx::Result<SqliteConnectOptions> {
    if !place.url.starts_with("sqlite:") {
        return Err(sqlx::Error::Configuration("this kind of database is not known".into()));
    }
    let synchronous = if place.full_sync { SqliteSynchronous::Full } else { SqliteSynchronous::Normal };
    let options = SqliteConnectOptions::from_str(&place.url)?;
    // What is deleted or overwritten is gone: conversations can be forgotten.
    let options = options.pragma("secure_delete", "on");
    Ok(options.journal_mode(SqliteJournalMode::Wal).synchronous(synchronous).busy_timeout(BUSY).foreign_keys(true))
}

fn postgres(place: &Place) -> sqlx::Result<PgConnectOptions> {
    crate::tls::install();
    Ok(PgConnectOptions::from_str(&place.url)?.application_name("convengine").disable_statement_logging())
}

#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
