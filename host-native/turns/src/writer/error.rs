//! What a failed write means: for the rows, for the connection, or for a lock.

use convengine_storage::sqlite_error::is_sqlite_error;

use super::CommitError;

/// Returns whether an error concerns the connection instead of the rows.
pub(super) fn is_connection_error(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed | sqlx::Error::PoolClosed => true,
        sqlx::Error::Database(it) => {
            !is_sqlite_error(&**it) && it.code().is_some_and(|code| RETRYABLE_CODES.iter().any(|lost| code.starts_with(lost)))
        }
        _ => false,
    }
}

/// Prefixes of PostgreSQL error codes after which the write is retried: shutdown or startup, connection failure, read-only replica after
/// a failover, idle transaction timeout, serialization failure or deadlock.
const RETRYABLE_CODES: [&str; 5] = ["57P0", "08", "25006", "25P03", "40"];

/// Returns whether another program holds the write lock of a SQLite file.
pub(super) fn is_busy(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().filter(|it| is_sqlite_error(*it)).and_then(|error| error.code()?.parse::<u32>().ok());
    // The lower eight bits are the primary code: SQLITE_BUSY.
    code.is_some_and(|it| it & 255 == 5)
}

/// Returns whether PostgreSQL gave up waiting for a lock.
pub(super) fn is_lock_timeout(error: &sqlx::Error) -> bool {
    has_postgres_code(error, "55P03")
}

/// Returns whether PostgreSQL has ended a statement that took too long.
pub(super) fn is_statement_timeout(error: &sqlx::Error) -> bool {
    has_postgres_code(error, "57014")
}

fn has_postgres_code(error: &sqlx::Error, code: &str) -> bool {
    error.as_database_error().is_some_and(|error| !is_sqlite_error(error) && error.code().is_some_and(|it| it == code))
}

/// Returns whether the rows themselves are invalid (an unsupported value or a violated constraint), so that a retry would fail too.
fn is_permanent(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else { return false };
    let code = error.code().unwrap_or_default();
    if is_sqlite_error(&**error) {
        // The lower eight bits are the primary code: SQLITE_TOOBIG, SQLITE_CONSTRAINT or SQLITE_MISMATCH.
        return code.parse::<u32>().is_ok_and(|it| [18, 19, 20].contains(&(it & 255)));
    }
    code.starts_with("22") || code.starts_with("23")
}

pub(super) fn to_commit_error(error: sqlx::Error) -> CommitError {
    if matches!(error, sqlx::Error::RowNotFound) {
        return CommitError::TakenOver;
    }
    let violated = error.as_database_error().filter(|it| it.is_unique_violation());
    // SQLite reports the columns, PostgreSQL the constraint.
    let name = violated.map(|violation| violation.constraint().unwrap_or_else(|| violation.message()).to_owned()).unwrap_or_default();
    match name.as_str() {
        it if it.contains("message_key") => CommitError::SameMessage,
        it if it.contains("ce_turn.") || it.contains("ce_turn_") => CommitError::Conflict,
        _ if is_permanent(&error) => {
            tracing::error!(%error, "the database rejected a turn");
            CommitError::Rejected(error.to_string())
        }
        _ => to_unavailable(error),
    }
}

fn to_unavailable(error: sqlx::Error) -> CommitError {
    tracing::error!(%error, "cannot store a turn");
    CommitError::Unavailable(error.to_string())
}
