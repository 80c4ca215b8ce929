//! SQL statements in both dialects, and the values that are bound to them.

use std::time::Duration;

use serde_json::Value;
use sqlx::Arguments as _;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, Postgres};
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments};

/// The timeout of a pool statement on PostgreSQL.
pub(super) const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// An SQL statement in both dialects.
#[derive(Debug, Clone, Copy)]
pub struct Statement {
    pub(super) sqlite: &'static str,
    pub(super) postgres: &'static str,
}

impl Statement {
    /// Creates a statement that is valid in both dialects.
    pub const fn portable(sql: &'static str) -> Statement {
        Statement { sqlite: sql, postgres: sql }
    }

    /// Creates a statement with one text per dialect.
    pub const fn per_dialect(sqlite: &'static str, postgres: &'static str) -> Statement {
        Statement { sqlite, postgres }
    }
}

/// A bound parameter; the first is `$1`.
#[derive(Debug, Clone, Copy)]
pub enum SqlValue<'v> {
    /// A text.
    Text(&'v str),
    /// A text, or null.
    OptionalText(Option<&'v str>),
    /// A number.
    Integer(i64),
    /// A number, or null.
    OptionalInteger(Option<i64>),
    /// Bytes.
    Bytes(&'v [u8]),
    /// A vector, or several one after the other.
    Vector(&'v [f32]),
}

type SqliteQuery<'v> = Query<'v, Sqlite, SqliteArguments>;
type PostgresQuery<'v> = Query<'v, Postgres, PgArguments>;

/// Creates the query of a statement for SQLite.
pub(super) fn sqlite_query<'v>(statement: &Statement, values: &[SqlValue<'v>]) -> SqliteQuery<'v> {
    values.iter().fold(sqlx::query(statement.sqlite), |query, value| match value {
        SqlValue::Text(it) => query.bind((*it).to_owned()),
        SqlValue::OptionalText(it) => query.bind(it.map(str::to_owned)),
        SqlValue::Integer(it) => query.bind(*it),
        SqlValue::OptionalInteger(it) => query.bind(*it),
        SqlValue::Bytes(it) => query.bind(it.to_vec()),
        SqlValue::Vector(it) => query.bind(vector_bytes(it)),
    })
}

/// A vector as SQLite stores it: little-endian 32-bit floats.
pub(super) fn vector_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|it| it.to_le_bytes()).collect()
}

/// Creates the query of a statement for PostgreSQL.
pub(super) fn postgres_query<'v>(statement: &Statement, values: &[SqlValue<'v>]) -> PostgresQuery<'v> {
    values.iter().fold(sqlx::query(statement.postgres), |query, value| match value {
        SqlValue::Text(it) => query.bind((*it).to_owned()),
        SqlValue::OptionalText(it) => query.bind(it.map(str::to_owned)),
        SqlValue::Integer(it) => query.bind(*it),
        SqlValue::OptionalInteger(it) => query.bind(*it),
        SqlValue::Bytes(it) => query.bind(it.to_vec()),
        SqlValue::Vector(it) => query.bind(it.to_vec()),
    })
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
