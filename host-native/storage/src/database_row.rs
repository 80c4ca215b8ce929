//! A result row of either database.

use sqlx::Row as _;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;

use super::sqlite::{LocalRow, null_in};

/// A result row of either database.
#[derive(Debug)]
pub enum DatabaseRow {
    /// An SQLite row.
    Sqlite(SqliteRow),
    /// A row of SQLite on the calling thread.
    LocalSqlite(LocalRow),
    /// A PostgreSQL row.
    Postgres(PgRow),
}

impl DatabaseRow {
    /// A text, or null.
    pub(super) fn optional_text(&self, column: &str) -> sqlx::Result<Option<String>> {
        match self {
            DatabaseRow::Sqlite(row) => row.try_get(column),
            DatabaseRow::LocalSqlite(row) => row.optional_text(column),
            DatabaseRow::Postgres(row) => row.try_get(column),
        }
    }

    /// A text.
    pub(super) fn text(&self, column: &str) -> sqlx::Result<String> {
        match self {
            DatabaseRow::Sqlite(row) => row.try_get(column),
            DatabaseRow::LocalSqlite(row) => row.optional_text(column)?.ok_or_else(|| null_in(column)),
            DatabaseRow::Postgres(row) => row.try_get(column),
        }
    }

    /// An integer; `bigint` on PostgreSQL.
    pub(super) fn integer(&self, column: &str) -> sqlx::Result<i64> {
        match self {
            DatabaseRow::Sqlite(row) => row.try_get(column),
            DatabaseRow::LocalSqlite(row) => row.optional_integer(column)?.ok_or_else(|| null_in(column)),
            DatabaseRow::Postgres(row) => row.try_get(column),
        }
    }

    /// An integer or null; `bigint` on PostgreSQL.
    pub(super) fn optional_integer(&self, column: &str) -> sqlx::Result<Option<i64>> {
        match self {
            DatabaseRow::Sqlite(row) => row.try_get(column),
            DatabaseRow::LocalSqlite(row) => row.optional_integer(column),
            DatabaseRow::Postgres(row) => row.try_get(column),
        }
    }

    /// A float; `double precision` on PostgreSQL.
    pub(super) fn float(&self, column: &str) -> sqlx::Result<f64> {
        match self {
            DatabaseRow::Sqlite(row) => row.try_get(column),
            DatabaseRow::LocalSqlite(row) => row.float(column),
            DatabaseRow::Postgres(row) => row.try_get(column),
        }
    }

    /// A Boolean.
    pub(super) fn boolean(&self, column: &str) -> sqlx::Result<bool> {
        match self {
            DatabaseRow::Sqlite(row) => row.try_get(column),
            DatabaseRow::LocalSqlite(row) => Ok(row.optional_integer(column)?.ok_or_else(|| null_in(column))? != 0),
            DatabaseRow::Postgres(row) => row.try_get(column),
        }
    }

    /// Bytes.
    pub(super) fn bytes(&self, column: &str) -> sqlx::Result<Vec<u8>> {
        match self {
            DatabaseRow::Sqlite(row) => row.try_get(column),
            DatabaseRow::LocalSqlite(row) => row.bytes(column).map(<[u8]>::to_vec),
            DatabaseRow::Postgres(row) => row.try_get(column),
        }
    }

    /// A vector; `real[]` on PostgreSQL.
    pub(super) fn vector(&self, column: &str) -> sqlx::Result<Vec<f32>> {
        match self {
            DatabaseRow::Sqlite(row) => {
                let bytes: &[u8] = row.try_get(column)?;
                Ok(bytes.as_chunks().0.iter().map(|it| f32::from_le_bytes(*it)).collect())
            }
            DatabaseRow::LocalSqlite(row) => Ok(row.bytes(column)?.as_chunks().0.iter().map(|it| f32::from_le_bytes(*it)).collect()),
            DatabaseRow::Postgres(row) => row.try_get(column),
        }
    }
}
