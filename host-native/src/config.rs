//! The configuration of a database.

use convengine_core::config::{Config, Issue, Severity};
use serde_json::Value;
use sqlx::sqlite::SqliteConnection;

use crate::store;

/// Compiles the authors' rows of a database with the settings below `convengine`.
///
/// # Errors
/// What SQLite says.
pub async fn of_database(connection: &mut SqliteConnection, settings: &Value) -> sqlx::Result<(Config, Vec<Issue>)> {
    let tables = store::config::tables(connection).await?;
    Ok(Config::compile(&tables, settings))
}

/// Whether an issue leaves something out.
pub fn is_error(issue: &Issue) -> bool {
    issue.severity == Severity::Error
}
