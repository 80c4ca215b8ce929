//! Errors of SQLite on the calling thread, as sqlx reports them.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use sqlx::error::{DatabaseError, ErrorKind};

/// An error of SQLite as sqlx reports it.
#[derive(Debug)]
struct SqliteError {
    message: String,
    extended_code: i32,
}

/// Converts an error; codes and messages are those of sqlx.
pub(super) fn to_sqlx_error(error: rusqlite::Error) -> sqlx::Error {
    match error {
        rusqlite::Error::SqliteFailure(cause, message) => {
            let message = message.unwrap_or_else(|| cause.to_string());
            sqlx::Error::Database(Box::new(SqliteError { message, extended_code: cause.extended_code }))
        }
        other => sqlx::Error::Configuration(other.into()),
    }
}

impl fmt::Display for SqliteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(code: {}) {}", self.extended_code, self.message)
    }
}

impl Error for SqliteError {}

impl DatabaseError for SqliteError {
    fn message(&self) -> &str {
        &self.message
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        Some(self.extended_code.to_string().into())
    }

    fn as_error(&self) -> &(dyn Error + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn Error + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn Error + Send + Sync + 'static> {
        self
    }

    fn kind(&self) -> ErrorKind {
        match self.extended_code {
            rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE | rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY => ErrorKind::UniqueViolation,
            rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY => ErrorKind::ForeignKeyViolation,
            rusqlite::ffi::SQLITE_CONSTRAINT_NOTNULL => ErrorKind::NotNullViolation,
            rusqlite::ffi::SQLITE_CONSTRAINT_CHECK => ErrorKind::CheckViolation,
            _ => ErrorKind::Other,
        }
    }
}

/// Returns whether an error comes from SQLite, by either driver.
pub fn is_sqlite_error(error: &dyn DatabaseError) -> bool {
    error.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() || error.try_downcast_ref::<SqliteError>().is_some()
}
