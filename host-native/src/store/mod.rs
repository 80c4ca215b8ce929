//! The database: one literal statement a function.
//!
//! Reads go through a small pool; everything that a turn writes goes through the one writer of [`crate::writer`].

pub mod audit;
pub mod call_log;
pub mod commit;
pub mod config;
pub mod document;
pub mod load;
pub mod module;
pub mod schema;
pub mod script;
pub mod turn;

use std::str::FromStr;
use std::time::Duration;

use serde_json::Value;
use sqlx::error::BoxDynError;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Arguments, ConnectOptions};

use crate::exit::Failure;

const READERS: u32 = 4;
const BUSY: Duration = Duration::from_secs(5);

/// How a database is opened.
#[derive(Debug, Clone)]
pub struct Place {
    /// `sqlite:PATH`.
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

/// Opens one connection, for commands and for the writer.
///
/// # Errors
/// A line that says why the database cannot be used.
pub async fn connect(place: &Place, create: bool) -> Result<SqliteConnection, Failure> {
    let mut connection = options(place)?.create_if_missing(create).connect().await.map_err(|it| unusable(place, &it))?;
    // A lock that somebody holds for long shows at once and not on the first turn.
    sqlx::query("begin immediate").execute(&mut connection).await.map_err(|it| unusable(place, &it))?;
    sqlx::query("rollback").execute(&mut connection).await.map_err(|it| unusable(place, &it))?;
    Ok(connection)
}

/// Opens a database for a command that needs our tables: a new or empty one gets them.
///
/// # Errors
/// A line that says why the database cannot be used, or the `migrate` command to type.
pub async fn connect_ready(place: &Place) -> Result<SqliteConnection, Failure> {
    let mut connection = connect(place, true).await?;
    let tables = schema::tables(&mut connection).await.map_err(|it| unusable(place, &it))?;
    if tables.is_empty() {
        schema::migrate(&mut connection).await.map_err(|it| unusable(place, &it))?;
    } else if !schema::is_ready(&tables) {
        return Err(Failure::service(format!(
            "the database {} has tables but not all of ours: run `convengine migrate --database {}`",
            place.url, place.url
        )));
    }
    Ok(connection)
}

/// An empty database in memory with our tables; as in an import, rows need not come in the order of their foreign keys.
///
/// # Errors
/// What SQLite says.
pub async fn in_memory() -> Result<SqliteConnection, sqlx::Error> {
    let mut connection = SqliteConnectOptions::new().in_memory(true).foreign_keys(false).connect().await?;
    schema::migrate(&mut connection).await?;
    Ok(connection)
}

/// The pool for reading.
///
/// # Errors
/// A line that says why the database cannot be used.
pub async fn readers(place: &Place) -> Result<SqlitePool, Failure> {
    let options = options(place)?.pragma("cache_size", "-1024");
    // A file needs no test before each use; what is wrong with it shows in the statement itself.
    let pool = SqlitePoolOptions::new().max_connections(READERS).acquire_timeout(BUSY).test_before_acquire(false);
    pool.connect_with(options).await.map_err(|it| unusable(place, &it))
}

/// Says in one line why a database cannot be used.
pub fn unusable(place: &Place, error: &sqlx::Error) -> Failure {
    let reason = match error {
        sqlx::Error::Database(it) => it.message().to_owned(),
        other => other.to_string(),
    };
    Failure::service(format!("cannot use the database {}: {reason}: check the path, its rights, and who else has it open", place.url))
}

fn options(place: &Place) -> Result<SqliteConnectOptions, Failure> {
    if !place.url.starts_with("sqlite:") {
        return Err(Failure::usage(format!("the database {:?} is not available in this version: use sqlite:PATH", place.url)));
    }
    let options = SqliteConnectOptions::from_str(&place.url)
        .map_err(|it| Failure::usage(format!("cannot read the database address {:?}: {it}: write sqlite:PATH", place.url)))?;
    let synchronous = if place.full_sync { SqliteSynchronous::Full } else { SqliteSynchronous::Normal };
    Ok(options.journal_mode(SqliteJournalMode::Wal).synchronous(synchronous).busy_timeout(BUSY).foreign_keys(true))
}
