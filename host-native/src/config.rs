//! The configuration of a database.

use convengine_core::config::{Config, Issue};
use convengine_core::lint;
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

/// What compiling the authors' rows of a database says, and what lint says beyond it.
///
/// # Errors
/// What SQLite says.
pub async fn lint_database(connection: &mut SqliteConnection, settings: &Value) -> sqlx::Result<Vec<Issue>> {
    let tables = store::config::tables(connection).await?;
    let (_, mut issues) = Config::compile(&tables, settings);
    issues.extend(lint::check(&tables, &issues));
    Ok(issues)
}
